"""The three sizes of the thesis's experiment (6.2)."""

from __future__ import annotations

from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.networks.transformer import TransformerConfiguration

PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 64, "perceptron_depth": 128, "heads": 4, "layers": 1},
    "medium": {"depth": 128, "perceptron_depth": 256, "heads": 4, "layers": 2},
    "large": {"depth": 256, "perceptron_depth": 512, "heads": 8, "layers": 2},
}


def preset(name: str, source_vocabulary: int, target_vocabulary: int, **changes: Any) -> TransformerConfiguration:
    """Return the configuration of a preset for two vocabularies; other settings can be changed by name."""
    if name not in PRESETS:
        raise ConfigurationError(f"unknown preset '{name}'; available: {', '.join(PRESETS)}")
    settings = {**PRESETS[name], **changes}
    return TransformerConfiguration(
        source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, **settings
    )
