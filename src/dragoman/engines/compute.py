"""Process-wide settings of a computation: one BLAS thread per thread, and the fastest engine.

Computations overlap: a training may decode in a callback, a server decodes on several threads. So they are counted: the
first one changes the settings, the last one restores them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from dragoman.engines import KEEP, READ_ONLY, fastest, kernels_kept
from dragoman.errors import DragomanWarning
from dragoman.graph.operation import current_engine, engine_chosen, switch_engine

_lock = Lock()
_running = 0  # computations that use the settings now
_restore: Callable[[], None] | None = None  # restores what the first of them found
_found: tuple[int, Any] = (0, None)  # modules that were loaded when libraries were looked up, and the libraries
_limited: list[Any] = []  # limits to lift, the last one first


def _libraries() -> Any:
    """The libraries with threads of their own, looked up again when modules were imported since: SciPy has a BLAS."""
    global _found
    if _found[0] != len(sys.modules):
        from threadpoolctl import ThreadpoolController

        _found = len(sys.modules), ThreadpoolController()
    return _found[1]


def _limit_libraries() -> None:
    """One thread for each library, also for those that were loaded since the first computation began."""
    before, now = _found[1], _libraries()
    if not _limited or now is not before:
        _release_control()
        _limited.append(now.limit(limits=1))


def _lift_limits() -> None:
    while _limited:
        _release_control()
        _limited.pop().restore_original_limits()
    _release_control()


def _release_control() -> None:
    """Let this thread set the number of BLAS threads.

    Since version 3.8, threadpoolctl accepts that only from the first thread that did and silently ignores the others.
    Here the first and the last computation may run on different threads.
    """
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def fast_compute(load: bool = True, tell: Callable[[str], None] | None = None, brief: bool = False) -> Iterator[None]:
    """Compute with single-threaded BLAS and the fastest engine, then restore the previous settings.

    load   False: the work is too small to pay for loading kernels (a second, longer if they must be compiled), so they
           are used only if they are already in memory
    tell   receives messages about slow starts (kernels that are compiled for the first time)
    brief  the work takes less time than compiling: without a cache for kernels, the NumPy engine runs

    An engine that was chosen with `use_engine` or `use_fastest` is left alone.
    """
    _enter(load, tell, brief)
    try:
        yield
    finally:
        _leave()


def _enter(load: bool, tell: Callable[[str], None] | None, brief: bool) -> None:
    global _running, _restore
    with _lock:
        wanted = _wanted_engine(load, tell, brief)  # first: it may raise
        _limit_libraries()
        if not _running:
            before = current_engine()

            def restore() -> None:
                _lift_limits()
                if not engine_chosen():
                    switch_engine(before)

            _restore = restore
        switch_engine(wanted)
        _running += 1


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running and _restore is not None:
            _restore()


def _wanted_engine(load: bool, tell: Callable[[str], None] | None, brief: bool) -> str:
    engine, loaded = current_engine(), "dragoman.engines.numba" in sys.modules
    if engine_chosen() or not (load or loaded):
        return engine
    if brief and engine != "numba" and not kernels_kept():
        if load:
            warnings.warn(f"{READ_ONLY}, so the slower NumPy engine runs; {KEEP}", DragomanWarning, stacklevel=2)
        return engine
    return fastest(tell)
