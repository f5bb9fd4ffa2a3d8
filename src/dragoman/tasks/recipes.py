"""Recipes: ways of training that belong together.

thesis  what the thesis writes (chapter 6): post-norm with its own normalization, no dropout, Adam with the warm-up of
        Observation 5.6 (eta_0 = 0.001, t_w = 4000: a peak of 1.6e-5), batches of 64 in any order, samples split
        60/20/20 one by one, until the training accuracy is 0.90.
modern  what measured best on the selection part of eng-spa (docs/measurements.md): pre-norm, dropout, label smoothing,
        a cosine, gradient clipping, and the moving average of the weights. Pre-norm has two normalizations more than
        post-norm, 4 d parameters: 256 of Small's 1,167,222.
"""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "thesis": {
        "data": {"split": "sample", "shares": (0.6, 0.2, 0.2), "protect": False},
        "network": {"block": "post", "normalization": "outside", "dropout": 0.0, "tied": "none"},
        "loss": {"smoothing": 0.0},
        "optimizer": {"rate": 0.001, "schedule": "thesis", "warm_up": 4000, "beta2": 0.999, "grouped": False},
        "stopping": {"accuracy": 0.90, "epochs": 100},
    },
    "modern": {
        "network": {"block": "pre", "dropout": 0.1},
        "loss": {"smoothing": 0.1},
        "optimizer": {"rate": 0.003, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.999},
    },
}
