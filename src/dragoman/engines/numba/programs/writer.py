"""What the kernels of operations write to: their calls, values and deltas by symbol, derivatives of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dragoman.engines.numba.programs.fields import Matrix
from dragoman.engines.numba.programs.tape import SIZE, Call, PythonStep, Step
from dragoman.engines.tracing import Node
from dragoman.graph import Array, DeferredGradient, Parameter, Size, Symbol


class Derivative(NamedTuple):
    """The derivative of a parameter: made of a run (what the kernels left) when it is asked for.

    step   after which it can be made      start  of the parameter in theta
    """

    step: int
    start: int
    make: Callable[[Any], Array | DeferredGradient]


class Check(NamedTuple):
    """What must be true of an integer array of the batch: its labels are below `labels`, or it partitions `rows` rows.

    A batch that fails goes through the graph, which says what is wrong with it, or covers it.
    """

    name: str
    labels: int | None = None
    rows: Size | None = None


class Writer:
    """Collects the calls of a program, forward and backward."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.derivatives: list[Derivative] = []
        self.checks: list[Check] = []
        self.constants: list[Array] = []  # their addresses stand in the calls
        self.arrays: dict[str, Symbol] = {}  # of a batch, that are read
        self.addressed: set[str] = set()  # those of them that kernels read
        self.heads: set[int] = set()  # widths of heads
        self._values: dict[tuple[int, int], Matrix] = {}  # by node and index of the output
        self._deltas: dict[int, list[Matrix | None]] = {}  # by node
        self._python: dict[int, PythonStep] = {}  # by node

    # Steps

    def call(self, name: str, *, in_place: bool = False, **arguments: Any) -> None:
        for x in arguments.values():
            if isinstance(x, Symbol):
                self._address(x)
        self.steps.append(Call(name, arguments, in_place))

    def call_python(self, node: Node, call: Any, touched: list[Matrix]) -> None:
        """Leave the kernels here to call an operation from Python."""
        step = PythonStep(call, touched)
        self.steps.append(step)
        self._python.setdefault(id(node), step)  # forward comes first

    # Matrices

    def buffer(self, rows: Any, columns: int, *, kept: bool = False) -> Matrix:
        matrix = Matrix(rows if isinstance(rows, Size) else Size.constant(rows), columns)
        matrix.kept = kept
        return matrix

    def output(self, symbol: Symbol, matrix: Matrix | None = None) -> Matrix:
        """The matrix of an output of the operation that is being written: new, or one that it has already."""
        found = self.buffer(*symbol.shape) if matrix is None else matrix
        self._values[id(symbol.node), symbol.index] = found
        return found

    def matrix(self, x: Any) -> Matrix:
        """The matrix of an input: of a symbol, a parameter or a constant."""
        if isinstance(x, Parameter):
            rows, columns = _matrix_shape(x)
            return Matrix(Size.constant(rows), columns, Size.of("&theta") + SIZE * x.start)
        if not isinstance(x, Symbol):
            self.constants.append(x)
            return Matrix(Size.constant(x.shape[0]), x.shape[1], Size.constant(x.ctypes.data))
        if x.node is None:
            self._address(x)
            return Matrix(x.shape[0], x.shape[1], Size.of(f"&{x.name}"))
        place = id(x.node), x.index
        if place not in self._values:  # the first kernel that reads an output of an operation called from Python
            step = self._python[id(x.node)]
            step.call.outputs[x.index] = self._values[place] = self.buffer(x.shape[0], x.shape[1], kept=True)
            step.touched.append(self._values[place])
        return self._values[place]

    def _address(self, x: Symbol) -> None:
        self.arrays[x.name] = x
        self.addressed.add(x.name)

    def optional(self, x: Parameter | None) -> Matrix | None:
        return None if x is None else self.matrix(x)

    # Deltas and derivatives

    def add_delta(self, x: Any, delta: Matrix) -> None:
        """The deltas of all consumers of a symbol add up, in the order of the graph."""
        if not isinstance(x, Symbol) or not x.wants_gradient or x.node is None:
            return
        slots = self._deltas.setdefault(id(x.node), [None] * len(x.node.outputs))
        present = slots[x.index]
        if present is None:
            slots[x.index] = delta
            return
        total = self.buffer(present.rows, present.columns)
        self.call("add", x=present, y=delta, total=total, in_place=True)
        slots[x.index] = total

    def deltas(self, node: Node) -> list[Matrix | None]:
        return self._deltas.pop(id(node), [None] * len(node.outputs))

    def sums(self, parameter: Parameter | None) -> Matrix | None:
        """A buffer for a derivative that a kernel sums up itself; None without a parameter."""
        return None if parameter is None else self.buffer(*_matrix_shape(parameter), kept=True)

    def summed(self, parameter: Parameter | None, sums: Matrix | None) -> None:
        """The last call has filled the buffer of `sums`."""
        if parameter is not None and sums is not None:
            shape = parameter.shape
            self.derivative(parameter, lambda run: run.array(sums).reshape(shape))

    def derivative(self, parameter: Any, make: Callable[[Any], Array | DeferredGradient]) -> None:
        """The derivative of a parameter can be made after the last step."""
        if isinstance(parameter, Parameter) and parameter.wants_gradient:
            self.derivatives.append(Derivative(len(self.steps) - 1, parameter.start, make))


def _matrix_shape(parameter: Parameter) -> tuple[int, int]:
    """Of the matrix that kernels take it for."""
    rows, columns = parameter.shape if len(parameter.shape) == 2 else (1, parameter.shape[0])
    return rows, columns
