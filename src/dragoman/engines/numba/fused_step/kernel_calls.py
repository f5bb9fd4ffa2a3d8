"""Kernels under one calling convention (head_vectors, a, f), so that one loop calls any of them by address.

`a` holds integers: first the address of the kernel (linked in, it would be compiled twice), then its arguments. A
matrix takes three integers (address, rows, columns), a vector two (address, size), dropout five (enabled, the key
shared by all sites, site, first row, threshold). `f` holds the floats.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from dragoman.engines.numba.gemm.gemm import NOT_TRANSPOSED
from dragoman.engines.numba.jit import DONE, IndirectKernel, Kinds, device_function, indirect_kernel, kernel
from dragoman.engines.numba.kernels import linear as linear_kernels
from dragoman.engines.numba.kernels import row_kernels
from dragoman.engines.numba.kernels.attention import blocked, blocked_backward, simd
from dragoman.engines.numba.kernels.attention.arguments import AttentionSpec, Columns, head_kind
from dragoman.engines.numba.kernels.row_kernels import GOLDEN, DropoutMask, mix
from dragoman.engines.numba.threads.spin_gate import acquire, release

REAL, INTEGER = types.float32, types.int64
KERNELS: dict[str, IndirectKernel] = {
    "linear": linear_kernels.linear_rows,
    "linear_backward": linear_kernels.linear_rows_backward,
    "embed": row_kernels.embed_rows,
    "normalize": row_kernels.normalize_rows,
    "add_normalize": row_kernels.add_normalize_rows,
    "normalize_backward": row_kernels.normalize_rows_backward,
    "attend": simd.attend,
    "attend_backward": simd.attend_backward,
    "attend_long": blocked.attend,
    "attend_long_backward": blocked_backward.attend_backward,
}
_linear, _linear_backward = linear_kernels.call_linear, linear_kernels.call_linear_backward
_embed, _normalize, _add_normalize = row_kernels.call_embed, row_kernels.call_normalize, row_kernels.call_add_normalize
_normalize_backward = row_kernels.call_normalize_backward
_attend, _attend_backward = simd.call_attend, simd.call_attend_backward
_attend_long, _attend_long_backward = blocked.call_attend, blocked_backward.call_attend_backward


def _call_kinds(real: Any, vectors: int) -> Kinds:
    return head_kind(vectors), INTEGER[::1], REAL[::1]


def _pointer(element: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return at


_number_at, _integer_at = _pointer(REAL), _pointer(INTEGER)


# These take a slice of `a` that begins with their integers; an index would be a literal they are compiled again for.


@device_function
def matrix(a: Any) -> Any:
    return carray(_number_at(a[0]), (a[1], a[2]))


@device_function
def vector(a: Any) -> Any:
    return carray(_number_at(a[0]), a[1])


@device_function
def integers(a: Any) -> Any:
    return carray(_integer_at(a[0]), a[1])


@device_function
def drop(a: Any, scale: Any) -> Any:
    key = mix(np.uint32(np.uint32(a[1]) + np.uint32(a[2]) + GOLDEN))
    return DropoutMask(a[0] != 0, key, a[3], np.uint32(a[4]), scale)


@indirect_kernel(_call_kinds)
def linear(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: gemms, x, weights, biases, activation, c, y"""
    given = (
        (a[1], a[2]),
        matrix(a[3:]),
        matrix(a[6:]),
        NOT_TRANSPOSED,
        vector(a[9:]),
        a[11],
        matrix(a[12:]),
        matrix(a[15:]),
    )
    return _linear(a[0], given)


