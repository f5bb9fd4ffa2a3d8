"""Encoders and language models small enough to check completely, shared by the tests of this folder."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array
from dragoman.layers import CellKind, PoolingKind
from dragoman.networks import (
    Encoder,
    EncoderConfiguration,
    LanguageModel,
    LanguageModelConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    RecurrentLanguageModel,
    RecurrentLanguageModelConfiguration,
)
from tests.networks.small_networks import scatter

VOCABULARY, INPUTS, OUTPUTS = 6, 3, 2
POOLING: tuple[PoolingKind, ...] = get_args(PoolingKind)
RECURRENT_POOLING = ("last", "mean", "max", "attention", "none")
CELLS: tuple[CellKind, ...] = get_args(CellKind)
SEQUENCES = [[4, 3], [1, 4, 2, 4], [3]]
LABELS = Batch.pack(SEQUENCES)
ROWS = Batch.pack([np.random.default_rng(i).standard_normal((length, INPUTS)) for i, length in enumerate((2, 4, 1))])
KINDS: dict[str, tuple[Batch, dict[str, int]]] = {
    "labels": (LABELS, {"vocabulary": VOCABULARY}),
    "rows": (ROWS, {"inputs": INPUTS}),
}


def sizes(settings: dict[str, Any]) -> dict[str, Any]:
    """Blocks of depth 4 with two heads; `settings` change or add to it."""
    small = {"depth": 4, "perceptron_depth": 3, "heads": 2, "maximum_length": 6, "relative_reach": 2}
    if settings.get("positions") in ("one_hot", "concatenated_sinusoid"):
        small |= {"depth": 8, "position_depth": 2}
    return small | settings


def small_encoder(dtype: Any = np.float64, seed: int = 0, **settings: Any) -> Encoder:
    what = {} if "inputs" in settings else {"vocabulary": VOCABULARY}
    causal = {"causal": settings.get("pooling") == "last"}  # the last row has seen all others only then
    configuration = EncoderConfiguration(**({"outputs": OUTPUTS} | what | causal | sizes(settings)))
    network: Encoder = scatter(Encoder(configuration, seed, dtype), seed)
    return network


def small_language_model(dtype: Any = np.float64, seed: int = 0, **settings: Any) -> LanguageModel:
    configuration = LanguageModelConfiguration(**({"vocabulary": VOCABULARY} | sizes(settings)))
    network: LanguageModel = scatter(LanguageModel(configuration, seed, dtype), seed)
    return network


def small_recurrent_encoder(dtype: Any = np.float64, seed: int = 0, **settings: Any) -> RecurrentEncoder:
    what = {} if "inputs" in settings else {"vocabulary": VOCABULARY}
    small = {"depth": 3, "units": 4, "outputs": OUTPUTS}
    configuration = RecurrentEncoderConfiguration(**(small | what | settings))
    network: RecurrentEncoder = scatter(RecurrentEncoder(configuration, seed, dtype), seed)
    return network


def small_recurrent_language_model(dtype: Any = np.float64, seed: int = 0, **settings: Any) -> RecurrentLanguageModel:
    small = {"depth": 3, "units": 4, "vocabulary": VOCABULARY}
    configuration = RecurrentLanguageModelConfiguration(**(small | settings))
    network: RecurrentLanguageModel = scatter(RecurrentLanguageModel(configuration, seed, dtype), seed)
    return network


def sequence(batch: Batch, i: int) -> Batch:
    """One sequence of a batch, alone."""
    return Batch.pack([batch.labels[batch.offsets[i] : batch.offsets[i + 1]]])


def permuted(batch: Batch, seed: int = 0) -> tuple[Batch, Array]:
    """The rows of every sequence in another order, and that order."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)])
    return Batch(batch.labels[order], batch.offsets), order
