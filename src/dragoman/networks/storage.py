"""Weights on disk: safetensors, the published parameters by name, nothing that executes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dragoman.errors import FileFormatError
from dragoman.networks.network import Network

FORMAT = "1"


def save_weights(network: Network, path: Path) -> None:
    """Write every parameter under its published name. Views are copied: safetensors mangles strided arrays silently."""
    arrays = {name: np.ascontiguousarray(view) for name, view in network.named_arrays()}
    save_file(arrays, path, metadata={"format": FORMAT})


def load_weights(network: Network, path: Path) -> None:
    """Read a file that `save_weights` wrote into a network of the same configuration."""
    try:
        arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as safetensors weights: {error}") from None
    wanted = dict(network.named_arrays())
    missing, unknown = sorted(wanted.keys() - arrays.keys()), sorted(arrays.keys() - wanted.keys())
    if missing or unknown:
        raise FileFormatError(
            f"{path} was saved from another network: it lacks {_some(missing)} and has {_some(unknown)} that this "
            "network does not know"
        )
    for name, view in wanted.items():
        if arrays[name].shape != view.shape:
            raise FileFormatError(
                f"{path}: {name} has shape {arrays[name].shape}, but this network expects {view.shape}; "
                "build it with the configuration the file was saved with"
            )
    for name, view in wanted.items():
        view[...] = arrays[name]


def _some(names: list[str]) -> str:
    if not names:
        return "nothing"
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
