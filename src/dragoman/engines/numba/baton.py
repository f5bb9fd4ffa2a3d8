"""Whose turn it is to run Python, when shards of a batch run on threads.

Every kernel gives Python up while it computes and needs it back at its end. A thread that finds it taken would be put
to sleep and woken again, which costs more than most kernels do. With a baton, a thread that comes out of a kernel
waits for its turn awake, before it asks for Python; the wait is as long as the other thread needs between two of its
own kernels. It is a courtesy and no lock: a thread that has waited long enough goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from dragoman.engines.numba.jit import kernel, part

# How many threads share Python (below 2, nobody waits); how many of them have come; 1 while one of them runs Python;
# how often threads were called together; how many are through with the last call. Each a cache line apart.
THREADS, COME, TAKEN, CALLS, THROUGH = 0, 8, 16, 24, 32
BATON = np.zeros(40, np.int64)
PATIENCE = 400_000  # looks at the baton: some 200 microseconds
_NAME = "dragoman_baton"
_INTEGER = ir.IntType(64)
binding.add_symbol(_NAME, BATON.ctypes.data)  # kernels on disk find it by its name, wherever it lies


def _place(builder: Any, index: Any) -> Any:
    found = builder.module.globals.get(_NAME)
    if found is None:
        found = ir.GlobalVariable(builder.module, ir.ArrayType(_INTEGER, BATON.size), _NAME)
        found.linkage = "external"
    return builder.gep(found, [_INTEGER(0), index])


@intrinsic  # type: ignore[untyped-decorator]
def look(typing: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(builder, arguments[0]), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def swap(typing: Any, index: Any, value: Any) -> Any:
    """Put a value there; what was there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("xchg", _place(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def count(typing: Any, index: Any) -> Any:
    """One more; how many there were."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _place(builder, arguments[0]), _INTEGER(1), "acq_rel")

    return types.int64(types.int64), generate


@part
def give_up() -> None:
    if look(THREADS) > 1:
        swap(TAKEN, 0)


@part
def wait_for_turn() -> None:
    if look(THREADS) > 1:
        for _ in range(PATIENCE):
            if look(TAKEN) == 0 and swap(TAKEN, 1) == 0:
                return


@kernel
def leave() -> None:
    """Python is not needed for a while."""
    give_up()


@kernel
def enter() -> None:
    """Wait for the turn."""
    wait_for_turn()


@kernel
def begin() -> None:
    """Wait for the others to come, then for the first turn: begun while another is at work, it might be long."""
    count(COME)
    for _ in range(10 * PATIENCE):
        if look(COME) >= look(THREADS):
            break
    wait_for_turn()


@kernel
def rest(call: Any) -> None:
    """Through with a call: wait for the next, awake for about a millisecond."""
    give_up()
    count(THROUGH)
    for _ in range(5 * PATIENCE):
        if look(CALLS) != call and look(COME) > 0:  # by now, the one that calls has given Python up
            return


@kernel
def await_rest() -> None:
    """Wait for the others to be through, awake for some milliseconds."""
    give_up()
    for _ in range(10 * PATIENCE):
        if look(THROUGH) >= look(THREADS) - 1:
            return


@contextmanager
def turns(threads: int) -> Iterator[None]:
    """Threads take turns in Python for a while: from where they begin to where they rest."""
    BATON[TAKEN], BATON[COME], BATON[THROUGH], BATON[THREADS] = 0, 0, 0, threads
    BATON[CALLS] += 1
    try:
        yield
    finally:
        BATON[THREADS] = 0


@contextmanager
def aside() -> Iterator[None]:
    """Between two turns."""
    leave()
    try:
        yield
    finally:
        enter()
