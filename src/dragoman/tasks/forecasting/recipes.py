"""How forecasters are trained; chosen by the validation parts of sunspots and co2 (docs/forecasting.md)."""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "relative", "relative_reach": 128, "dropout": 0.1},
        "optimizer": {"rate": 0.003, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.99, "batch": 64},
    }
}
RECIPES_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {
    "modern": {
        "transformer": {"data": {"strategy": "direct"}},
        **{cell: {"data": {"strategy": "feedback"}} for cell in ("rnn", "lstm", "gru")},
    }
}
SEEN = 30_000  # windows that a training reads, unless epochs are given


def epochs_for(windows: int) -> int:
    return max(2, min(200, round(SEEN / windows)))
