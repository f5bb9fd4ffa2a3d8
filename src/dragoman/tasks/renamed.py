"""Names that version 0.1.0 wrote into its files, and what they are called since."""

from __future__ import annotations

from typing import Any

RENAMED = {
    "network.reference_vocabulary": "target_vocabulary",
    "start.vectors.reference": "target",
    "tokenizers.reference": "target",
    "data.parts.selection": "validation",
}


def with_current_names(settings: Any, prefix: str = "") -> Any:
    """A model.json or a configuration with the names of this version."""
    if not isinstance(settings, dict):
        return settings
    return {
        RENAMED.get(f"{prefix}{name}", name): with_current_names(value, f"{prefix}{name}.")
        for name, value in settings.items()
    }
