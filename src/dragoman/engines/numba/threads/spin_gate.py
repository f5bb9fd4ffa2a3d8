"""A spin gate in front of the GIL, for threads that run shards of a batch.

Every kernel releases the GIL while it computes and takes it back at its end. A thread that finds the GIL taken is put
to sleep, and waking it costs more than most kernels. With the gate, a thread that leaves a kernel spins until no other
thread of the gate runs Python, and only then asks for the GIL. The gate is advisory: a thread that has spun SPINS times
goes on without it, so results and progress never depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from dragoman.engines.numba.jit import device_function, kernel

# Indices into STATE, each on its own cache line:
# THREADS  threads that share the gate; below 2 it is open    ARRIVED  how many of them have started
# HELD     1 while one of them runs Python                    CALLS    calls of the thread pool so far
# IDLE     threads that have finished the current call
THREADS, ARRIVED, HELD, CALLS, IDLE = 0, 8, 16, 24, 32
STATE = np.zeros(40, np.int64)
SPINS = 400_000  # about 200 microseconds
_NAME = "dragoman_spin_gate"
_INTEGER = ir.IntType(64)
binding.add_symbol(_NAME, STATE.ctypes.data)  # cached kernels refer to the array by this name


def _slot(builder: Any, index: Any) -> Any:
    found = builder.module.globals.get(_NAME)
    if found is None:
        found = ir.GlobalVariable(builder.module, ir.ArrayType(_INTEGER, STATE.size), _NAME)
        found.linkage = "external"
    return builder.gep(found, [_INTEGER(0), index])


@intrinsic  # type: ignore[untyped-decorator]
def load_atomic(typing: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_slot(builder, arguments[0]), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def exchange(typing: Any, index: Any, value: Any) -> Any:
    """Store a value and return the previous one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("xchg", _slot(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def increment(typing: Any, index: Any) -> Any:
    """Add 1 and return the previous value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _slot(builder, arguments[0]), _INTEGER(1), "acq_rel")

    return types.int64(types.int64), generate


@device_function
def release_gate() -> None:
    if load_atomic(THREADS) > 1:
        exchange(HELD, 0)


@device_function
def acquire_gate() -> None:
    if load_atomic(THREADS) > 1:
        for _ in range(SPINS):
            if load_atomic(HELD) == 0 and exchange(HELD, 1) == 0:
                return


@kernel
def release() -> None:
    """Open the gate: this thread computes without Python. The first statement of a kernel."""
    release_gate()


@kernel
def acquire() -> None:
    """Spin until the gate is free and hold it. The last statement of a kernel."""
    acquire_gate()


@kernel
def arrive() -> None:
    """Wait until all threads have started, then acquire the gate."""
    increment(ARRIVED)
    for _ in range(10 * SPINS):
        if load_atomic(ARRIVED) >= load_atomic(THREADS):
            break
    acquire_gate()


@kernel
def idle(call: Any) -> None:
    """Finish a call and spin for about a millisecond, so that the next call finds this thread awake."""
    release_gate()
    increment(IDLE)
    for _ in range(5 * SPINS):
        if load_atomic(CALLS) != call and load_atomic(ARRIVED) > 0:  # the calling thread has released the GIL by now
            return


@kernel
def wait_until_idle() -> None:
    """Spin for a few milliseconds until the other threads have finished the call."""
    release_gate()
    for _ in range(10 * SPINS):
        if load_atomic(IDLE) >= load_atomic(THREADS) - 1:
            return


@contextmanager
def gate(threads: int) -> Iterator[None]:
    """Use the gate for one call of so many threads: each calls `arrive` first and `idle` last."""
    STATE[HELD], STATE[ARRIVED], STATE[IDLE], STATE[THREADS] = 0, 0, 0, threads
    STATE[CALLS] += 1
    try:
        yield
    finally:
        STATE[THREADS] = 0


@contextmanager
def paused() -> Iterator[None]:
    """Release the gate while this thread waits for something else."""
    release()
    try:
        yield
    finally:
        acquire()
