"""Where no directory can be written, neither the package's nor the user's: everything runs, and one line says why."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")

# As root nothing is read-only, so the file system's answer is given here; what numba makes of it is its own.
READ_ONLY = """
import errno
import os
import sys

from numba.core import caching


def refuse(self):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


caching._CacheLocator.ensure_cache_path = refuse
"""
KERNELS = """
import numpy as np

from dragoman.engines import use_fastest
from dragoman.operations.vector_updates import sum_of_squares

told = []
print(use_fastest(told.append))
print(*told, sep="\\n")
from dragoman.engines.numba import jit
from dragoman.engines.numba.kernels import vector_updates

assert jit.kernel_directory() is None
assert not jit.has_cached_kernels()
print(sum_of_squares(np.arange(6, dtype=np.float32)), len(vector_updates.squared_norm.signatures))
"""


def python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != "DRAGOMAN_ENGINE"}
    command = [sys.executable, "-c", READ_ONLY + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


def test_kernels_are_compiled_for_one_run() -> None:
    done = python(KERNELS)
    assert (done.returncode, done.stderr) == (0, "")
    engine, told, result = done.stdout.splitlines()
    assert engine == "numba"
    assert "kernels are compiled for this run only; set NUMBA_CACHE_DIR" in told
    assert result == "55.0 1"
