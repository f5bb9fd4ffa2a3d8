"""The steps of a pass: kernels of the operations, told by words where their matrices lie.

The first word is the address of the kernel: linked into its step, it would be compiled twice. A matrix takes three
words (address, rows, columns), a vector two (address, size), what drops five (whether, the key that all sites share,
site, first row, threshold); `f` holds what is not an integer. All steps take the same three arguments, so that one loop
calls any of them by its address.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from dragoman.engines.numba import linear, rows, wide_attention
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import DONE, address_of, caller_of, distant, kernel, part
from dragoman.engines.numba.products import STRAIGHT
from dragoman.engines.numba.rows import GOLDEN, mix

REAL, WORD, KEY, FLAG = types.float32, types.int64, types.uint32, types.boolean
VECTOR, MATRIX, WORDS = REAL[::1], REAL[:, ::1], WORD[::1]
DROP = (FLAG, KEY, WORD, KEY, REAL)
LOOK = (VECTOR, WORD, WORD, VECTOR, WORD, WORD, WORD, WORDS, WORDS, WORD, FLAG, REAL, MATRIX, VECTOR, MATRIX)
# The kernels, and what they take; where the first is None, the lane of wide_attention.
KERNELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "apply": (
        linear.apply,
        (types.UniTuple(WORD, 2), MATRIX, MATRIX, FLAG, VECTOR, WORD, MATRIX, MATRIX),
    ),
    "apply_backward": (
        linear.apply_backward,
        (types.UniTuple(WORD, 2), MATRIX, MATRIX, FLAG, WORD, MATRIX, MATRIX, VECTOR, MATRIX),
    ),
    "look_up": (rows.look_up, (MATRIX, WORDS, MATRIX, WORDS, FLAG, REAL, MATRIX, *DROP)),
    "normalize": (rows.normalized, (MATRIX, VECTOR, VECTOR, MATRIX, MATRIX, FLAG, REAL)),
    "add_normalize": (
        rows.sum_normalized,
        (MATRIX, MATRIX, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX, FLAG, REAL, *DROP),
    ),
    "normalize_backward": (
        rows.differentiate_normalized,
        (MATRIX, MATRIX, FLAG, MATRIX, VECTOR, MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, *DROP),
    ),
    "attend": (wide_attention.attend, (None, *LOOK, VECTOR)),
    "attend_backward": (wide_attention.attend_backward, (None, *LOOK, VECTOR, VECTOR, VECTOR, MATRIX, VECTOR)),
}


def _kinds(name: str, first: Any) -> tuple[Any, ...]:
    kinds = KERNELS[name][1]
    return (first, *kinds[1:]) if kinds[0] is None else kinds


def _caller(name: str) -> Any:
    return caller_of(functools.partial(_kinds, name))


_apply, _apply_backward, _look_up = _caller("apply"), _caller("apply_backward"), _caller("look_up")
_normalize, _add_normalize = _caller("normalize"), _caller("add_normalize")
_normalize_backward = _caller("normalize_backward")
_attend, _attend_backward = _caller("attend"), _caller("attend_backward")


def _pointer(element: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return at


_number_at, _word_at = _pointer(REAL), _pointer(WORD)


# They begin with the first of the words given: told by a number where to begin, they would be compiled for each number.


@part
def matrix(a: Any) -> Any:
    return carray(_number_at(a[0]), (a[1], a[2]))


@part
def vector(a: Any) -> Any:
    return carray(_number_at(a[0]), a[1])


@part
def words_at(a: Any) -> Any:
    return carray(_word_at(a[0]), a[1])


@part
def drop(a: Any, scale: Any) -> Any:
    """As rows take it."""
    key = mix(np.uint32(np.uint32(a[1]) + np.uint32(a[2]) + GOLDEN))
    return a[0] != 0, key, a[3], np.uint32(a[4]), scale


@distant
def apply(lane: Any, a: Any, f: Any) -> Any:
    """products, x, weights, biases, activation, c, y"""
    given = (a[1], a[2]), matrix(a[3:]), matrix(a[6:]), STRAIGHT, vector(a[9:]), a[11], matrix(a[12:]), matrix(a[15:])
    return _apply(a[0], given)


@distant
def apply_backward(lane: Any, a: Any, f: Any) -> Any:
    """products, dy, weights, activation, c, dc, dbiases, dx"""
    given = (a[1], a[2]), matrix(a[3:]), matrix(a[6:]), STRAIGHT, a[9], matrix(a[10:]), matrix(a[13:])
    return _apply_backward(a[0], (*given, vector(a[16:]), matrix(a[18:])))


@distant
def look_up(lane: Any, a: Any, f: Any) -> Any:
    """table, labels, what is added, offsets, whether, y, drop; factor, scale"""
    labels, offsets = words_at(a[4:]), words_at(a[9:])
    positions = np.empty(labels.size, np.int64)
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            positions[i] = i - offsets[s]
    given = matrix(a[1:]), labels, matrix(a[6:]), positions, a[11] != 0, f[0], matrix(a[12:])
    return _look_up(a[0], (*given, *drop(a[15:], f[1])))


@distant
def normalize(lane: Any, a: Any, f: Any) -> Any:
    """x, gamma, beta, y, statistics, whether inside; epsilon"""
    given = matrix(a[1:]), vector(a[4:]), vector(a[6:]), matrix(a[8:]), matrix(a[11:]), a[14] != 0, f[0]
    return _normalize(a[0], given)


@distant
def add_normalize(lane: Any, a: Any, f: Any) -> Any:
    """update, residual, gamma, beta, total, y, statistics, whether inside, drop; epsilon, scale"""
    given = matrix(a[1:]), matrix(a[4:]), vector(a[7:]), vector(a[9:]), matrix(a[11:]), matrix(a[14:]), matrix(a[17:])
    return _add_normalize(a[0], (*given, a[20] != 0, f[0], *drop(a[21:], f[1])))


@distant
def normalize_backward(lane: Any, a: Any, f: Any) -> Any:
    """dy, dtotal, total, gamma, statistics, dsum, dupdate, dgamma, dbeta, drop; scale"""
    given = matrix(a[1:]), matrix(a[4:]), a[5] > 0, matrix(a[7:]), vector(a[10:]), matrix(a[12:])
    found = matrix(a[15:]), matrix(a[18:]), vector(a[21:]), vector(a[23:])
    return _normalize_backward(a[0], (*given, *found, *drop(a[25:], f[0])))


@part
def look(a: Any, f: Any) -> Any:
    """q, width, column, k, width, columns of keys and values, both offsets, heads, causal, bias, out, lse; scale"""
    columns = vector(a[1:]), a[3], a[4], vector(a[5:]), a[7], a[8], a[9]
    sizes = words_at(a[10:]), words_at(a[12:]), a[14], a[15] != 0, f[0], matrix(a[16:])
    return (*columns, *sizes, vector(a[19:]), matrix(a[21:]))


@distant
def attend(lane: Any, a: Any, f: Any) -> Any:
    """as `look` has it, room"""
    return _attend(a[0], (lane, *look(a, f), vector(a[24:])))


@distant
def attend_backward(lane: Any, a: Any, f: Any) -> Any:
    """as `look` has it, room, dout, dq, dk, dbias"""
    dbias = matrix(a[32:])
    dbias[:] = 0
    deltas = vector(a[26:]), vector(a[28:]), vector(a[30:]), dbias
    return _attend_backward(a[0], (lane, *look(a, f), *deltas, vector(a[24:])))


@distant
def add(lane: Any, a: Any, f: Any) -> Any:
    """x, more: x += more"""
    x, more = vector(a[1:]), vector(a[3:])
    for i in range(x.size):
        x[i] += more[i]
    return DONE


STEPS = (apply, apply_backward, look_up, normalize, add_normalize, normalize_backward, attend, attend_backward, add)


@functools.cache
def addresses(eights: int) -> dict[str, tuple[int, int]]:
    """Of all steps and of their kernels (none: 0), by their names, for heads of so many eights of columns."""
    lane, found = types.UniTuple(WORD, eights), {}
    for step in STEPS:
        name = step.__name__
        own = address_of(KERNELS[name][0], _kinds(name, lane)) if name in KERNELS else 0
        found[name] = address_of(step, (lane, WORDS, VECTOR)), own
    return found


_step = caller_of(lambda lane: (lane, WORDS, VECTOR))


@kernel
def run(
    lane: Any, addresses: Any, words: Any, starts: Any, floats: Any, float_starts: Any, first: Any, last: Any
) -> Any:
    """Steps first to last - 1, each with its words and floats; whether all came to their ends"""
    leave()
    well = True
    for i in range(first, last):
        own, numbers = words[starts[i] : starts[i + 1]], floats[float_starts[i] : float_starts[i + 1]]
        well = well and _step(addresses[i], (lane, own, numbers)) == DONE
    enter()
    return well
