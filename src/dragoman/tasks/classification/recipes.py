"""How classifiers and regressors are trained (docs/classifying.md has the measurements)."""

from __future__ import annotations

from typing import Any

TEXTS: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "relative", "dropout": 0.3},
        "optimizer": {"rate": 0.02, "schedule": "cosine", "beta2": 0.98, "clip": 1.0},
        "stopping": {"patience": 4},
    },
}
TEXTS_BY_PRESET: dict[str, dict[str, dict[str, Any]]] = {}
