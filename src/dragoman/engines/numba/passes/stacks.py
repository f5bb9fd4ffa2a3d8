"""The steps through the encoders or the decoders of a Transformer, and back (networks.transformer)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.linear import GELU, IDENTITY
from dragoman.engines.numba.passes.tape import SIZE, Matrix, Tape, known, told
from dragoman.engines.numba.products import products_of
from dragoman.graph import Array
from dragoman.operations import fused_search
from dragoman.operations.fused_search import ABSENT, ModelSpec

NOWHERE = Matrix(known(0), known(0), 1)
NO_VECTOR = [known(0), known(0)]


class Product(NamedTuple):
    """What the derivative of a matrix is made of: x' dc."""

    start: int  # of the parameter in theta
    x: Matrix
    dc: Matrix


class Sum(NamedTuple):
    """The derivative of a vector, or of the bias of distances, which is there when the pass is."""

    start: int
    found: Matrix
    vector: bool


class Stack:
    """Encoders, or decoders that look at the memory the encoders leave.

    `forward` and `backward` write their steps; `products` and `sums` tell of the derivatives, in the order in which
    they are found. What is kept between forward and backward lies in rooms of its own, which others take over once it
    has been read for the last time; what `products` and `sums` tell of stays until the pass is over.
    """

    def __init__(self, tape: Tape, flat: ModelSpec, rate: float, sites: Array, memory: Matrix | None = None) -> None:
        self.tape, self.flat, self.memory = tape, flat, memory
        self.fused_search = memory is not None
        self.rows = told("n" if self.fused_search else "m")
        self.offsets = _offsets("offsets" if self.fused_search else "source_offsets")
        self.layers = flat.decoders if self.fused_search else flat.encoders
        self.kinds = ("own", "across", "perceptrons") if self.fused_search else ("own", "perceptrons")
        self.sites, self.rate = sites.tolist(), rate
        self.products: list[Product] = []
        self.sums: list[Sum] = []
        count, d = len(self.layers) * len(self.kinds), flat.depth
        self.x = [self._room(d) for _ in range(count + 1)]  # what each sub-layer reads; the last is handed on
        self.totals = [self._room(d) for _ in range(count + 1)]
        self.statistics = [self._room(3) for _ in range(count + 1)]
        self.kept: list[dict[str, Matrix]] = [{} for _ in range(count)]  # of each sub-layer
        self.update = self._room(d)

    def _room(self, columns: int) -> Matrix:
        return self.tape.room(self.rows, columns)

    # Parameters

    def _matrix(self, start: int, rows: int, columns: int) -> Matrix:
        return Matrix(_in_theta(start), known(rows), columns)

    def _vector(self, start: int, size: int) -> list[Array]:
        return NO_VECTOR if start == ABSENT else [_in_theta(start), known(size)]

    def _dvector(self, start: int, size: int) -> list[Array]:
        """Where its derivative goes."""
        if start == ABSENT:
            return NO_VECTOR
        found = self.tape.room(known(1), size)
        self.sums.append(Sum(start, found, True))
        return found.flat

    def _normalization(self, s: int) -> tuple[int, int]:
        """Where gamma and beta of normalization s begin; the last is the stack's own (pre-norm)."""
        if s == len(self.kept):
            row, column = self.flat.ends, fused_search.DECODED if self.fused_search else fused_search.ENCODED
        else:
            columns = {
                "own": fused_search.NORMALIZATION,
                "across": fused_search.CROSS_NORMALIZATION,
                "perceptrons": fused_search.LAST_NORMALIZATION,
            }
            row, column = self.layers[s // len(self.kinds)], columns[self.kinds[s % len(self.kinds)]]
        return int(row[column]), int(row[column + 1])

    def _drop(self, site: int, update: bool = True) -> list[Any]:
        first_row = told("first_row" if self.fused_search else "source_row")
        threshold = int(np.uint32(self.rate * 2**32))
        return [int(update and self.rate > 0), told("key"), known(site), first_row, known(threshold)]

    @property
    def _scale(self) -> float:
        return 1 / (1 - self.rate)

    # Forward

    def forward(self) -> Matrix:
        """From labels to what is handed on."""
        pre = self.flat.pre
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
        flat, source = self.flat, "" if self.fused_search else "source_"
        table = fused_search.REFERENCE_TABLE if self.fused_search else fused_search.SOURCE_TABLE
        size = flat.vocabulary if self.fused_search else flat.source_vocabulary
        weights = self._matrix(int(flat.ends[table]), size, flat.depth)
        added = Matrix(told(f"{source}added"), told(f"{source}added_rows"), flat.depth)
        labels, drop = [told(f"{source}labels"), self.rows], self._drop(self.sites[-1])
        words = weights, labels, added, self.offsets, int(flat.positioned), y, drop
        self.tape.step("look_up", *words, floats=(flat.scale, self._scale))

    def _normalize(self, s: int, residual: Matrix | None, y: Matrix) -> None:
        """y = N(residual + update); of the first sum of pre-norm, which has no update, y = N(total)"""
        flat, total, statistics = self.flat, self.totals[s], self.statistics[s]
        scale = [self._vector(start, flat.depth) for start in self._normalization(s)]
        if residual is None:
            words = total, *scale, y, statistics, int(not flat.outside)
            self.tape.step("normalize", *words, floats=(flat.epsilon,))
            return
        words = self.update, residual, *scale, total, y, statistics, int(not flat.outside), self._drop(self.sites[s])
        self.tape.step("add_normalize", *words, floats=(flat.epsilon, self._scale))

    def _sublayer(self, s: int) -> None:
        row, kept = self._row(s), self.kept[s]
        d, h, f, x = self.flat.depth, self.flat.heads, self.flat.hidden, self.x[s]
        kind = self.kinds[s % len(self.kinds)]
        if kind == "perceptrons":
            kept["c"] = self._room(f)
            kept["hidden"] = self._room(f) if self.flat.activation == GELU else kept["c"]
            self._multiply(row, fused_search.HIDDEN, x, kept["c"], kept["hidden"], self.flat.activation)
            self._multiply(row, fused_search.OUTPUT, kept["hidden"], self.update)
            return
        if kind == "own":
            kept["q"] = kept["k"] = self._room(3 * d)
            self._multiply(row, fused_search.ATTENTION, x, kept["q"])
        else:
            assert self.memory is not None
            kept["q"], kept["k"] = self._room(d), self.tape.room(self.memory.rows, 2 * d)
            self._multiply(row, fused_search.CROSS_QUERY, x, kept["q"])
            self._multiply(row, fused_search.CROSS, self.memory, kept["k"])
        kept["seen"], kept["lse"] = self._room(d), self._room(h)
        self.tape.step("attend", *self._look(s), self._work(2), floats=(self._factor,))
        projection = fused_search.PROJECTION if kind == "own" else fused_search.CROSS_PROJECTION
        self._multiply(row, projection, kept["seen"], self.update)

    def _row(self, s: int) -> list[int]:
        """Where the parameters of its layer begin."""
        row: list[int] = self.layers[s // len(self.kinds)].tolist()
        return row

    def _multiply(
        self, row: list[int], which: Any, x: Matrix, c: Matrix, y: Matrix | None = None, activation: int = IDENTITY
    ) -> None:
        weights, biases = self._matrix(row[which], x.columns, c.columns), self._vector(row[which + 1], c.columns)
        self.tape.step("apply", *_products(), x, weights, biases, activation, c, c if y is None else y)

    @property
    def _factor(self) -> float:
        return float((self.flat.depth // self.flat.heads) ** -0.5)

    def _work(self, width: int) -> list[Array]:
        """Room for attention, as wide_attention takes it."""
        size = width * self.flat.depth // self.flat.heads + width // 2
        return [told("look"), told("longest") * size]

    def _look(self, s: int) -> list[Any]:
        """What attention is told, forward and backward."""
        kept, d, own = self.kept[s], self.flat.depth, self.kinds[s % len(self.kinds)] == "own"
        columns = (0, 3 * d, d, 2 * d) if own else (0, 2 * d, 0, d)
        first, width, keys, values = columns
        others = self.offsets if own else _offsets("source_offsets")
        causal = int(own and self.fused_search)
        given = [kept["q"].flat, kept["q"].columns, first, kept["k"].flat, width, keys, values]
        outcome = [kept["seen"].flat, kept["lse"]]
        return [*given, self.offsets, others, self.flat.heads, causal, self._distances(s, own), *outcome]

    def _distances(self, s: int, own: bool) -> Matrix:
        start = self._row(s)[fused_search.DISTANCES] if own else ABSENT
        return NOWHERE if start == ABSENT else self._matrix(int(start), self.flat.heads, 2 * self.flat.reach + 1)

    # Backward

    def backward(self, dy: Matrix, dmemory: Matrix | None = None) -> Matrix:
        """From the delta of what is handed on to that of what was embedded; dmemory gets that of the memory."""
        d, pre, count = self.flat.depth, self.flat.pre, len(self.kept)
        spare, other, dx, dupdate = self._room(d), self._room(d), self._room(d), self._room(d)
        chain = dy
        if pre:
            chain = self._normalize_backward(count, dy, NOWHERE, dupdate, spare)
        for s in range(count - 1, -1, -1):
            if not pre:
                chain = self._normalize_backward(s, dy, NOWHERE, dupdate, spare)
            self._sublayer_backward(s, dupdate, dx, dmemory)
            dupdate = self._room(d) if s else NOWHERE
            if pre:
                spare, other = other, spare  # the delta so far is being read
                chain = self._normalize_backward(s, dx, chain, dupdate, spare)
            else:
                self.tape.step("add", dx.flat, chain.flat)
                dy = dx
        return chain if pre else dx

    def _normalize_backward(self, s: int, dy: Matrix, more: Matrix, dupdate: Matrix, spare: Matrix) -> Matrix:
        """The delta of sum s, to which `more` is added; of its update too, unless it has none."""
        flat, (gamma, beta) = self.flat, self._normalization(s)
        dropped = dupdate is not NOWHERE and self.rate > 0
        dsum = spare if dropped or dupdate is NOWHERE else dupdate
        scale = [self._vector(gamma, flat.depth), self.statistics[s], dsum, dupdate if dropped else NOWHERE]
        found = [self._dvector(start, flat.depth) for start in (gamma, beta)]
        drop = self._drop(self.sites[s], dropped)
        self.tape.step("normalize_backward", dy, more, self.totals[s], *scale, *found, drop, floats=(self._scale,))
        self.tape.release(self.totals[s])
        return dsum

    def _sublayer_backward(self, s: int, dupdate: Matrix, dx: Matrix, dmemory: Matrix | None) -> None:
        row, kept, x, own = self._row(s), self.kept[s], self.x[s], self.kinds[s % len(self.kinds)] == "own"
        if "hidden" in kept:
            dc, identity = self._room(self.flat.hidden), self.flat.activation == IDENTITY
            dhidden = dc if identity else self._room(self.flat.hidden)
            self._multiply_backward(row, fused_search.OUTPUT, kept["hidden"], dupdate, dhidden)
            self._multiply_backward(row, fused_search.HIDDEN, x, dc, dx, dhidden, kept["c"])
            if dhidden is not dc:
                self.tape.release(dhidden)
            if kept["c"] is not kept["hidden"]:
                self.tape.release(kept["c"])
            return
        projection = fused_search.PROJECTION if own else fused_search.CROSS_PROJECTION
        dseen, dq = self.update, self._room(kept["q"].columns)
        dk = dq if own else self.tape.room(kept["k"].rows, kept["k"].columns)
        self._multiply_backward(row, projection, kept["seen"], dupdate, dseen)
        distances, dbias = self._distances(s, own), NOWHERE
        if distances is not NOWHERE:
            dbias = self.tape.room(distances.rows, distances.columns)
            self.sums.append(Sum(row[fused_search.DISTANCES], dbias, False))
        deltas = dseen.flat, dq.flat, dk.flat, dbias
        self.tape.step("attend_backward", *self._look(s), self._work(4), *deltas, floats=(self._factor,))
        self.tape.release(kept["q"])
        if own:
            self._multiply_backward(row, fused_search.ATTENTION, x, dq, dx)
            return
        self.tape.release(kept["k"])
        assert self.memory is not None
        assert dmemory is not None
        self._multiply_backward(row, fused_search.CROSS_QUERY, x, dq, dx)
        dread = self.tape.room(self.memory.rows, self.memory.columns)
        self._multiply_backward(row, fused_search.CROSS, self.memory, dk, dread)
        self.tape.step("add", dmemory.flat, dread.flat)
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
        """dx and, where the layer has an activation, dc from dy; what else is to be found is noted."""
        weights, dbiases = self._matrix(row[which], x.columns, dc.columns), self._dvector(row[which + 1], dc.columns)
        activation = IDENTITY if c is None else self.flat.activation
        given = dc if dy is None else dy, weights, activation, dc if c is None else c
        self.tape.step("apply_backward", *_products(), *given, dc, dbiases, dx)
        self.products.append(Product(row[which], x, dc))


def _in_theta(start: int) -> Array:
    return told("theta") + known(SIZE * start)


def _offsets(name: str) -> list[Array]:
    return [told(name), told("sequences") + known(1)]


def _products() -> tuple[int, int]:
    return products_of(np.dtype(np.float32))
