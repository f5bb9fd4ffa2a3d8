"""Engines: the same operations, faster. They register with the operations; nothing above knows which one runs.

numpy  the definitions themselves
numba  fused kernels for the CPU, compiled when first used (the default where numba is installed)

$DRAGOMAN_ENGINE names the one to use.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from dragoman.errors import ConfigurationError
from dragoman.graph import use_engine
from dragoman.graph.operation import current_engine

ENGINES = ("numba", "numpy")
VARIABLE = "DRAGOMAN_ENGINE"


def use_fastest(tell: Callable[[str], None] = lambda text: None) -> str:
    """Choose the fastest engine there is, or the one that $DRAGOMAN_ENGINE names; its name."""
    wanted = os.environ.get(VARIABLE, ENGINES[0])
    if wanted not in ENGINES:
        raise ConfigurationError(f"${VARIABLE} names the engine '{wanted}'; there is {', '.join(ENGINES)}")
    if wanted == "numba":
        try:
            kernels = importlib.import_module("dragoman.engines.numba.jit")
            importlib.import_module("dragoman.engines.numba")
        except ImportError as error:
            tell(f"numba cannot be used ({error}), so the slower NumPy engine runs; pip install numba")
            wanted = "numpy"
        else:
            if not kernels.compiled_before():
                tell("compiling kernels (first run only)")
    use_engine(wanted)
    return wanted


@contextmanager
def turns(threads: int) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Threads that share Python take turns at it, where the engine has a way; each works within what this gives."""
    if current_engine() != "numba":
        yield nullcontext
        return
    baton = importlib.import_module("dragoman.engines.numba.baton")
    with baton.turns(threads):
        yield baton.turn


def aside() -> AbstractContextManager[None]:
    """A thread waits for something else than its turn, and lets the others take theirs meanwhile."""
    if current_engine() != "numba":
        return nullcontext()
    baton = importlib.import_module("dragoman.engines.numba.baton")
    waiting: AbstractContextManager[None] = baton.aside()
    return waiting
