"""Registers the recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.activations import CODES
from dragoman.engines.numba.gemm import blas
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.gemm.recurrent_gemm import addresses
from dragoman.engines.numba.kernels.linear import weights_derivative
from dragoman.engines.numba.ops.arguments import NO_NUMBERS, NO_ROWS, REAL, int64s, packed, standard
from dragoman.engines.numba.recurrent import gru as gru_kernels
from dragoman.engines.numba.recurrent import lstm as lstm_kernels
from dragoman.engines.numba.recurrent import rnn as rnn_kernels
from dragoman.engines.numba.recurrent.time_steps import states_before
from dragoman.graph import Array, DeferredGradient

ENGINE = "numba"


def _fits(blocks: int, x: Array, weights: Array, states: tuple[Array | None, ...], offsets: Array, cut: Any) -> bool:
    """Whether the kernels support these arguments. Invalid input falls back to the definition, which raises."""
    arrays = [array for array in (x, weights, *states) if array is not None]
    if blas.GEMM is None or weights.dtype not in REAL or any(array.dtype != weights.dtype for array in arrays):
        return False
    if weights.ndim != 2 or x.ndim != 2 or not weights.size or (cut is not None and cut < 1):
        return False
    if not packed(x, offsets):
        return False
    m = len(weights)
    if weights.shape[1] != blocks * m or x.shape[1] != blocks * m:
        return False
    return all(state is None or state.shape == (len(offsets) - 1, m) for state in states)


def _gemms(kind: Any, offsets: Array) -> tuple[int, int, int, int]:
    """The addresses of GEMM routines; weights are packed only if more than one time step uses them."""
    assert blas.GEMM is not None
    several = kind == np.float32 and np.diff(offsets).max(initial=0) > 1
    return blas.GEMM[kind], *(addresses() if several else (0, 0, 0))


def _or_empty(array: Array | None, kind: Any) -> Array:
    """A contiguous array, empty in place of None."""
    return NO_ROWS[kind] if array is None else standard(array)


def _like(array: Array | None, kind: Any) -> Array:
    return NO_ROWS[kind] if array is None else np.empty(array.shape, kind)


def _weights_derivative(
    h: Array, initial: Array, offsets: Array, reverse: bool, dx: Array, weights: Array
) -> DeferredGradient:
    """The transpose of the previous states times dx, computed when it is needed."""

    def write(out: Array, add: bool, *_: int) -> None:
        before = states_before(h, initial, offsets, reverse)
        weights_derivative(gemm_addresses(dx.dtype), before, 0, dx, 0, out, 0, out.shape[1], add)

    return DeferredGradient(weights.shape, weights.dtype, write, kept=dx.nbytes)


@operations.rnn.register(ENGINE)
def rnn(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    *,
    offsets: Array,
    activation: str = "tanh",
    reverse: bool = False,
    cut: int | None = None,
) -> Any:
    chosen = CODES.get(activation)
    if chosen is None or not _fits(1, x, weights, (initial,), offsets, cut):
        return NotImplemented
    kind, samples = x.dtype, len(offsets) - 1
    gemms, ends = _gemms(kind, offsets), int64s(offsets)
    steps, w, start = (ends, reverse, cut or 0), standard(weights), _or_empty(initial, kind)
    h, slopes, final = np.empty(x.shape, kind), np.empty(x.shape, kind), np.empty((samples, len(w)), kind)
    rnn_kernels.forward(gemms, standard(x), w, start, chosen, steps, h, final, slopes)

    def backward(dh: Array | None, dfinal: Array | None) -> tuple[Array, DeferredGradient, Array | None]:
        dx, dinitial = slopes, _like(initial, kind)
        deltas = _or_empty(dh, kind), _or_empty(dfinal, kind)
        rnn_kernels.backward(gemms, w, start, steps, dx, *deltas, dinitial)
        dweights = _weights_derivative(h, start, ends, reverse, dx, w)
        return dx, dweights, None if initial is None else dinitial

    return (h, final), backward


@operations.lstm.register(ENGINE)
def lstm(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    initial_cell: Array | None = None,
    *,
    offsets: Array,
    reverse: bool = False,
    cut: int | None = None,
) -> Any:
    if not _fits(4, x, weights, (initial, initial_cell), offsets, cut):
        return NotImplemented
    kind, m, samples = x.dtype, len(weights), len(offsets) - 1
    gemms, ends = _gemms(kind, offsets), int64s(offsets)
    steps, w = (ends, reverse, cut or 0), standard(weights)
    start = _or_empty(initial, kind), _or_empty(initial_cell, kind)
    h, c, gates = np.empty((len(x), m), kind), np.empty((len(x), m), kind), np.empty(x.shape, kind)
    final = np.empty((samples, m), kind), np.empty((samples, m), kind)
    lstm_kernels.forward(gemms, standard(x), w, start, steps, (h, c), final, gates)

    def backward(
        dh: Array | None, dc: Array | None, dfinal: Array | None, dfinal_cell: Array | None
    ) -> tuple[Array, DeferredGradient, Array | None, Array | None]:
        dstates = _or_empty(dh, kind), _or_empty(dc, kind)
        dends = _or_empty(dfinal, kind), _or_empty(dfinal_cell, kind)
        dinitial, dcell = _like(initial, kind), _like(initial_cell, kind)
        lstm_kernels.backward(gemms, w, start, steps, c, gates, dstates, dends, (dinitial, dcell))
        dx = gates
        dweights = _weights_derivative(h, start[0], ends, reverse, dx, w)
        return dx, dweights, None if initial is None else dinitial, None if initial_cell is None else dcell

    return (h, c, *final), backward


@operations.gru.register(ENGINE)
def gru(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    biases: Array | None = None,
    *,
    offsets: Array,
    reverse: bool = False,
    cut: int | None = None,
) -> Any:
    if not _fits(3, x, weights, (initial,), offsets, cut) or not _biases_fit(biases, weights):
        return NotImplemented
    kind, m, after = x.dtype, len(weights), biases is not None
    gemms, ends = _gemms(kind, offsets), int64s(offsets)
    steps, w, start = (ends, reverse, cut or 0), standard(weights), _or_empty(initial, kind)
    b = NO_NUMBERS[kind] if biases is None else standard(biases)
    h, reached, gates = np.empty((len(x), m), kind), np.empty((len(x), m), kind), np.empty(x.shape, kind)
    saved, final = (h, gates, reached), np.empty((len(offsets) - 1, m), kind)
    gru_kernels.forward(gemms, standard(x), w, start, b, steps, final, saved)

    def backward(dh: Array | None, dfinal: Array | None) -> tuple[Array, DeferredGradient, Array | None, Array | None]:
        dx, dinitial, dbiases = gates, _like(initial, kind), np.empty_like(b)
        deltas = _or_empty(dh, kind), _or_empty(dfinal, kind)
        gru_kernels.backward(gemms, w, start, b, steps, saved, *deltas, dinitial, dbiases)

        def write(out: Array, add: bool, *_: int) -> None:
            before, way = states_before(h, start, ends, reverse), gemm_addresses(kind)
            weights_derivative(way, before, 0, dx, 0, out, 0, 2 * m, add)
            if after:  # reached now holds its own derivative
                weights_derivative(way, before, 0, reached, 0, out, 2 * m, m, add)
            else:
                weights_derivative(way, reached, 0, dx, 2 * m, out, 2 * m, m, add)

        dweights = DeferredGradient(w.shape, kind, write, kept=dx.nbytes)
        return dx, dweights, None if initial is None else dinitial, dbiases if after else None

    return (h, final), backward


def _biases_fit(biases: Array | None, weights: Array) -> bool:
    return biases is None or (biases.dtype == weights.dtype and biases.shape == weights.shape[:1])
