"""The addresses of the GEMM routines of NumPy's own OpenBLAS.

NumPy's wheels ship OpenBLAS with 64-bit integers under prefixed names. Other builds of NumPy have no such library.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

NAMES: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "scipy_cblas_sgemm64_",
    np.dtype(np.float64): "scipy_cblas_dgemm64_",
}


@functools.cache
def find_gemm() -> dict[np.dtype[Any], int] | None:
    """The addresses for float32 and float64; None without such a library."""
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().lib_controllers:
        if library.internal_api != "openblas":
            continue
        try:
            loaded = ctypes.CDLL(library.filepath)
            return {
                kind: ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0 for kind, name in NAMES.items()
            }
        except (OSError, AttributeError):
            continue
    return None
