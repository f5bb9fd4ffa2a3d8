"""How classifiers and regressors are trained (docs/classifying.md has the measurements).

modern  for a bag of n-grams, which begins with naive Bayes: most votes are dropped, so that every n-gram learns to do
        without the others, for few epochs. Networks that embed words take a lower rate and drop less.
"""

from __future__ import annotations

from typing import Any

TEXTS: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "relative", "dropout": 0.8},
        "optimizer": {"rate": 0.02, "schedule": "cosine", "beta2": 0.98, "clip": 1.0},
        "stopping": {"patience": 4},
    },
}
EMBEDDING: dict[str, Any] = {"network": {"dropout": 0.5}, "optimizer": {"rate": 0.002}}
TEXTS_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {
    "modern": dict.fromkeys(("transformer", "rnn", "lstm", "gru"), EMBEDDING)
}
NUMBERS_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {  # a sum of few votes misses a number more than a side
    "modern": {
        **TEXTS_BY_ARCHITECTURE["modern"],
        "bag": {"network": {"dropout": 0.5}, "optimizer": {"rate": 0.005}},
    }
}
