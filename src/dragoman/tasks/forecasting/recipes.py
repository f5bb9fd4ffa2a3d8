"""How forecasters are trained; chosen by the validation parts of sunspots and co2 (docs/forecasting.md)."""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "half_sinusoid", "dropout": 0.1},
        "optimizer": {"rate": 0.01, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.99, "batch": 64},
    }
}
RECIPES_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {
    "modern": {
        "transformer": {"network": {"dropout": 0.2}},
        **{cell: {"data": {"strategy": "feedback"}} for cell in ("rnn", "lstm", "gru")},
    }
}
SEEN = 20_000  # windows that a training reads, unless epochs are given


def epochs_for(windows: int) -> int:
    return max(2, min(200, round(SEEN / windows)))
