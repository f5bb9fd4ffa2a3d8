"""Engines: the same operations, faster. They register with the operations; nothing above knows which one runs.

numpy  the definitions themselves
numba  fused kernels for the CPU, compiled when first used (the default where numba is installed)

$DRAGOMAN_ENGINE names the one to use.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.graph import use_engine
from dragoman.graph.operation import current_engine

ENGINES = ("numba", "numpy")
VARIABLE = "DRAGOMAN_ENGINE"
READ_ONLY = "neither the package's directory nor your cache directory can be written"
KEEP = "set NUMBA_CACHE_DIR to a directory that can be written to keep kernels"

_said: set[str] = set()


def use_fastest(tell: Callable[[str], None] | None = None) -> str:
    """Choose the fastest engine there is, or the one that $DRAGOMAN_ENGINE names, for the whole process; its name.

    Trainings, searches and evaluations do so by themselves while they run (`compute.fast_compute`).
    """
    name = fastest(tell)
    use_engine(name)
    return name


def fastest(tell: Callable[[str], None] | None = None) -> str:
    """The fastest engine there is, loaded, or the one that $DRAGOMAN_ENGINE names. What is told is told once."""
    wanted = os.environ.get(VARIABLE, ENGINES[0])
    if wanted not in ENGINES:
        raise ConfigurationError(f"${VARIABLE} names the engine '{wanted}'; there is {', '.join(ENGINES)}")
    if wanted == "numba":
        try:
            kernels = importlib.import_module("dragoman.engines.numba.jit")
            importlib.import_module("dragoman.engines.numba")
        except ImportError as error:
            _tell_once(tell, f"numba cannot be used ({error}), so the slower NumPy engine runs; pip install numba")
            wanted = "numpy"
        else:
            if kernels.place_of_kernels() is None:
                _tell_once(tell, f"{READ_ONLY}, so kernels are compiled for this run only; {KEEP}")
            elif not kernels.compiled_before():
                _tell_once(tell, "compiling kernels (first run only)")
    return wanted


def _tell_once(tell: Callable[[str], None] | None, text: str) -> None:
    if tell is not None and text not in _said:
        _said.add(text)
        tell(text)


def kernels_kept() -> bool:
    """Whether kernels that are compiled now are found by the next run; True also where there is nothing to compile."""
    if VARIABLE in os.environ:
        return True
    try:
        return importlib.import_module("dragoman.engines.numba.jit").place_of_kernels() is not None
    except ImportError:
        return True


def _baton() -> Any:
    """How threads take turns; None where the engine has no way."""
    return importlib.import_module("dragoman.engines.numba.baton") if current_engine() == "numba" else None


@contextmanager
def turns(threads: int) -> Iterator[Callable[[], None]]:
    """Threads that share Python take turns at it, where the engine has a way; each begins with what this gives."""
    baton = _baton()
    if baton is None:
        yield _nothing
        return
    with baton.turns(threads):
        yield baton.begin


def _nothing() -> None:
    pass


def aside() -> AbstractContextManager[None]:
    """A thread waits for something else than its turn, and lets the others take theirs meanwhile."""
    baton = _baton()
    waiting: AbstractContextManager[None] = nullcontext() if baton is None else baton.aside()
    return waiting


def rest_after_call() -> Callable[[], None]:
    """How a thread that is through with its part waits for the next call without falling asleep at once."""
    baton = _baton()
    return _nothing if baton is None else functools.partial(baton.rest, int(baton.BATON[baton.CALLS]))


def await_rest() -> None:
    """Wait for all other threads to be through, without falling asleep at once."""
    baton = _baton()
    if baton is not None:
        baton.await_rest()
