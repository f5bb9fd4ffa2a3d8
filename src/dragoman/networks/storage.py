"""Save and load weights as safetensors, by parameter name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError

from dragoman.errors import FileFormatError
from dragoman.networks.network import Network
from dragoman.networks.tensors import read_tensors, write_tensors

FORMAT = "1"


def save_weights(network: Network, path: Path) -> None:
    """Write every parameter by name. Views are copied, because safetensors silently corrupts strided arrays."""
    arrays = {name: np.ascontiguousarray(view) for name, view in network.named_arrays()}
    try:
        write_tensors(arrays, path, {"format": FORMAT})
    except (SafetensorError, OSError) as error:
        raise FileFormatError(f"the weights could not be written to {path}: {error}") from None


def load_weights(network: Network, path: Path) -> None:
    """Read a file that `save_weights` wrote into a network of the same configuration."""
    arrays, metadata = read_tensors(path)
    version = metadata.get("format")
    if version != FORMAT:
        raise FileFormatError(
            f"{path} has format version {version or 'none'}, but this program reads version {FORMAT}; "
            "was it written by a later version of dragoman?"
        )
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
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise FileFormatError(
                f"{path}: {name} ({arrays[name].dtype}) holds values that are not finite real numbers"
            )
    for name, view in wanted.items():
        view[...] = arrays[name]


def _some(names: list[str]) -> str:
    if not names:
        return "nothing"
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
