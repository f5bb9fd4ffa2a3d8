"""Read files of earlier versions: old names, and columns that were counted from 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.errors import ConfigurationError

CONFIGURATION_FORMAT = 2  # of configuration.toml; version 0.1.0 wrote no format and counted data.columns from 0
MARKER = "configuration_format"
BESIDE = ("model.json", "weights.safetensors", "checkpoints")  # a file beside a configuration that a training saved

RENAMED = {
    "network.reference_vocabulary": "target_vocabulary",
    "start.vectors.reference": "target",
    "tokenizers": "encoders",
    "tokenizers.reference": "target",
    "data.parts.selection": "validation",
}


def with_current_names(settings: Any, prefix: str = "") -> Any:
    """Rename the keys of earlier versions in a model.json or a configuration."""
    if not isinstance(settings, dict):
        return settings
    return {
        RENAMED.get(f"{prefix}{name}", name): with_current_names(value, f"{prefix}{name}.")
        for name, value in settings.items()
    }


def is_saved(path: Path) -> bool:
    """Return whether a training saved this configuration in its model directory."""
    return path.name == "configuration.toml" and any((path.parent / name).exists() for name in BESIDE)


def with_current_columns(settings: dict[str, Any], saved: bool) -> dict[str, Any]:
    """Remove the format from a configuration and convert its columns to count from 1.

    saved  whether a training wrote it; then it counts from 0 if it has no format
    """
    format = settings.get(MARKER, 1 if saved else CONFIGURATION_FORMAT)
    if format not in (1, CONFIGURATION_FORMAT):
        raise ConfigurationError(
            f"its {MARKER} is {format!r}, this version reads 1 and {CONFIGURATION_FORMAT}; "
            "was it written by a later version of Dragoman?"
        )
    current = {name: value for name, value in settings.items() if name != MARKER}
    data = current.get("data")
    if format == 1 and isinstance(data, dict) and isinstance(data.get("columns"), list):
        columns = [column + 1 if isinstance(column, int) else column for column in data["columns"]]
        current["data"] = {**data, "columns": columns}
    return current
