"""Recurrent encoder-decoders small enough to check completely: every cell with every way of hearing of the source."""

from __future__ import annotations

from itertools import cycle, product
from typing import Any, get_args

import numpy as np

from dragoman.layers import CellKind, Score
from dragoman.networks import EncoderDecoder, RecurrentConfiguration
from tests.networks.small_networks import VOCABULARY, scatter

WAYS: list[dict[str, Any]] = [
    {"context": "initial"},
    {"context": "every_step"},
    *({"context": "attention", "score": score} for score in get_args(Score)),
]
SHAPES = (
    {"bidirectional": True, "layers": 1, "reversed": False},
    {"bidirectional": False, "layers": 2, "reversed": True},
    {"bidirectional": True, "layers": 2, "reversed": True},
    {"bidirectional": False, "layers": 1, "reversed": False},
)
EVERY: list[dict[str, Any]] = [
    {"cell": cell, **way, **shape}
    for (cell, way), shape in zip(product(get_args(CellKind), WAYS), cycle(SHAPES), strict=False)
]


def small_encoder_decoder(dtype: Any = np.float64, **settings: Any) -> EncoderDecoder:
    sizes = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "depth": 2, "units": 2}
    network: EncoderDecoder = scatter(EncoderDecoder(RecurrentConfiguration(**(sizes | settings)), 0, dtype))
    return network


def told(settings: dict[str, Any]) -> str:
    return "-".join(str(value) for value in settings.values())
