"""The figures of a trained translator, by name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis import figures, recall
from dragoman.analysis.adjoints import adjoint_norms, embedded, untrained_norms
from dragoman.data.tokenizer import FIRST_PIECE, MARK
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.networks import EncoderDecoder, RecurrentConfiguration
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid
from dragoman.tasks.figures import history_lines
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import Alignment, Translator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITIONS = 64
WORDS = 40
SEQUENCES, STEPS = 8, 60  # that gradients are followed back on


def history(translator: Translator, text: str | None) -> Figure:
    """Training curves (thesis, Figures 11-13)."""
    return figures.history_figure(history_lines(translator.directory))


def attention(translator: Translator, text: str | None) -> Figure:
    """Which pieces of a sentence each piece of its translation looked at (thesis, Figure 3; book, Figure 7.11)."""
    if text is None:
        raise ConfigurationError('attention is that of a sentence: --text "The plant is green."')
    return alignment_figure(translator.align(text))


def alignment_figure(alignment: Alignment) -> Figure:
    return figures.attention_figure(
        alignment.weights,
        _shown(alignment.reference),
        _shown(alignment.source),
        "Where each piece looked",
    )


def _shown(pieces: list[str]) -> list[str]:
    """Pieces as people read them: no mark for the space before a word."""
    return [piece.removeprefix(MARK) or "␣" for piece in pieces]


def embeddings(translator: Translator, text: str | None, projection: str = "pca") -> Figure:
    """The vectors of the words of a text, or of those most used in the testing part (thesis, Figure 2)."""
    tokenizer = translator.source_tokenizer
    words = _usual_words(translator) if text is None else list(dict.fromkeys(text.split()))
    encoded = tokenizer.encode(words)
    known = [(int(labels[0]), word) for labels, word in zip(encoded, words, strict=True) if len(labels) == 1]
    chosen = [(label, word) for label, word in known if label >= FIRST_PIECE][:WORDS]
    if len(chosen) < 3:
        raise ConfigurationError("fewer than 3 of these words are one piece of the vocabulary; name more words: --text")
    table = value_of(translator.network.source_embedding.table)
    vectors = table[[label for label, _ in chosen]]
    return figures.embedding_figure(vectors, [word for _, word in chosen], "Source embedding", projection=projection)


def _usual_words(translator: Translator) -> list[str]:
    """Words of four letters or more, the most frequent first: shorter ones are mostly grammar."""
    pairs = [] if translator.directory is None else load_testing(translator.directory)
    counts = Counter(word for source, _ in pairs for word in re.findall(r"[^\W\d_]{4,}", source.lower()))
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def positions(translator: Translator, text: str | None) -> Figure:
    """The positional encoding (book, Figure 7.14); of relative positions, the bias of each distance."""
    configuration = translator.network.configuration
    if isinstance(configuration, RecurrentConfiguration):
        raise ConfigurationError("a recurrent network has no positional encoding: it reads step by step")
    depth, kind = configuration.depth, configuration.positions
    if kind == "half_sinusoid":
        return figures.positions_figure(half_sinusoid(POSITIONS, depth))
    if kind == "interleaved_sinusoid":
        return figures.positions_figure(interleaved_sinusoid(POSITIONS, depth))
    if kind == "relative":
        views = dict(translator.network.named_arrays())
        stacks = ("encoder", "decoder")
        return figures.distances_figure({name: views[f"{name}.0.self_attention.distance_bias"] for name in stacks})
    table = translator.network.source_embedding.position_table
    if table is None:
        raise ConfigurationError(f"positions '{kind}' have no table of their own to show")
    return figures.positions_figure(value_of(table))


def activations(translator: Translator, text: str | None) -> Figure:
    """The activations (thesis, Figure 4)."""
    own = translator.network.configuration.activation
    return figures.activations_figure(tuple(dict.fromkeys(("identity", "relu", own))))


def architecture(translator: Translator, text: str | None) -> Figure:
    """The network's layers (thesis, Figure 5)."""
    return figures.network_figure(translator.network)


def gradients(translator: Translator, text: str | None) -> Figure:
    """Adjoints that vanish or explode on the testing sentences (or on a text), and what helps (book 7.2)."""
    network = translator.network
    labels, c = _joined(translator, text), network.configuration
    if isinstance(network, EncoderDecoder):
        cell = network.encoder.forward[0]
        read = labels[:, ::-1] if network.configuration.reversed else labels
        x = embedded(network.source_embedding, read)
        own = {f"this model's {cell.kind.upper()}, trained": adjoint_norms(cell, x)}
        units, title = cell.units, f"Cells of this model's sizes ({c.depth} → {cell.units}) before training"
    else:
        units, own = c.depth, {}
        title = f"This model is a Transformer; cells of its depth ({units} → {units}) before training"
    return figures.gradients_figure(
        untrained_norms(labels, c.source_vocabulary, c.depth, units),
        own,
        recall.recall_curves(),
        math.log(recall.SYMBOLS),
        (title, recall.caption()),
    )


def _joined(translator: Translator, text: str | None) -> Array:
    """[SEQUENCES, STEPS] source labels, sentence after sentence, from the first again where there are too few."""
    pairs = [] if text is not None or translator.directory is None else load_testing(translator.directory)
    texts = [source for source, _ in pairs] if text is None else [text]
    labels = np.concatenate([np.zeros(0, np.int64), *translator.source_tokenizer.encode(texts)])
    if not len(labels):
        raise ConfigurationError("gradients are measured on testing sentences or a text, and there is none: --text")
    return np.resize(labels, (SEQUENCES, STEPS))


FIGURES: dict[str, Callable[[Translator, str | None], Figure]] = {
    drawn.__name__: drawn for drawn in (history, attention, embeddings, positions, activations, architecture, gradients)
}


def draw(translator: Translator, name: str, path: Path, text: str | None = None, make: bool = False) -> None:
    """Draw a figure by its name into a PNG or SVG file; make its directory on request."""
    if name not in FIGURES:
        raise ConfigurationError(f"there is no figure '{name}'; there is {', '.join(FIGURES)}")
    figures.save_figure(FIGURES[name](translator, text), path, make)
