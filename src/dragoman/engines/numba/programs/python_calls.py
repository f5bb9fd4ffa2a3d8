"""Operations that a program calls from Python between its kernels, as the graph does: the last layer with its error,
pooling, recurrences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dragoman.engines.numba.programs.fields import Matrix
from dragoman.engines.numba.programs.kernels import Kernel, Shapes, check_matrix
from dragoman.engines.numba.programs.writer import Writer
from dragoman.engines.tracing import Node, SymbolicDropout
from dragoman.graph import Array, DeferredGradient, Parameter, Symbol

Reader = Callable[[Any], Any]  # run -> an argument of the operation


class PythonCall:
    """One operation that is called from Python: forward, then backward.

    It reads parameters and arrays of the batch by their names, from a run.
    """

    def __init__(self, operation: Any, inputs: list[Reader], options: dict[str, Reader], outputs: int) -> None:
        self.operation, self.inputs, self.options = operation, inputs, options
        self.outputs: list[Matrix | None] = [None] * outputs  # where kernels read them
        self.deltas: list[Matrix | None] = []  # of the outputs; empty: the outputs are the error and its hits
        self.destinations: list[Matrix | int | None] = []  # by input: where its delta goes, or where a parameter begins

    def forward(self, run: Any) -> None:
        given = [read(run) for read in self.inputs]
        options = {name: read(run) for name, read in self.options.items()}
        result, backward = self.operation.compute(given, options)
        results = result if isinstance(result, tuple) else (result,)
        for matrix, value in zip(self.outputs, results, strict=True):
            if matrix is not None:
                run.array(matrix)[...] = value
        run.results[id(self)], run.closures[id(self)] = results, backward

    def backward(self, run: Any) -> Iterator[tuple[int, Array | DeferredGradient]]:
        results = run.results.pop(id(self))
        if self.deltas:
            slots = [None if matrix is None else run.array(matrix) for matrix in self.deltas]
        else:
            slots = [np.ones_like(results[0]), *(None for _ in results[1:])]
        returned = run.closures.pop(id(self))(*slots)
        derivatives = returned if isinstance(returned, tuple) else (returned,)
        for place, delta in zip(self.destinations, derivatives, strict=False):
            if isinstance(place, Matrix):
                value = delta.value() if isinstance(delta, DeferredGradient) else delta
                run.array(place)[...] = 0 if value is None else value
            elif place is not None and delta is not None:
                yield place, delta


class CalledFromPython(Kernel):
    """An operation without a kernel of its own."""

    def __init__(self, shapes: Callable[[Node], Shapes], *options: str) -> None:
        self._shapes, self.options = shapes, frozenset(options)

    def shapes(self, node: Node) -> Shapes:
        for i, x in enumerate(node.inputs):
            if isinstance(x, Symbol):
                check_matrix(node, x, f"input {i + 1}")
        return self._shapes(node)

    def forward(self, w: Writer, node: Node) -> PythonCall:
        touched: list[Matrix] = []
        readers = [self._reader(w, touched, x) for x in node.inputs]
        options = {name: self._option(w, option) for name, option in node.options.items()}
        call = PythonCall(node.operation, readers, options, len(node.outputs))
        w.call_python(node, call, touched)
        return call

    @staticmethod
    def _reader(w: Writer, touched: list[Matrix], x: Any) -> Reader:
        if isinstance(x, Parameter):
            start = x.start
            return lambda run: run.parameters[start].value
        if isinstance(x, Symbol) and x.node is not None:
            matrix = w.matrix(x)
            matrix.kept = True
            touched.append(matrix)
            return lambda run: run.array(matrix)
        return CalledFromPython._option(w, x)

    @staticmethod
    def _option(w: Writer, option: Any) -> Reader:
        if isinstance(option, Symbol):
            name = option.name
            w.arrays[name] = option
            return lambda run: run.arrays[name]
        if isinstance(option, SymbolicDropout):
            return lambda run: run.dropout(option)
        return lambda run: option

    def backward(self, w: Writer, node: Node, kept: PythonCall, deltas: list[Matrix | None]) -> None:
        is_error = all(output.shape == () for output in node.outputs)
        kept.deltas = [] if is_error else deltas
        touched = [delta for delta in deltas if delta is not None]
        for delta in touched:
            delta.kept = True
        for x in node.inputs:
            if isinstance(x, Parameter) and x.wants_gradient:
                kept.destinations.append(x.start)
            elif isinstance(x, Symbol) and x.wants_gradient:
                kept.destinations.append(w.buffer(x.shape[0], x.shape[1], kept=True))
            else:
                kept.destinations.append(None)
        w.call_python(node, kept, touched + [place for place in kept.destinations if isinstance(place, Matrix)])
        for x, place in zip(node.inputs, kept.destinations, strict=True):
            if isinstance(place, Matrix):
                w.add_delta(x, place)


def _error(node: Node) -> Shapes:
    """The error, and the number of hits."""
    return [(), ()]


def _same(node: Node) -> Shapes:
    return [node.inputs[0].shape]


def _per_sequence(node: Node) -> Shapes:
    return [(node.options["offsets"].shape[0] - 1, node.inputs[0].shape[1])]


def _appended(node: Node) -> Shapes:
    rows, columns = node.inputs[0].shape
    return [(rows + (node.options["offsets"].shape[0] - 1), columns)]


def _taken(node: Node) -> Shapes:
    return [(node.options["rows"].shape[0], node.inputs[0].shape[1])]


def _side_by_side(node: Node) -> Shapes:
    (rows, first), (others, second) = node.inputs[0].shape, node.inputs[1].shape
    if rows != others:
        raise node.refuse("its inputs have different numbers of rows")
    return [(rows, first + second)]


def _states(outputs: int) -> Callable[[Node], Shapes]:
    """Of a recurrence: states at every row, then those after the last one."""

    def shapes(node: Node) -> Shapes:
        rows, units, sequences = node.inputs[0].shape[0], node.inputs[1].shape[0], node.options["offsets"].shape[0] - 1
        return [(rows, units)] * outputs + [(sequences, units)] * outputs

    return shapes


CALLED_FROM_PYTHON: dict[str, Kernel] = {
    "linear_cross_entropy": CalledFromPython(_error, "targets", "loss_weights", "smoothing", "total", "transposed"),
    "cross_entropy": CalledFromPython(_error, "targets", "weights", "smoothing", "total"),
    "log_error": CalledFromPython(_error, "targets", "weights", "total"),
    "logistic_log_error": CalledFromPython(_error, "targets", "weights", "total"),
    "mean_squared_error": CalledFromPython(lambda node: [()], "targets", "weights", "total"),
    "mean_rows": CalledFromPython(_per_sequence, "offsets"),
    "last_rows": CalledFromPython(_per_sequence, "offsets"),
    "max_rows": CalledFromPython(_per_sequence, "offsets"),
    "attention_pool": CalledFromPython(_per_sequence, "offsets"),
    "append_row": CalledFromPython(_appended, "offsets"),
    "take_rows": CalledFromPython(_taken, "rows"),
    "concatenate_columns": CalledFromPython(_side_by_side),
    "drop": CalledFromPython(_same, "dropout"),
    "activate": CalledFromPython(_same, "activation"),
    "rnn": CalledFromPython(_states(1), "offsets", "activation", "reverse", "cut"),
    "lstm": CalledFromPython(_states(2), "offsets", "reverse", "cut"),
    "gru": CalledFromPython(_states(1), "offsets", "reverse", "cut"),
}