@indirect_kernel(_call_kinds)
def linear_backward(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: gemms, dy, weights, activation, c, dc, dbiases, dx"""
    given = (a[1], a[2]), matrix(a[3:]), matrix(a[6:]), NOT_TRANSPOSED, a[9], matrix(a[10:]), matrix(a[13:])
    return _linear_backward(a[0], (*given, vector(a[16:]), matrix(a[18:])))


@indirect_kernel(_call_kinds)
def embed(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: table, labels, position table, offsets, whether it is added, y, dropout; f: factor, dropout scale"""
    labels, offsets = integers(a[4:]), integers(a[9:])
    positions = np.empty(labels.size, np.int64)
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            positions[i] = i - offsets[s]
    given = matrix(a[1:]), labels, matrix(a[6:]), positions, a[11] != 0, f[0], matrix(a[12:])
    return _embed(a[0], (*given, drop(a[15:], f[1])))


@indirect_kernel(_call_kinds)
def normalize(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: x, gamma, beta, y, statistics, whether epsilon is inside the root; f: epsilon"""
    given = matrix(a[1:]), vector(a[4:]), vector(a[6:]), matrix(a[8:]), matrix(a[11:]), a[14] != 0, f[0]
    return _normalize(a[0], given)


@indirect_kernel(_call_kinds)
def add_normalize(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: update, residual, gamma, beta, total, y, statistics, inside, dropout; f: epsilon, dropout scale"""
    given = matrix(a[1:]), matrix(a[4:]), vector(a[7:]), vector(a[9:]), matrix(a[11:]), matrix(a[14:]), matrix(a[17:])
    return _add_normalize(a[0], (*given, a[20] != 0, f[0], drop(a[21:], f[1])))


@indirect_kernel(_call_kinds)
def normalize_backward(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: dy, dtotal, total, gamma, statistics, dsum, dupdate, dgamma, dbeta, dropout; f: dropout scale"""
    given = matrix(a[1:]), matrix(a[4:]), matrix(a[7:]), vector(a[10:]), matrix(a[12:])
    found = matrix(a[15:]), matrix(a[18:]), vector(a[21:]), vector(a[23:])
    return _normalize_backward(a[0], (*given, *found, drop(a[25:], f[0])))


@device_function
def attention_arguments(a: Any, f: Any) -> Any:
    """a: queries, keys and values, offsets, memory offsets, heads, causal, bias, out, lse; f: scale"""
    queries, keys_values = Columns(vector(a[1:]), a[3], a[4]), Columns(vector(a[5:]), a[7], a[8])
    spec = AttentionSpec(integers(a[9:]), integers(a[11:]), a[13], a[14] != 0, f[0], matrix(a[15:]))
    return queries, keys_values, spec, vector(a[18:]), matrix(a[20:])


@indirect_kernel(_call_kinds)
def attend(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: as in attention_arguments, then workspace and the address of attend_long (0: all sequences are short)"""
    given = attention_arguments(a, f)
    done = _attend(a[0], (head_vectors, *given, vector(a[23:])))
    return _attend_long(a[25], (8 * len(head_vectors), *given)) if a[25] != 0 and done == DONE else done


@indirect_kernel(_call_kinds)
def attend_backward(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: as in attention_arguments, then workspace, dout, dq, dk, dbias and the address of attend_long_backward"""
    dbias = matrix(a[31:])
    dbias[:] = 0
    deltas = vector(a[25:]), vector(a[27:]), vector(a[29:]), dbias
    given = *attention_arguments(a, f), *deltas
    done = _attend_backward(a[0], (head_vectors, *given, vector(a[23:])))
    return _attend_long_backward(a[34], (8 * len(head_vectors), *given)) if a[34] != 0 and done == DONE else done


@indirect_kernel(_call_kinds)
def add(head_vectors: Any, a: Any, f: Any) -> Any:
    """a: x, more; x += more"""
    x, more = vector(a[1:]), vector(a[3:])
    for i in range(x.size):
        x[i] += more[i]
    return DONE


CALLS: dict[str, IndirectKernel] = {
    "linear": linear,
    "linear_backward": linear_backward,
    "embed": embed,
    "normalize": normalize,
    "add_normalize": add_normalize,
    "normalize_backward": normalize_backward,
    "attend": attend,
    "attend_backward": attend_backward,
    "add": add,
}


@functools.cache
def addresses(vectors: int) -> dict[str, tuple[int, int]]:
    """By name: the addresses of a call and of its kernel (0: none), for heads of 8 * vectors columns."""
    return {
        name: (
            call.address(np.float32, vectors),
            KERNELS[name].address(np.float32, vectors) if name in KERNELS else 0,
        )
        for name, call in CALLS.items()
    }


@functools.cache
def long_addresses() -> dict[str, int]:
    """The addresses of the kernels for long sequences, by name; compiled when a batch first has one."""
    return {name: KERNELS[name].address(np.float32) for name in ("attend_long", "attend_long_backward")}


_call = add.call  # all have the same types


@kernel
def run(
    head_vectors: Any,
    addresses: Any,
    arguments: Any,
    starts: Any,
    floats: Any,
    float_starts: Any,
    first: Any,
    last: Any,
) -> Any:
    """Run the calls first to last - 1 of a tape; returns whether all succeeded."""
    release()
    ok = True
    for i in range(first, last):
        own, numbers = arguments[starts[i] : starts[i + 1]], floats[float_starts[i] : float_starts[i + 1]]
        ok = ok and _call(addresses[i], (head_vectors, own, numbers)) == DONE
    acquire()
    return ok
