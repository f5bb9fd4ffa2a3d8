"""Archives of NumPy arrays: images and labels, or x_train, y_train, x_test and y_test."""

from __future__ import annotations

import zipfile
import zlib
from math import prod
from pathlib import Path

import numpy as np

from dragoman.errors import DataError
from dragoman.graph import Array

MOST_BYTES = 1 << 31
NAMES = {  # of arrays by part: images, labels
    "training": (("images", "labels"), ("x_train", "y_train"), ("train_images", "train_labels")),
    "validation": (("x_val", "y_val"), ("x_valid", "y_valid"), ("val_images", "val_labels")),
    "testing": (("x_test", "y_test"), ("test_images", "test_labels")),
}


def read_npz(path: Path) -> dict[str, tuple[Array, Array]]:
    """Images and labels by part. Pickled objects are refused, and sizes are checked before anything is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            held = {name.removesuffix(".npy"): name for name in archive.namelist()}
            found = {
                part: (_array(archive, held[x], path), _array(archive, held[y], path))
                for part, names in NAMES.items()
                for x, y in names
                if x in held and y in held
            }
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read as an .npz file: {error}") from None
    if "training" not in found:
        there = ", ".join(sorted(held)) or "none"
        raise DataError(f"{path} has no arrays `images` and `labels` (or x_train and y_train); it has {there}")
    return found


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> Array:
    """One array; the header says how large it is, and what the archive holds may not be more."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.hasobject:
            raise DataError(f"{path}: {name} holds pickled objects, which could run code; save plain arrays instead")
        size = prod(shape) * dtype.itemsize
        if size > MOST_BYTES:
            raise DataError(f"{path}: {name} would take {size:,} bytes, more than the {MOST_BYTES:,} that are read")
        held = archive.getinfo(name).file_size - file.tell()
        if held != size:
            raise DataError(f"{path}: {name} promises {size:,} bytes, but holds {held:,}; save it again")
        content = file.read(size)
    if len(content) != size:
        raise DataError(f"{path}: {name} promises {size:,} bytes, but holds {len(content):,}; save it again")
    x: Array = np.frombuffer(content, dtype)
    return x.reshape(shape, order="F" if fortran else "C")
