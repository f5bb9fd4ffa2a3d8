"""Dragoman: trains, explains and serves sequence models; every gradient derived by hand, and proved."""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a program that wants the log adds a handler of its own

# Found when first used, so that importing the package costs little more than NumPy.
_HOMES = {
    "Batch": "dragoman.batch",
    "Encoder": "dragoman.networks",
    "EncoderConfiguration": "dragoman.networks",
    "LanguageModel": "dragoman.networks",
    "LanguageModelConfiguration": "dragoman.networks",
    "Parameter": "dragoman.graph",
    "Tensor": "dragoman.graph",
    "backpropagate": "dragoman.graph",
    "gradient_check": "dragoman.graph",
    "operation": "dragoman.graph",
    "TextGenerator": "dragoman.tasks.language_model.generator",
    "Transformer": "dragoman.networks",
    "Translator": "dragoman.tasks.translation.translator",
    "TransformerConfiguration": "dragoman.networks",
    "WordVectors": "dragoman.tasks.vectors.words",
    "preset": "dragoman.networks",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dragoman' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
