"""Writes the kernel calls of the encoder or decoder stack of networks.transformer, forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.engines import transformer_spec as columns
from dragoman.engines.activations import GELU, IDENTITY
from dragoman.engines.numba.fused_step.tape import SIZE, Matrix, Tape, constant, symbol
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.transformer_spec import ABSENT, ModelSpec
from dragoman.graph import Array

NO_MATRIX = Matrix(constant(0), constant(0), 1)
NO_VECTOR = [constant(0), constant(0)]


class Product(NamedTuple):
    """The derivative of a weight matrix, still to be computed: x' dc."""

    start: int  # of the parameter in theta
    x: Matrix
    dc: Matrix


class Sum(NamedTuple):
    """The derivative of a vector or of the relative bias, computed by the run itself."""

    start: int
    found: Matrix
    vector: bool


class LayerStack:
    """The encoders, or the decoders that attend to their output (`memory`).

    `forward` and `backward` append calls to the tape; `products` and `sums` list the derivatives in the order in which
    they are computed. Intermediate results have buffers, which are released after they are read for the last time;
    those in `products` and `sums` stay until the step is over.
    """

    def __init__(self, tape: Tape, spec: ModelSpec, rate: float, sites: Array, memory: Matrix | None = None) -> None:
        self.tape, self.spec, self.memory = tape, spec, memory
        self.is_decoder = memory is not None
        self.rows = symbol("n" if self.is_decoder else "m")
        self.offsets = _offsets("offsets" if self.is_decoder else "source_offsets")
        self.layers = spec.decoders if self.is_decoder else spec.encoders
        self.kinds = ("own", "cross", "feed_forward") if self.is_decoder else ("own", "feed_forward")
        self.sites, self.rate = sites.tolist(), rate
        self.products: list[Product] = []
        self.sums: list[Sum] = []
        count, d = len(self.layers) * len(self.kinds), spec.depth
        self.x = [self._buffer(d) for _ in range(count + 1)]  # inputs of the sub-layers, then the output of the stack
        self.totals = [self._buffer(d) for _ in range(count + 1)]
        self.statistics = [self._buffer(3) for _ in range(count + 1)]
        self.kept: list[dict[str, Matrix]] = [{} for _ in range(count)]  # intermediate results of each sub-layer
        self.update = self._buffer(d)

    def _buffer(self, columns: int) -> Matrix:
        return self.tape.buffer(self.rows, columns)

    # Parameters

    def _matrix(self, start: int, rows: int, columns: int) -> Matrix:
        return Matrix(_in_theta(start), constant(rows), columns)

    def _vector(self, start: int, size: int) -> list[Array]:
        return NO_VECTOR if start == ABSENT else [_in_theta(start), constant(size)]

    def _dvector(self, start: int, size: int) -> list[Array]:
        """A buffer for the derivative of a vector."""
        if start == ABSENT:
            return NO_VECTOR
        found = self.tape.buffer(constant(1), size)
        self.sums.append(Sum(start, found, True))
        return found.flat

    def _normalization(self, s: int) -> tuple[int, int]:
        """The starts of gamma and beta of normalization s; the last one is the stack's own (pre-norm)."""
        if s == len(self.kept):
            row, column = self.spec.ends, columns.DECODED if self.is_decoder else columns.ENCODED
        else:
            starts = {
                "own": columns.NORMALIZATION,
                "cross": columns.CROSS_NORMALIZATION,
                "feed_forward": columns.LAST_NORMALIZATION,
            }
            row, column = self.layers[s // len(self.kinds)], starts[self.kinds[s % len(self.kinds)]]
        return int(row[column]), int(row[column + 1])

    def _drop(self, site: int, update: bool = True) -> list[Any]:
        first_row = symbol("first_row" if self.is_decoder else "source_row")
        threshold = int(np.uint32(self.rate * 2**32))
        return [int(update and self.rate > 0), symbol("key"), constant(site), first_row, constant(threshold)]

    @property
    def _scale(self) -> float:
        return 1 / (1 - self.rate)

    # Forward

    def forward(self) -> Matrix:
        """From labels to the output of the stack."""
        pre = self.spec.pre
        self._embed(self.totals[0] if pre else self.x[0])
        for s in range(len(self.kept)):
            if pre:
                self._normalize(s, None if s == 0 else self.totals[s - 1], self.x[s])
            self._sublayer(s)
            if not pre:
                self._normalize(s, self.x[s], self.x[s + 1])
        if pre:
            self._normalize(len(self.kept), self.totals[-2], self.x[-1])
        return self.x[-1]

    def _embed(self, y: Matrix) -> None:
        spec, source = self.spec, "" if self.is_decoder else "source_"
        table = columns.REFERENCE_TABLE if self.is_decoder else columns.SOURCE_TABLE
        size = spec.vocabulary if self.is_decoder else spec.source_vocabulary
        weights = self._matrix(int(spec.ends[table]), size, spec.depth)
        added = Matrix(symbol(f"{source}added"), symbol(f"{source}added_rows"), spec.depth)
        labels, drop = [symbol(f"{source}labels"), self.rows], self._drop(self.sites[-1])
        arguments = weights, labels, added, self.offsets, int(spec.positioned), y, drop
        self.tape.call("embed", *arguments, floats=(spec.scale, self._scale))

    def _normalize(self, s: int, residual: Matrix | None, y: Matrix) -> None:
        """y = N(residual + update); without a residual (the first normalization of pre-norm), y = N(total)"""
        spec, total, statistics = self.spec, self.totals[s], self.statistics[s]
        scale = [self._vector(start, spec.depth) for start in self._normalization(s)]
        if residual is None:
            arguments = total, *scale, y, statistics, int(not spec.outside)
            self.tape.call("normalize", *arguments, floats=(spec.epsilon,))
            return
        arguments = (
            self.update,
            residual,
            *scale,
            total,
            y,
            statistics,
            int(not spec.outside),
            self._drop(self.sites[s]),
        )
        self.tape.call("add_normalize", *arguments, floats=(spec.epsilon, self._scale))

    def _sublayer(self, s: int) -> None:
        row, kept = self._row(s), self.kept[s]
        d, h, f, x = self.spec.depth, self.spec.heads, self.spec.hidden, self.x[s]
        kind = self.kinds[s % len(self.kinds)]
        if kind == "feed_forward":
            kept["c"] = self._buffer(f)
            kept["hidden"] = self._buffer(f) if self.spec.activation == GELU else kept["c"]
            self._multiply(row, columns.HIDDEN, x, kept["c"], kept["hidden"], self.spec.activation)
            self._multiply(row, columns.OUTPUT, kept["hidden"], self.update)
            return
        if kind == "own":
            kept["q"] = kept["k"] = self._buffer(3 * d)
            self._multiply(row, columns.ATTENTION, x, kept["q"])
        else:
            assert self.memory is not None
            kept["q"], kept["k"] = self._buffer(d), self.tape.buffer(self.memory.rows, 2 * d)
            self._multiply(row, columns.CROSS_QUERY, x, kept["q"])
            self._multiply(row, columns.CROSS, self.memory, kept["k"])
        kept["seen"], kept["lse"] = self._buffer(d), self._buffer(h)
        self.tape.call("attend", *self._attention(s), self._work(2), symbol("attend_long"), floats=(self._factor,))
        projection = columns.PROJECTION if kind == "own" else columns.CROSS_PROJECTION
        self._multiply(row, projection, kept["seen"], self.update)

    def _row(self, s: int) -> list[int]:
        """The starts of the parameters of the layer of sub-layer s."""
        row: list[int] = self.layers[s // len(self.kinds)].tolist()
        return row

    def _multiply(
        self, row: list[int], which: Any, x: Matrix, c: Matrix, y: Matrix | None = None, activation: int = IDENTITY
    ) -> None:
        weights, biases = self._matrix(row[which], x.columns, c.columns), self._vector(row[which + 1], c.columns)
        self.tape.call("linear", *_gemms(), x, weights, biases, activation, c, c if y is None else y)

    @property
    def _factor(self) -> float:
        return float((self.spec.depth // self.spec.heads) ** -0.5)

    def _work(self, width: int) -> list[Array]:
        """The workspace of attention, as kernels.attention.simd takes it."""
        size = width * self.spec.depth // self.spec.heads + width // 2
        return [symbol("attention_work"), symbol("longest") * size]

    def _attention(self, s: int) -> list[Any]:
        """The arguments of attention, forward and backward."""
        kept, d, own = self.kept[s], self.spec.depth, self.kinds[s % len(self.kinds)] == "own"
        others = self.offsets if own else _offsets("source_offsets")
        causal = int(own and self.is_decoder)
        given = [kept["q"].flat, 0, kept["q"].columns, kept["k"].flat, d if own else 0, kept["k"].columns]
        outcome = [kept["seen"].flat, kept["lse"]]
        return [*given, self.offsets, others, self.spec.heads, causal, self._distances(s, own), *outcome]

    def _distances(self, s: int, own: bool) -> Matrix:
        start = self._row(s)[columns.DISTANCES] if own else ABSENT
        return NO_MATRIX if start == ABSENT else self._matrix(int(start), self.spec.heads, 2 * self.spec.reach + 1)

    # Backward

    def backward(self, dy: Matrix, dmemory: Matrix | None = None) -> Matrix:
        """From the delta of the stack's output to that of its embedding; the memory's delta is added to dmemory."""
        d, pre, count = self.spec.depth, self.spec.pre, len(self.kept)
        spare, other, dx, dupdate = self._buffer(d), self._buffer(d), self._buffer(d), self._buffer(d)
        chain = dy
        if pre:
            chain = self._normalize_backward(count, dy, NO_MATRIX, dupdate, spare)
        for s in range(count - 1, -1, -1):
            if not pre:
                chain = self._normalize_backward(s, dy, NO_MATRIX, dupdate, spare)
            self._sublayer_backward(s, dupdate, dx, dmemory)
            dupdate = self._buffer(d) if s else NO_MATRIX
            if pre:
                spare, other = other, spare  # the delta so far is still being read
                chain = self._normalize_backward(s, dx, chain, dupdate, spare)
            else:
                self.tape.call("add", dx.flat, chain.flat)
                dy = dx
        return chain if pre else dx

    def _normalize_backward(self, s: int, dy: Matrix, more: Matrix, dupdate: Matrix, spare: Matrix) -> Matrix:
        """The delta of residual sum s, plus `more`, and of its update if it has one."""
        spec, (gamma, beta) = self.spec, self._normalization(s)
        dropped = dupdate is not NO_MATRIX and self.rate > 0
        dsum = spare if dropped or dupdate is NO_MATRIX else dupdate
        scale = [self._vector(gamma, spec.depth), self.statistics[s], dsum, dupdate if dropped else NO_MATRIX]
        found = [self._dvector(start, spec.depth) for start in (gamma, beta)]
        drop = self._drop(self.sites[s], dropped)
        self.tape.call("normalize_backward", dy, more, self.totals[s], *scale, *found, drop, floats=(self._scale,))
        self.tape.release(self.totals[s])
        return dsum

    def _sublayer_backward(self, s: int, dupdate: Matrix, dx: Matrix, dmemory: Matrix | None) -> None:
        row, kept, x, own = self._row(s), self.kept[s], self.x[s], self.kinds[s % len(self.kinds)] == "own"
        if "hidden" in kept:
            dc, identity = self._buffer(self.spec.hidden), self.spec.activation == IDENTITY
            dhidden = dc if identity else self._buffer(self.spec.hidden)
            self._multiply_backward(row, columns.OUTPUT, kept["hidden"], dupdate, dhidden)
            self._multiply_backward(row, columns.HIDDEN, x, dc, dx, dhidden, kept["c"])
            if dhidden is not dc:
                self.tape.release(dhidden)
            if kept["c"] is not kept["hidden"]:
                self.tape.release(kept["c"])
            return
        projection = columns.PROJECTION if own else columns.CROSS_PROJECTION
        dseen, dq = self.update, self._buffer(kept["q"].columns)
        dk = dq if own else self.tape.buffer(kept["k"].rows, kept["k"].columns)
        self._multiply_backward(row, projection, kept["seen"], dupdate, dseen)
        distances, dbias = self._distances(s, own), NO_MATRIX
        if distances is not NO_MATRIX:
            dbias = self.tape.buffer(distances.rows, distances.columns)
            self.sums.append(Sum(row[columns.DISTANCES], dbias, False))
        deltas = dseen.flat, dq.flat, dk.flat, dbias
        given = *self._attention(s), self._work(4), *deltas, symbol("attend_long_backward")
        self.tape.call("attend_backward", *given, floats=(self._factor,))
        self.tape.release(kept["q"])
        if own:
            self._multiply_backward(row, columns.ATTENTION, x, dq, dx)
            return
        self.tape.release(kept["k"])
        assert self.memory is not None
        assert dmemory is not None
        self._multiply_backward(row, columns.CROSS_QUERY, x, dq, dx)
        dread = self.tape.buffer(self.memory.rows, self.memory.columns)
        self._multiply_backward(row, columns.CROSS, self.memory, dk, dread)
        self.tape.call("add", dmemory.flat, dread.flat)
        self.tape.release(dread)

    def _multiply_backward(
        self,
        row: list[int],
        which: Any,
        x: Matrix,
        dc: Matrix,
        dx: Matrix,
        dy: Matrix | None = None,
        c: Matrix | None = None,
    ) -> None:
        """dx and, if the layer has an activation, dc from dy; the derivative of the weights is listed for later."""
        weights, dbiases = self._matrix(row[which], x.columns, dc.columns), self._dvector(row[which + 1], dc.columns)
        activation = IDENTITY if c is None else self.spec.activation
        given = dc if dy is None else dy, weights, activation, dc if c is None else c
        self.tape.call("linear_backward", *_gemms(), *given, dc, dbiases, dx)
        self.products.append(Product(row[which], x, dc))


def _in_theta(start: int) -> Array:
    return symbol("theta") + constant(SIZE * start)


def _offsets(name: str) -> list[Array]:
    return [symbol(name), symbol("sequences") + constant(1)]


def _gemms() -> tuple[int, int]:
    return gemm_addresses(np.dtype(np.float32))
