"""Read and write safetensors files with a checksum, so that damage is detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dragoman.errors import FileFormatError
from dragoman.graph import Array

CHECKSUM = "sha256"


def checksum(arrays: Mapping[str, Array]) -> str:
    """Compute the SHA-256 of names, types, shapes and contents."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def write_tensors(arrays: dict[str, Array], path: Path, metadata: Mapping[str, str]) -> None:
    """Write contiguous arrays and their checksum; equal arrays give equal files."""
    save_file(arrays, path, metadata={**metadata, CHECKSUM: checksum(arrays)})
    _sort_metadata(path)


def _sort_metadata(path: Path) -> None:
    """Sort the metadata, which the library writes in random order; the header keeps its length."""
    with path.open("r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        if len(text) > size:
            raise FileFormatError(f"{path}: the header does not fit into {size} bytes")
        file.seek(8)
        file.write(text.ljust(size))


def read_tensors(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Read all arrays of a file and its metadata; verify the checksum if there is one."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: types that NumPy lacks, such as bfloat16
        raise FileFormatError(f"{path} cannot be read as safetensors: {error}") from None
    expected = metadata.get(CHECKSUM)  # files of other programs have no checksum
    if expected is not None and expected != checksum(arrays):
        raise FileFormatError(f"{path} is damaged: its contents do not match their checksum")
    return arrays, metadata


def count_values(path: Path) -> int:
    """Count the values of a file from its header."""
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    except (SafetensorError, OSError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read as safetensors: {error}") from None
    return sum(int(np.prod(shape, dtype=object)) for shape in shapes)
