"""Read text files, tokenize and split them, and make batches for training."""

from __future__ import annotations

import importlib
from typing import Any

# Imported when first used: many users of batches need neither tokenizers nor readers.
_MODULES = {
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

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dragoman.data' has no attribute '{name}'")
    return getattr(importlib.import_module(f"dragoman.data.{_MODULES[name]}"), name)
