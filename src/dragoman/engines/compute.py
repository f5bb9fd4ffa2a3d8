"""Process-wide settings of a computation: one BLAS thread per thread, and the fastest engine.

Computations overlap: a training may decode in a callback, a server decodes on several threads. So they are counted: the
first one changes the settings, the last one restores them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from dragoman.engines import fastest
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
def fast_compute(tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Compute with single-threaded BLAS and the fastest engine, then restore the previous settings.

    tell  receives messages about slow starts (kernels that are compiled for the first time)

    The engine is the same for every computation of a process, however small. One that was chosen with `use_engine` or
    `use_fastest` is left alone.
    """
    _enter(tell)
    try:
        yield
    finally:
        _leave()


def _enter(tell: Callable[[str], None] | None) -> None:
    global _running, _restore
    with _lock:
        wanted = current_engine() if engine_chosen() else fastest(tell)  # first: it may raise
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
