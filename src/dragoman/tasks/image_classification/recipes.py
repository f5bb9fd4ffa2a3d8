"""How image classifiers are trained (docs/images.md has the measurements)."""

from __future__ import annotations

from typing import Any

IMAGES: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "dropout": 0.1},
        "optimizer": {"rate": 0.002, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.999},
    },
}
IMAGES_BY_PRESET: dict[str, dict[str, dict[str, Any]]] = {"modern": {"large": {"optimizer": {"rate": 0.001}}}}
IMAGES_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {
    "modern": {"convolutional": {"network": {"dropout": 0.3}}},
}
