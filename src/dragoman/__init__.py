"""Dragoman: trains, explains and serves sequence models; every gradient derived by hand, and proved."""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a program that wants the log adds a handler of its own

# Imported when first used, so that importing the package is not much slower than importing NumPy.
_MODULES = {
    "Batch": "dragoman.batch",
    "Captioner": "dragoman.tasks.captioning.captioner",
    "Classifier": "dragoman.tasks.classification.classifier",
    "Encoder": "dragoman.networks",
    "EncoderConfiguration": "dragoman.networks",
    "Forecaster": "dragoman.tasks.forecasting.forecaster",
    "ImageClassifier": "dragoman.tasks.image_classification.classifier",
    "LanguageModel": "dragoman.networks",
    "LanguageModelConfiguration": "dragoman.networks",
    "Parameter": "dragoman.graph",
    "Regressor": "dragoman.tasks.regression.regressor",
    "Tensor": "dragoman.graph",
    "backpropagate": "dragoman.graph",
    "gradient_check": "dragoman.graph",
    "operation": "dragoman.graph",
    "TextGenerator": "dragoman.tasks.language_model.generator",
    "Transformer": "dragoman.networks",
    "Tagger": "dragoman.tasks.tagging.tagger",
    "Translator": "dragoman.tasks.translation.translator",
    "TransformerConfiguration": "dragoman.networks",
    "WordVectors": "dragoman.tasks.vectors.words",
    "preset": "dragoman.networks",
}

__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dragoman' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
