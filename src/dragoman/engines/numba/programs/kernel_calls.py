"""Kernels under one calling convention (head_vectors, a), so that one loop calls any of them by address.

`a` holds integers: first the address of the kernel (linked in, it would be compiled twice), then the call's fields.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from dragoman.engines.numba.gemm.gemm import NOT_TRANSPOSED
from dragoman.engines.numba.jit import DONE, IndirectKernel, Kinds, device_function, indirect_kernel, kernel
from dragoman.engines.numba.kernels import linear as linear_kernels
from dragoman.engines.numba.kernels import row_kernels
from dragoman.engines.numba.kernels.attention import blocked, blocked_backward, simd
from dragoman.engines.numba.kernels.attention.arguments import AttentionSpec, Columns, head_kind
from dragoman.engines.numba.kernels.row_kernels import GOLDEN, DropoutMask, mix
from dragoman.engines.numba.programs.fields import (
    COLUMNS,
    DROPOUT,
    LABELS,
    MATRIX,
    NUMBER,
    PAIR,
    REAL,
    VECTOR,
    fields,
)
from dragoman.engines.numba.threads.spin_gate import acquire, release

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
    return head_kind(vectors), types.int64[::1]


def _pointer(element: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return at


_number_at, _integer_at = _pointer(types.float32), _pointer(types.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _double_of(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.bitcast(given[0], ir.DoubleType())

    return types.float64(types.int64), generate


# These take a slice of `a` that begins with their integers; an index would be a literal they are compiled again for.


@device_function
def pair(a: Any) -> Any:
    return a[0], a[1]


@device_function
def real(a: Any) -> Any:
    return np.float32(_double_of(a[0]))


@device_function
def matrix(a: Any) -> Any:
    return carray(_number_at(a[0]), (a[1], a[2]))


@device_function
def vector(a: Any) -> Any:
    return carray(_number_at(a[0]), a[1])


@device_function
def columns(a: Any) -> Any:
    return Columns(vector(a), a[2], a[3])


@device_function
def integers(a: Any) -> Any:
    return carray(_integer_at(a[0]), a[1])


@device_function
def dropout(a: Any) -> Any:
    key = mix(np.uint32(np.uint32(a[1]) + np.uint32(a[2]) + GOLDEN))
    return DropoutMask(a[0] != 0, key, a[3], np.uint32(a[4]), real(a[5:]))


LINEAR = fields(
    "linear", gemms=PAIR, x=MATRIX, weights=MATRIX, biases=VECTOR, activation=NUMBER, c=MATRIX, y=MATRIX
)  # y = activation(c), c = x W + b


@indirect_kernel(_call_kinds)
def linear(head_vectors: Any, a: Any) -> Any:
    at = LINEAR
    given = pair(a[at.gemms :]), matrix(a[at.x :]), matrix(a[at.weights :]), NOT_TRANSPOSED, vector(a[at.biases :])
    return _linear(a[0], (*given, a[at.activation], matrix(a[at.c :]), matrix(a[at.y :])))


LINEAR_BACKWARD = fields(
    "linear_backward",
    gemms=PAIR,
    dy=MATRIX,
    weights=MATRIX,
    activation=NUMBER,
    c=MATRIX,
    dc=MATRIX,
    dbiases=VECTOR,
    dx=MATRIX,
)


@indirect_kernel(_call_kinds)
def linear_backward(head_vectors: Any, a: Any) -> Any:
    at = LINEAR_BACKWARD
    given = pair(a[at.gemms :]), matrix(a[at.dy :]), matrix(a[at.weights :]), NOT_TRANSPOSED, a[at.activation]
    return _linear_backward(
        a[0], (*given, matrix(a[at.c :]), matrix(a[at.dc :]), vector(a[at.dbiases :]), matrix(a[at.dx :]))
    )


EMBED = fields(
    "embed",
    table=MATRIX,
    labels=LABELS,
    position_table=MATRIX,
    positions=LABELS,
    scale=REAL,
    y=MATRIX,
    dropout=DROPOUT,
)


@indirect_kernel(_call_kinds)
def embed(head_vectors: Any, a: Any) -> Any:
    at = EMBED
    position_table = matrix(a[at.position_table :])
    given = matrix(a[at.table :]), integers(a[at.labels :]), position_table, integers(a[at.positions :])
    is_added = position_table.shape[0] > 0
    return _embed(a[0], (*given, is_added, real(a[at.scale :]), matrix(a[at.y :]), dropout(a[at.dropout :])))


NORMALIZE = fields(
    "normalize", x=MATRIX, gamma=VECTOR, beta=VECTOR, y=MATRIX, statistics=MATRIX, inside=NUMBER, epsilon=REAL
)  # inside: whether epsilon is inside the root


@indirect_kernel(_call_kinds)
def normalize(head_vectors: Any, a: Any) -> Any:
    at = NORMALIZE
    given = matrix(a[at.x :]), vector(a[at.gamma :]), vector(a[at.beta :]), matrix(a[at.y :])
    return _normalize(a[0], (*given, matrix(a[at.statistics :]), a[at.inside] != 0, real(a[at.epsilon :])))


ADD_NORMALIZE = fields(
    "add_normalize",
    update=MATRIX,
    residual=MATRIX,
    gamma=VECTOR,
    beta=VECTOR,
    total=MATRIX,
    y=MATRIX,
    statistics=MATRIX,
    inside=NUMBER,
    epsilon=REAL,
    dropout=DROPOUT,
)


@indirect_kernel(_call_kinds)
def add_normalize(head_vectors: Any, a: Any) -> Any:
    at = ADD_NORMALIZE
    given = matrix(a[at.update :]), matrix(a[at.residual :]), vector(a[at.gamma :]), vector(a[at.beta :])
    found = matrix(a[at.total :]), matrix(a[at.y :]), matrix(a[at.statistics :])
    settings = a[at.inside] != 0, real(a[at.epsilon :]), dropout(a[at.dropout :])
    return _add_normalize(a[0], (*given, *found, *settings))


NORMALIZE_BACKWARD = fields(
    "normalize_backward",
    dy=MATRIX,
    dtotal=MATRIX,
    total=MATRIX,
    gamma=VECTOR,
    statistics=MATRIX,
    dsum=MATRIX,
    dupdate=MATRIX,
    dgamma=VECTOR,
    dbeta=VECTOR,
    dropout=DROPOUT,
)


@indirect_kernel(_call_kinds)
def normalize_backward(head_vectors: Any, a: Any) -> Any:
    at = NORMALIZE_BACKWARD
    given = matrix(a[at.dy :]), matrix(a[at.dtotal :]), matrix(a[at.total :]), vector(a[at.gamma :])
    found = matrix(a[at.dsum :]), matrix(a[at.dupdate :]), vector(a[at.dgamma :]), vector(a[at.dbeta :])
    return _normalize_backward(a[0], (*given, matrix(a[at.statistics :]), *found, dropout(a[at.dropout :])))


ATTENTION = {
    "queries": COLUMNS,
    "keys_values": COLUMNS,
    "offsets": LABELS,
    "memory_offsets": LABELS,
    "heads": NUMBER,
    "causal": NUMBER,
    "scale": REAL,
    "bias": MATRIX,
    "out": VECTOR,
    "lse": MATRIX,
    "workspace": VECTOR,
    "long_kernel": NUMBER,  # address of the kernel for long sequences; 0: all are short
}
ATTEND = fields("attend", **ATTENTION)
ATTEND_BACKWARD = fields(
    "attend_backward", **ATTENTION, dout=VECTOR, dqueries=VECTOR, dkeys_values=VECTOR, dbias=MATRIX
)


@device_function
def attention_arguments(a: Any) -> Any:
    at = ATTEND
    spec = AttentionSpec(
        integers(a[at.offsets :]),
        integers(a[at.memory_offsets :]),
        a[at.heads],
        a[at.causal] != 0,
        real(a[at.scale :]),
        matrix(a[at.bias :]),
    )
    return columns(a[at.queries :]), columns(a[at.keys_values :]), spec, vector(a[at.out :]), matrix(a[at.lse :])


@indirect_kernel(_call_kinds)
def attend(head_vectors: Any, a: Any) -> Any:
    given, long_kernel = attention_arguments(a), a[ATTEND.long_kernel]
    done = _attend(a[0], (head_vectors, *given, vector(a[ATTEND.workspace :])))
    return _attend_long(long_kernel, (8 * len(head_vectors), *given)) if long_kernel != 0 and done == DONE else done


@indirect_kernel(_call_kinds)
def attend_backward(head_vectors: Any, a: Any) -> Any:
    at = ATTEND_BACKWARD
    dbias, long_kernel = matrix(a[at.dbias :]), a[at.long_kernel]
    dbias[:] = 0
    deltas = vector(a[at.dout :]), vector(a[at.dqueries :]), vector(a[at.dkeys_values :]), dbias
    given = *attention_arguments(a), *deltas
    done = _attend_backward(a[0], (head_vectors, *given, vector(a[at.workspace :])))
    is_long = long_kernel != 0 and done == DONE
    return _attend_long_backward(long_kernel, (8 * len(head_vectors), *given)) if is_long else done


ADD = fields("add", x=VECTOR, y=VECTOR, total=VECTOR)  # total = x + y, which may be one of them


@indirect_kernel(_call_kinds)
def add(head_vectors: Any, a: Any) -> Any:
    x, y, total = vector(a[ADD.x :]), vector(a[ADD.y :]), vector(a[ADD.total :])
    for i in range(total.size):
        total[i] = x[i] + y[i]
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
def addresses(name: str, vectors: int) -> tuple[int, int]:
    """The addresses of a call and of its kernel (0: none), for heads of 8 * vectors columns."""
    kernel_address = KERNELS[name].address(np.float32, vectors) if name in KERNELS else 0
    return CALLS[name].address(np.float32, vectors), kernel_address


@functools.cache
def long_addresses() -> dict[str, int]:
    """The addresses of the kernels for long sequences, by name; compiled when a batch first has one."""
    return {name: KERNELS[name].address(np.float32) for name in ("attend_long", "attend_long_backward")}


_call = add.call  # all have the same types


@kernel
def run(head_vectors: Any, addresses: Any, arguments: Any, starts: Any, first: Any, last: Any) -> Any:
    """Run the calls first to last - 1 of a tape; returns whether all succeeded."""
    release()
    ok = True
    for i in range(first, last):
        ok = ok and _call(addresses[i], (head_vectors, arguments[starts[i] : starts[i + 1]])) == DONE
    acquire()
    return ok
