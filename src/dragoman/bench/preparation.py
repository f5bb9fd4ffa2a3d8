"""Write the input that the contenders of a workload read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.batch import END, Batch
from dragoman.bench.material import Material
from dragoman.decoding import Greedy, decode
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.networks import Network, Transformer, TransformerConfiguration, save_weights
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid


def no_table(length: int, depth: int) -> Array:
    """Return zeros: relative positions are parameters, not a table."""
    return np.zeros((length, depth))


TABLES = {"half_sinusoid": half_sinusoid, "interleaved_sinusoid": interleaved_sinusoid, "relative": no_table}
CLIP = 1.0
NEVER = -1e4  # bias of labels that must never be written, so that no peer has to mask them
SPREAD = 4.0  # standard deviation of the logits, as in a trained network


def prepare_steps(directory: Path, network: Network, batches: Sequence[Batch], smoothing: float) -> Material:
    """Write a network and the batches of training steps."""
    arrays = {f"{i}.{name}": array for i, batch in enumerate(batches) for name, array in _packed(batch).items()}
    longest = max(int(rows.lengths.max()) for batch in batches for rows in (batch, batch.source or batch))
    about = {"batches": len(batches), "smoothing": smoothing, "clip": CLIP}
    return _save(directory, network, about, arrays, longest)


def prepare_decoding(directory: Path, network: Transformer, sources: Sequence[Array], longest: int) -> Material:
    """Write a network and the sentences to decode, at most `longest` labels each."""
    _check_known_to_peers(network.configuration)
    lengths = [len(source) for source in sources]
    arrays = {"sentences": np.concatenate(sources), "sentence_offsets": np.cumsum([0, *lengths])}
    view = dict(network.named_arrays())["output.biases"]
    view[:END] = NEVER
    return _save(directory, network, {"batches": 0, "longest": longest}, arrays, max(*lengths, longest + 1))


def random_translator(configuration: TransformerConfiguration, sources: Sequence[Array]) -> Transformer:
    """Make a network of random weights whose output is about as long as the sources, as that of a trained one.

    Logits have the spread of trained ones; the logit of the end label grows with the position, and its bias is found
    by bisection.
    """
    network = Transformer(configuration)
    views = dict(network.named_arrays())
    weights, biases = views["output.weights"], views["output.biases"]
    weights *= SPREAD / (weights.std() * configuration.depth**0.5)
    mean = max(2, round(float(np.mean([len(source) for source in sources]))) - 1)
    table = TABLES[configuration.positions](2 * mean, configuration.depth)
    late = table[mean:].mean(axis=0) - table[:mean].mean(axis=0)
    weights[:, END] = 2 * SPREAD * late / np.linalg.norm(late)
    biases[:END] = NEVER
    tried = sorted(sources, key=len)[:: max(1, len(sources) // 32)]
    low, high = -20.0 * SPREAD, 20.0 * SPREAD
    for _ in range(12):
        biases[END] = (low + high) / 2
        written = [len(best.labels) for (best,) in decode(network, tried, Greedy(), 4 * mean)]
        low, high = (biases[END], high) if np.mean(written) > mean - 1 else (low, biases[END])
    return network


def _packed(batch: Batch) -> dict[str, Array]:
    if batch.targets is None:
        raise ConfigurationError("a benchmark trains on batches with targets; this one has none")
    source = {} if batch.source is None else {"source": batch.source.labels, "source_offsets": batch.source.offsets}
    return {**source, "labels": batch.labels, "offsets": batch.offsets, "targets": batch.targets}


def _save(directory: Path, network: Any, about: dict[str, Any], arrays: dict[str, Array], longest: int) -> Material:
    configuration = network.configuration
    directory.mkdir(parents=True, exist_ok=True)
    save_weights(network, directory / "weights.safetensors")
    table = TABLES[configuration.positions](longest, configuration.depth)
    kind, dropout = type(network).__name__, configuration.dropout
    contents = {**about, "kind": kind, "network": configuration.model_dump(), "dropout": dropout}
    Material.save(directory, contents, {**arrays, "positions": table.astype(np.float32)})
    return Material(directory)


def _check_known_to_peers(c: TransformerConfiguration) -> None:
    """Refuse networks that the hand-written peers do not support."""
    wrong = []
    if c.positions not in TABLES:
        wrong.append(f"positions '{c.positions}'")
    if c.normalization != "inside":
        wrong.append(f"normalization '{c.normalization}'")
    if c.activation != "relu":
        wrong.append(f"activation '{c.activation}'")
    if c.hidden_layers != 1:
        wrong.append(f"{c.hidden_layers} hidden layers")
    if not c.attention_biases:
        wrong.append("attention without biases")
    if wrong:
        raise ConfigurationError(
            f"the benchmark does not support {', '.join(wrong)}; use a model of the recipe 'modern'"
        )
