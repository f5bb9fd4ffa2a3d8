"""Read a trained model and sentences to decode."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dragoman.data.pair_encoding import add_marks
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.networks import Transformer
from dragoman.tasks.model import load_encoders, load_metadata, load_network
from dragoman.tasks.task import wrong_command
from dragoman.tasks.translation.settings import TranslatorMetadata
from dragoman.tasks.translation.testing import load_testing


def read_model(directory: Path, count: int) -> tuple[Transformer, list[Array]]:
    """Return the network of a model directory, and sentences of its testing part."""
    metadata = load_metadata(directory)
    if not isinstance(metadata, TranslatorMetadata):
        raise ConfigurationError(wrong_command(directory, metadata.task))
    tokenizer = load_encoders(metadata, directory)["source"]
    texts = [source for source, _ in load_testing(directory)]
    if not texts:
        raise ConfigurationError(f"{directory} has no testing pairs, so there is nothing to decode; use another model")
    chosen = np.random.default_rng(0).permutation(len(texts))[:count]
    longest = metadata.longest[0]
    sources = [add_marks(labels, longest)[0] for labels in tokenizer.encode([texts[i] for i in chosen])]
    network = load_network(metadata, directory)
    if not isinstance(network, Transformer):
        raise ConfigurationError(f"{directory} is a {metadata.architecture}; the benchmark compares Transformers")
    return network, sources
