"""From what a user has to batches a network can learn from."""

from __future__ import annotations

import importlib
from typing import Any

# Found when first used: tokenizers and readers are not needed by everyone who needs batches.
_HOMES = {
    "BatchStream": "batching",
    "Batching": "batching",
    "Dataset": "dataset",
    "Encoding": "pair_encoding",
    "LabelPairs": "pairs",
    "Layout": "readers",
    "Splitting": "splits",
    "Tokenizer": "tokenizer",
    "cached_dataset": "cache",
    "prepare": "dataset",
    "read_records": "readers",
    "recall_batch": "toys",
    "toy_pairs": "toys",
    "toy_texts": "toys",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dragoman.data' has no attribute '{name}'")
    return getattr(importlib.import_module(f"dragoman.data.{_HOMES[name]}"), name)
