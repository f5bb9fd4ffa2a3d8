"""Traces what a network and its error compute, by calling them once with symbols in place of a batch."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Sequence
from numbers import Number
from types import NoneType
from typing import Any, NamedTuple, Protocol

import numpy as np

from dragoman.engines.constants import is_constant
from dragoman.engines.reads import LOWER_PACKAGES
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Tensor
from dragoman.graph.backpropagate import reverse_order
from dragoman.graph.symbol import Size, Symbol, TraceError

REAL, INTEGER = np.dtype(np.float32), np.dtype(np.int64)
SEQUENCES = Size.of("sequences")


class SymbolicDropout(NamedTuple):
    """The dropout of one site, in any step."""

    rate: float
    site: int
    first_row: Size | int


class SymbolicKey:
    """Stands for the DropoutKey of a step."""

    def dropout(self, rate: float, site: int, first_row: Size | int = 0) -> SymbolicDropout | None:
        if not 0 <= rate < 1:
            raise ConfigurationError(f"a dropout rate is at least 0 and below 1, got {rate}")
        return SymbolicDropout(rate, site, first_row) if rate else None


def carried_name(layer: int, part: int) -> str:
    """The name of a state that one batch leaves to the next."""
    return f"carried_{layer}_{part}"


class SymbolicStates:
    """Stands for the carried states of a step: a symbol for each."""

    def __init__(self, trace: Trace, widths: Sequence[Sequence[int]]) -> None:
        self.trace, self.widths = trace, widths

    def read(self, batch: Any) -> list[tuple[Symbol, ...]]:
        return [
            tuple(Symbol(self.trace, carried_name(i, j), (SEQUENCES, width), REAL) for j, width in enumerate(layer))
            for i, layer in enumerate(self.widths)
        ]

    def write(self, batch: Any, states: Sequence[Sequence[Any]]) -> None:
        self.trace.final_states = states


class Kernel(Protocol):
    """How a program computes an operation; each engine registers one per operation.

    options  those it honours; a call with any other is not covered
    """

    options: frozenset[str]

    def shapes(self, node: Node) -> list[tuple[Any, ...]]:
        """The shapes of the outputs; raises TraceError if there is no kernel for such inputs or options."""
        ...


class Node:
    """A traced call of an operation. `inputs` are symbols, parameters, constant arrays or None."""

    def __init__(self, operation: Any, inputs: Sequence[Any], options: dict[str, Any], kernel: Any) -> None:
        self.operation, self.inputs, self.options, self.kernel = operation, tuple(inputs), options, kernel
        self.wanted = any(isinstance(x, Tensor) and x.wants_gradient for x in inputs)
        self.outputs: list[Symbol] = []

    @property
    def name(self) -> str:
        found: str = self.operation.name
        return found

    def input(self, index: int) -> Any:
        return self.inputs[index] if index < len(self.inputs) else None

    def refuse(self, why: str) -> TraceError:
        return TraceError(f"{self.name}: {why}")


class DerivedBatch(NamedTuple):
    """A batch that a network makes of another one, by the prefixes of their names."""

    prefix: str
    of: str
    function: Callable[[Any], Any]


class Trace:
    """The operations of a network and its error, in the order of their calls."""

    def __init__(self, kernels: dict[str, Any], parameters: Sequence[Parameter], arrays: Sequence[Array]) -> None:
        """parameters  of the network     arrays  attributes of its layers, which are read again for every batch"""
        self.kernels = kernels
        self._known = {id(each) for each in (*parameters, *arrays)}
        self.read: set[int] = set()  # the ids of those that an operation reads
        self.nodes: list[Node] = []
        self.index_arrays: list[Symbol] = []
        self.derived_batches: list[DerivedBatch] = []
        self.error: Symbol
        self.hits: Any = float("nan")  # a number, or a symbol
        self.final_states: Sequence[Sequence[Any]] = ()

    def record(self, operation: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
        kernel = self.kernels.get(operation.name)
        if kernel is None:
            raise TraceError(f"there is no kernel for {operation.name}")
        unknown = [name for name in options if name not in kernel.options]
        if unknown:
            raise TraceError(f"the kernel of {operation.name} does not know the option '{unknown[0]}'")
        for x in (*inputs, *options.values()):
            if isinstance(x, Tensor | np.ndarray) and not isinstance(x, Symbol):
                if id(x) not in self._known:
                    raise TraceError(f"{operation.name} is given values that the network computed; they may change")
                self.read.add(id(x))
        for name, x in options.items():
            if isinstance(x, Size) or not isinstance(
                x, Symbol | SymbolicDropout | np.ndarray | Number | str | NoneType
            ):
                raise TraceError(f"{operation.name} is given {name} = {x!r}, which is no setting")
        node = Node(operation, inputs, options, kernel)
        shapes = kernel.shapes(node)
        number = len(self.nodes)
        self.nodes.append(node)
        for i, shape in enumerate(shapes):
            name = f"{operation.name}.{number}" + (f".{i}" if len(shapes) > 1 else "")
            node.outputs.append(Symbol(self, name, shape, REAL, node, i))
        return node.outputs[0] if len(shapes) == 1 else tuple(node.outputs)

    def index_array(self, function: Callable[..., Array], arrays: Sequence[Any], shape: tuple[Any, ...]) -> Symbol:
        name = f"{function.__name__}.{len(self.index_arrays)}"
        self.index_arrays.append(Symbol(self, name, shape, INTEGER, origin=(function, tuple(arrays))))
        return self.index_arrays[-1]

    def backward_order(self) -> list[Node]:
        """The nodes that have a gradient, in the order in which the graph differentiates them."""
        order: list[Any] = reverse_order([self.error])
        return [node for node in order if node.wanted]


class SymbolicBatch:
    """A batch by names: its arrays are symbols, its numbers of rows sizes."""

    def __init__(self, trace: Trace, kind: BatchKind, prefix: str = "") -> None:
        self.trace, self.prefix, self.per, self.continues = trace, prefix, kind.per, kind.continues
        rows = Size.of(f"{prefix}rows")
        targets = SEQUENCES if kind.per == "sample" else rows
        self.labels = self._symbol("labels", (rows, *kind.row_shape), REAL if kind.real else INTEGER)
        self.offsets = self._symbol("offsets", (SEQUENCES + 1,), INTEGER)
        self.positions = self._symbol("positions", (rows,), INTEGER)
        self.targets = (
            None
            if kind.target_shape is None
            else self._symbol("targets", (targets, *kind.target_shape), kind.target_type)
        )
        self.loss_weights = self._symbol("loss_weights", (targets,), REAL) if kind.weighted else None
        self.first_row, self.first_sequence = Size.of(f"{prefix}first_row"), Size.of(f"{prefix}first_sequence")
        if kind.source is not None and prefix:
            raise TraceError("the source of the batch has a source itself")
        self.source = None if kind.source is None else SymbolicBatch(trace, kind.source, "source_")

    def _symbol(self, name: str, shape: tuple[Any, ...], dtype: Any) -> Symbol:
        return Symbol(self.trace, self.prefix + name, shape, dtype)

    def derive(self, function: Callable[[Any], Any], width: int | None = None) -> SymbolicBatch:
        """As Batch.derive; the function is called for every batch."""
        if not is_constant(function):
            raise TraceError("Batch.derive is given a function that holds objects, whose changes would go unnoticed")
        derived = DerivedBatch(f"derived{len(self.trace.derived_batches)}_", self.prefix, function)
        self.trace.derived_batches.append(derived)
        kind = BatchKind(width is not None, () if width is None else (width,), target_shape=None, weighted=False)
        return SymbolicBatch(self.trace, kind, derived.prefix)

    def __getattr__(self, name: str) -> Any:
        raise TraceError(f"the network needs the batch's '{name}', which only a batch has")

    def __len__(self) -> int:
        raise TraceError("the network needs the number of sequences, which only a batch has")


class BatchKind(NamedTuple):
    """What a trace depends on: everything about a batch but its sizes and values.

    row_shape, target_shape  of one row, and of one target; None: without targets
    """

    real: bool = False
    row_shape: tuple[int, ...] = ()
    per: str = "position"
    target_shape: tuple[int, ...] | None = ()
    target_type: Any = INTEGER
    weighted: bool = True
    continues: bool | None = None
    source: BatchKind | None = None

    @classmethod
    def of(cls, batch: Any) -> BatchKind:
        targets = batch.targets
        return cls(
            batch.labels.dtype.kind not in "iu",
            batch.labels.shape[1:],
            batch.per,
            None if targets is None else targets.shape[1:],
            None if targets is None else targets.dtype,
            batch.loss_weights is not None,
            batch.continues,
            None if batch.source is None else cls.of(batch.source),
        )


SYMBOLIC = Symbol, Size, SymbolicBatch, SymbolicDropout


def trace_network(
    kernels: dict[str, Any],
    arrays: Sequence[Array],
    forward: Callable[..., tuple[Any, Any]],
    network: Any,
    kind: BatchKind,
    run: Any,
    divided: bool,
) -> Trace:
    """Call a network and its error with symbols; raises TraceError where that is not possible.

    arrays   attributes of the network's layers
    forward  (network, batch, context, total) -> error and hits     divided  whether the total is given
    """
    trace = Trace(kernels, network.theta.parameters, arrays)
    noise = None if run.noise is None else SymbolicKey()
    widths = None if run.carried is None else run.carried.widths()
    carried = None if widths is None else SymbolicStates(trace, widths)
    context = dataclasses.replace(run, noise=noise, carried=carried)
    total = Symbol(trace, "total", (), np.float64) if divided else None
    trace.error, trace.hits = forward(network, SymbolicBatch(trace, kind), context, total)
    if not isinstance(trace.error, Symbol) or trace.error.node is None or not trace.error.wants_gradient:
        raise TraceError("the error depends on no parameter that is trained")
    if trace.error.shape != () or not isinstance(trace.hits, Symbol | Number):
        raise TraceError("the error and its hits are not numbers")
    return trace


def explained(exception: Exception) -> str:
    """What the network did that cannot be traced, and where."""
    message = str(exception) if isinstance(exception, TraceError) else f"{type(exception).__name__}: {exception}"
    frames = traceback.walk_tb(exception.__traceback__)
    own = [frame.f_code for frame, _ in frames if not frame.f_globals.get("__name__", "").startswith(LOWER_PACKAGES)]
    return f"{own[-1].co_qualname}: {message}" if own else message
