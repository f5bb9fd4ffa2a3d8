"""One class per operation: what its kernel covers, and its calls forward and backward.

`shapes` refuses what is not covered, so an operation, an option or a value that is not named here is never left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dragoman.engines.activations import CODES, GELU, IDENTITY, IN_LINEAR
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.ops.dense import scatter_writer, weights_derivative
from dragoman.engines.numba.programs.fields import Columns, Matrix
from dragoman.engines.numba.programs.writer import Check, Writer
from dragoman.engines.tracing import Node, SymbolicDropout
from dragoman.graph import DeferredGradient, Parameter, Size, Symbol

SINGLE = np.dtype(np.float32)
Shapes = list[tuple[Any, ...]]
KERNELS: dict[str, Kernel] = {}


class Kernel(ABC):
    """How a program computes an operation. `shapes` is that of tracing.Kernel."""

    options: frozenset[str] = frozenset()

    @abstractmethod
    def shapes(self, node: Node) -> Shapes: ...

    @abstractmethod
    def forward(self, w: Writer, node: Node) -> Any:
        """Write the calls of the forward pass; returns what `backward` needs."""

    @abstractmethod
    def backward(self, w: Writer, node: Node, kept: Any, deltas: list[Matrix | None]) -> None:
        """Write the calls of the backward pass, and note the derivatives of parameters."""


def kernel(name: str, *options: str) -> Any:
    def register(cls: type[Kernel]) -> type[Kernel]:
        cls.options = frozenset(options)
        KERNELS[name] = cls()
        return cls

    return register


def check_matrix(node: Node, x: Any, what: str, columns: int | None = None) -> Any:
    """Refuse an input that is not a float32 matrix; returns its shape."""
    shape, dtype = getattr(x, "shape", None), x.value.dtype if isinstance(x, Parameter) else getattr(x, "dtype", None)
    if shape is None or len(shape) != 2 or dtype != SINGLE:
        raise node.refuse(f"'{what}' is not a float32 matrix")
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        raise node.refuse(f"'{what}' is not contiguous")
    if columns is not None and shape[1] != columns:
        raise node.refuse(f"'{what}' has {shape[1]} columns, not {columns}")
    return shape


def check_rows(node: Node, x: Any, what: str, columns: int | None = None) -> Any:
    """Refuse an input that is not a float32 matrix, or is a parameter; returns its shape."""
    if isinstance(x, Parameter):
        raise node.refuse(f"'{what}' is a parameter")
    return check_matrix(node, x, what, columns)


def check_vector(node: Node, x: Any, what: str, size: int) -> None:
    if x is not None and (not isinstance(x, Parameter) or x.shape != (size,) or x.value.dtype != SINGLE):
        raise node.refuse(f"'{what}' is not a float32 parameter of shape ({size},)")


def check_integers(node: Node, what: str) -> Symbol:
    found = node.options.get(what)
    if not isinstance(found, Symbol) or len(found.shape) != 1 or found.dtype.kind not in "iu":
        raise node.refuse(f"'{what}' is not an array of integers of the batch")
    return found


@kernel("linear", "activation", "transposed")
class Linear(Kernel):
    def shapes(self, node: Node) -> Shapes:
        rows, inputs = check_rows(node, node.input(0), "x")
        weights, activation = node.input(1), node.options.get("activation", "identity")
        if not isinstance(weights, Parameter) or node.options.get("transposed", False):
            raise node.refuse("the weights are not a parameter, or are transposed")
        outputs = check_matrix(node, weights, "weights")[1]
        if weights.shape[0] != inputs:
            raise node.refuse(f"{inputs} columns for weights of shape {weights.shape}")
        check_vector(node, node.input(2), "biases", outputs)
        if activation not in IN_LINEAR:
            raise node.refuse(f"there is no kernel for activation = '{activation}'")
        if activation != "identity" and node.input(2) is None:
            raise node.refuse("there is no kernel for an activation without biases")
        return [(rows, outputs)]

    def forward(self, w: Writer, node: Node) -> Matrix:
        x, weights, (y,), activation = w.matrix(node.inputs[0]), node.inputs[1], node.outputs, self._activation(node)
        c = w.buffer(*y.shape)
        w.call(
            "linear",
            gemms=_gemms(),
            x=x,
            weights=w.matrix(weights),
            biases=w.optional(node.input(2)),
            activation=activation,
            c=c,
            y=w.output(y, w.buffer(*y.shape) if activation == GELU else c),
        )
        return c

    def backward(self, w: Writer, node: Node, kept: Matrix, deltas: list[Matrix | None]) -> None:
        x, weights, biases, activation = w.matrix(node.inputs[0]), node.inputs[1], node.input(2), self._activation(node)
        (dy,) = deltas
        assert dy is not None
        dc = dy if activation == IDENTITY else w.buffer(dy.rows, dy.columns)
        dx, dbiases, shape = w.buffer(x.rows, x.columns), w.sums(biases), weights.shape
        x.kept = dc.kept = True
        w.call(
            "linear_backward",
            gemms=_gemms(),
            dy=dy,
            weights=w.matrix(weights),
            activation=activation,
            c=dc if activation == IDENTITY else kept,
            dc=dc,
            dbiases=dbiases,
            dx=dx,
        )
        w.derivative(weights, lambda run: weights_derivative(_gemms(), run.array(x), run.array(dc), shape, False))
        w.summed(biases, dbiases)
        w.add_delta(node.inputs[0], dx)

    @staticmethod
    def _activation(node: Node) -> int:
        return CODES[node.options.get("activation", "identity")]


class Normalizing(Kernel):
    """What `normalize` and `add_normalize` share."""

    def _check(self, node: Node, columns: int, first: int) -> None:
        for i, what in ((first, "gamma"), (first + 1, "beta")):
            if node.input(i) is None:
                raise node.refuse(f"'{what}' is missing")
            check_vector(node, node.input(i), what, columns)
        if node.options.get("form", "inside") not in ("inside", "outside"):
            raise node.refuse(f"there is no kernel for form = '{node.options['form']}'")
        if node.options.get("epsilon", 1e-5) <= 0:
            raise node.refuse("the kernel needs an epsilon above 0")

    def _settings(self, node: Node) -> tuple[int, float]:
        return int(node.options.get("form", "inside") == "inside"), node.options.get("epsilon", 1e-5)

    def _differentiate(
        self, w: Writer, node: Node, first: int, dy: Matrix, dtotal: Matrix | None, total: Matrix, statistics: Matrix
    ) -> tuple[Matrix, Matrix]:
        """The deltas of the update and of the sum."""
        (gamma, beta), dropout = node.inputs[first : first + 2], node.options.get("dropout")
        dsum = w.buffer(total.rows, total.columns)
        dupdate = None if dropout is None else w.buffer(total.rows, total.columns)
        dgamma, dbeta = w.sums(gamma), w.sums(beta)
        w.call(
            "normalize_backward",
            dy=dy,
            dtotal=dtotal,
            total=total,
            gamma=w.matrix(gamma),
            statistics=statistics,
            dsum=dsum,
            dupdate=dupdate,
            dgamma=dgamma,
            dbeta=dbeta,
            dropout=dropout,
        )
        w.summed(gamma, dgamma)
        w.summed(beta, dbeta)
        return dupdate or dsum, dsum


@kernel("normalize", "form", "epsilon")
class Normalize(Normalizing):
    def shapes(self, node: Node) -> Shapes:
        shape = check_rows(node, node.input(0), "x")
        self._check(node, shape[1], 1)
        return [shape]

    def forward(self, w: Writer, node: Node) -> Matrix:
        x, gamma, beta = (w.matrix(given) for given in node.inputs)
        statistics, (inside, epsilon) = w.buffer(x.rows, 3), self._settings(node)
        y = w.output(node.outputs[0])
        w.call("normalize", x=x, gamma=gamma, beta=beta, y=y, statistics=statistics, inside=inside, epsilon=epsilon)
        return statistics

    def backward(self, w: Writer, node: Node, kept: Matrix, deltas: list[Matrix | None]) -> None:
        (dy,) = deltas
        assert dy is not None
        _, dx = self._differentiate(w, node, 1, dy, None, w.matrix(node.inputs[0]), kept)
        w.add_delta(node.inputs[0], dx)


@kernel("add_normalize", "form", "epsilon", "dropout")
class AddNormalize(Normalizing):
    def shapes(self, node: Node) -> Shapes:
        shape = check_rows(node, node.input(0), "update")
        if check_rows(node, node.input(1), "residual") != shape:
            raise node.refuse("update and residual have different shapes")
        self._check(node, shape[1], 2)
        _check_dropout(node)
        return [shape, shape]

    def forward(self, w: Writer, node: Node) -> Matrix:
        update, residual, gamma, beta = (w.matrix(x) for x in node.inputs)
        statistics, (inside, epsilon) = w.buffer(update.rows, 3), self._settings(node)
        total, y = (w.output(output) for output in node.outputs)
        w.call(
            "add_normalize",
            update=update,
            residual=residual,
            gamma=gamma,
            beta=beta,
            total=total,
            y=y,
            statistics=statistics,
            inside=inside,
            epsilon=epsilon,
            dropout=node.options.get("dropout"),
        )
        return statistics

    def backward(self, w: Writer, node: Node, kept: Matrix, deltas: list[Matrix | None]) -> None:
        dtotal, dy = deltas
        if dy is None:
            raise node.refuse("its normalized output is not used")
        dupdate, dsum = self._differentiate(w, node, 2, dy, dtotal, w.matrix(node.outputs[0]), kept)
        w.add_delta(node.inputs[0], dupdate)
        w.add_delta(node.inputs[1], dsum)


@kernel("embed", "labels", "positions", "scale", "dropout")
class Embed(Kernel):
    def shapes(self, node: Node) -> Shapes:
        columns, labels = check_matrix(node, node.input(0), "table")[1], check_integers(node, "labels")
        if (node.options.get("positions") is None) != (node.input(1) is None):
            raise node.refuse("position_table and positions must be given together")
        if node.input(1) is not None:
            check_matrix(node, node.input(1), "position_table", columns)
            if check_integers(node, "positions").shape != labels.shape:
                raise node.refuse("there are not as many positions as labels")
        if isinstance(node.input(0), Symbol) or isinstance(node.input(1), Symbol):
            raise node.refuse("a table is computed from the batch")
        _check_dropout(node)
        return [(labels.shape[0], columns)]

    def forward(self, w: Writer, node: Node) -> None:
        labels, positions, table, added = *self._labels(node), node.inputs[0], node.input(1)
        w.checks.append(Check(labels.name, labels=table.shape[0]))
        if positions is not None:
            w.checks.append(Check(positions.name, labels=added.shape[0]))
        w.call(
            "embed",
            table=w.matrix(table),
            labels=labels,
            position_table=w.optional(added),
            positions=positions,
            scale=node.options.get("scale", 1.0),
            y=w.output(node.outputs[0]),
            dropout=node.options.get("dropout"),
        )

    def backward(self, w: Writer, node: Node, kept: None, deltas: list[Matrix | None]) -> None:
        (dy,) = deltas
        assert dy is not None
        dy.kept = True
        factors = node.options.get("scale", 1.0), 1.0
        for table, labels, factor in zip(node.inputs, self._labels(node), factors, strict=False):
            if table is not None and labels is not None:
                w.derivative(table, _scatter(table.shape, dy, labels.name, factor, node.options.get("dropout")))

    @staticmethod
    def _labels(node: Node) -> tuple[Symbol, Symbol | None]:
        return node.options["labels"], node.options.get("positions")


def _scatter(shape: Any, dy: Matrix, labels: str, factor: float, dropout: SymbolicDropout | None) -> Any:
    def make(run: Any) -> DeferredGradient:
        delta = run.array(dy)
        write = scatter_writer(delta, run.arrays[labels], factor, run.dropout(dropout))
        return DeferredGradient(shape, SINGLE, write, kept=delta.nbytes)

    return make


class Attention(Kernel):
    """What attention to the same sequence and to another one share."""

    def _check(self, node: Node, depth: int) -> None:
        heads = node.options.get("heads")
        if not isinstance(heads, int) or heads < 1 or depth % heads or depth // heads % 8:
            width = depth // heads if isinstance(heads, int) and heads > 0 else depth
            raise node.refuse(f"the kernel needs heads whose width is a multiple of 8, not {width}")
        check_integers(node, "offsets")

    def _call(
        self, w: Writer, node: Node, queries: Columns, keys_values: Columns, memory_offsets: Symbol, bias: Any
    ) -> dict[str, Any]:
        """Call the kernel; returns the arguments that the backward pass needs again."""
        offsets, heads, rows = node.options["offsets"], node.options["heads"], queries.matrix.rows
        width = node.outputs[0].shape[1] // heads
        w.heads.add(width)
        w.checks.append(Check(offsets.name, rows=rows))
        w.checks.append(Check(memory_offsets.name, rows=keys_values.matrix.rows))
        arguments = {
            "queries": queries,
            "keys_values": keys_values,
            "offsets": offsets,
            "memory_offsets": memory_offsets,
            "heads": heads,
            "causal": int(node.options.get("causal", False)),
            "scale": float(width**-0.5) if node.options.get("scaled", True) else 1.0,
            "bias": w.optional(bias),
            "out": w.output(node.outputs[0]),
            "lse": w.buffer(rows, heads),
        }
        w.call("attend", **arguments, workspace=_workspace(2, width), long_kernel=Size.of("attend_long"))
        return arguments | {"workspace": _workspace(4, width), "long_kernel": Size.of("attend_long_backward")}

    def _differentiate(
        self, w: Writer, arguments: dict[str, Any], dy: Matrix | None, dq: Matrix, dkv: Matrix, bias: Any = None
    ) -> None:
        dbias = w.sums(bias)
        w.call("attend_backward", **arguments, dout=dy, dqueries=dq, dkeys_values=dkv, dbias=dbias)
        w.summed(bias, dbias)


def _workspace(width: int, columns: int) -> Matrix:
    """The workspace of attention, as kernels.attention.simd takes it."""
    return Matrix(Size.of("longest"), width * columns + width // 2, Size.of("&attention_work"))


@kernel("attend_self", "offsets", "heads", "causal", "scaled")
class AttendSelf(Attention):
    def shapes(self, node: Node) -> Shapes:
        rows, columns = check_rows(node, node.input(0), "qkv")
        if columns % 3:
            raise node.refuse(f"{columns} columns cannot be split into queries, keys and values")
        self._check(node, columns // 3)
        bias = node.input(1)
        if bias is not None:
            width = check_matrix(node, bias, "distance_bias")[1]
            if not isinstance(bias, Parameter) or bias.shape[0] != node.options["heads"] or width % 2 == 0:
                raise node.refuse("the distance bias is not a parameter of shape [heads, odd number]")
        return [(rows, columns // 3)]

    def forward(self, w: Writer, node: Node) -> dict[str, Any]:
        qkv, depth = w.matrix(node.inputs[0]), node.outputs[0].shape[1]
        return self._call(w, node, Columns(qkv, 0), Columns(qkv, depth), node.options["offsets"], node.input(1))

    def backward(self, w: Writer, node: Node, kept: dict[str, Any], deltas: list[Matrix | None]) -> None:
        qkv = kept["queries"].matrix
        dqkv = w.buffer(qkv.rows, qkv.columns)
        self._differentiate(w, kept, deltas[0], dqkv, dqkv, node.input(1))
        w.add_delta(node.inputs[0], dqkv)


@kernel("attend_cross", "offsets", "memory_offsets", "heads", "scaled")
class AttendCross(Attention):
    def shapes(self, node: Node) -> Shapes:
        shape = check_rows(node, node.input(0), "queries")
        check_rows(node, node.input(1), "kv", 2 * shape[1])
        self._check(node, shape[1])
        check_integers(node, "memory_offsets")
        return [shape]

    def forward(self, w: Writer, node: Node) -> dict[str, Any]:
        queries, keys_values = (Columns(w.matrix(x), 0) for x in node.inputs)
        return self._call(w, node, queries, keys_values, node.options["memory_offsets"], None)

    def backward(self, w: Writer, node: Node, kept: dict[str, Any], deltas: list[Matrix | None]) -> None:
        read = (kept[side].matrix for side in ("queries", "keys_values"))
        dq, dkv = (w.buffer(matrix.rows, matrix.columns) for matrix in read)
        self._differentiate(w, kept, deltas[0], dq, dkv)
        w.add_delta(node.inputs[0], dq)
        w.add_delta(node.inputs[1], dkv)


@kernel("add")
class Add(Kernel):
    def shapes(self, node: Node) -> Shapes:
        shape = check_rows(node, node.input(0), "x1")
        if check_rows(node, node.input(1), "x2") != shape:
            raise node.refuse("its inputs have different shapes")
        return [shape]

    def forward(self, w: Writer, node: Node) -> None:
        x, y = (w.matrix(given) for given in node.inputs)
        w.call("add", x=x, y=y, total=w.output(node.outputs[0]))

    def backward(self, w: Writer, node: Node, kept: None, deltas: list[Matrix | None]) -> None:
        (dy,) = deltas
        assert dy is not None
        for x in node.inputs:
            w.add_delta(x, dy)


def _check_dropout(node: Node) -> None:
    dropout = node.options.get("dropout")
    if dropout is not None and not isinstance(dropout, SymbolicDropout):
        raise node.refuse("the dropout does not come from the step's DropoutKey")


def _gemms() -> tuple[int, int]:
    return gemm_addresses(SINGLE)
