"""The program of a traced network, and one run of it for a batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.kernels.attention.arguments import LONG
from dragoman.engines.numba.ops.arguments import longest_of_rows, within
from dragoman.engines.numba.ops.attention import head_vectors_of
from dragoman.engines.numba.programs.fields import Matrix
from dragoman.engines.numba.programs.kernel_calls import long_addresses, run
from dragoman.engines.numba.programs.kernels import SINGLE
from dragoman.engines.numba.programs.python_calls import PythonCall
from dragoman.engines.numba.programs.tape import LINE, SIZE, Call, PythonStep, Step, Tape, plan_buffers
from dragoman.engines.numba.programs.writer import Check, Derivative, Writer
from dragoman.engines.tracing import SymbolicDropout, Trace, carried_name
from dragoman.graph import Array, DeferredGradient, Size, Symbol, TraceError

MOST_BYTES = 1 << 26  # of the buffers of one run: beyond, the graph takes less memory and hardly more time
PARTS = 2  # of a backward pass: the gradients of one are reduced while the next one is computed
BATCH_ARRAYS = ("labels", "offsets", "targets", "loss_weights")


class Segment(NamedTuple):
    """Kernel calls first to last - 1, then an operation called from Python, then derivatives that are ready."""

    first: int
    last: int
    python: PythonCall | None
    derivatives: list[Derivative]


class Result(NamedTuple):
    """An output of an operation that is called from Python."""

    call: PythonCall
    output: int


class Program:
    """What a network and its error compute, and all derivatives, for any batch of one kind."""

    def __init__(self, trace: Trace) -> None:
        w, kept = Writer(), dict[int, Any]()
        for node in trace.nodes:
            kept[id(node)] = node.kernel.forward(w, node)
        forward = len(w.steps)
        for node in trace.backward_order():
            deltas = w.deltas(node)
            if node is trace.error.node or any(delta is not None for delta in deltas):
                node.kernel.backward(w, node, kept[id(node)], deltas)
        if len(w.heads) > 1:
            raise TraceError(f"heads of different widths: {sorted(w.heads)}")
        self.width = max(w.heads, default=8)
        self._calls = [step for step in w.steps if isinstance(step, Call)]
        self._buffers, self.used = plan_buffers(w.steps)
        self.forward_segments = _segments(w.steps, 0, forward, [])
        self.backward_segments = _segments(w.steps, forward, len(w.steps), w.derivatives)
        self.constants = w.constants  # kept alive, because calls have their addresses
        self.checks = list(
            {(each.name, each.labels, None if each.rows is None else each.rows.key): each for each in w.checks}.values()
        )
        self.derived_batches = trace.derived_batches
        self.index_arrays = [
            (symbol.name, symbol.origin[0], [given.name for given in symbol.origin[1]]) for symbol in trace.index_arrays
        ]
        self.arrays = {name: symbol.shape for name, symbol in w.arrays.items()}
        self.addressed = w.addressed
        self.needed = {*w.arrays, *(name for _, _, given in self.index_arrays for name in given)}
        self.error, self.hits = _place(kept, trace.error), _place(kept, trace.hits)
        self.carried = [[_place(kept, part) for part in state] for state in trace.final_states]

    @cached_property
    def tape(self) -> Tape:
        """Made when the program first runs: its kernels are compiled then."""
        tape = Tape(self._calls, self._buffers, self.width // 8)
        self._calls, self._buffers = [], []
        return tape

    def size(self, values: dict[str, int]) -> int:
        """Bytes of all buffers for a batch."""
        return evaluate(self.used, values)


def _place(kept: dict[int, Any], value: Any) -> Result | float:
    """Where a run finds a result."""
    if not isinstance(value, Symbol):
        return float(value)
    call = kept.get(id(value.node))
    if not isinstance(call, PythonCall):
        raise TraceError(f"'{value.name}' is a result, but a kernel computes it")
    return Result(call, value.index)


def _segments(steps: list[Step], first: int, last: int, derivatives: list[Derivative]) -> list[Segment]:
    """Cut the steps first to last - 1 where Python is needed: for an operation, and where a part of all derivatives is
    ready. Derivatives keep their order, also beside those of operations."""
    found: list[Segment] = []
    waiting, passed, goal = list(derivatives), 0, -(-len(derivatives) // PARTS)
    begun = done = sum(isinstance(step, Call) for step in steps[:first])

    def cut(python: PythonCall | None, i: int) -> None:
        """End a segment, with the derivatives that are ready after step i."""
        nonlocal waiting, begun, passed
        ready = [derivative for derivative in waiting if derivative.step <= i]
        if python is not None or ready or begun < done:
            found.append(Segment(begun, done, python, ready))
        waiting, begun, passed = waiting[len(ready) :], done, passed + len(ready)

    for i in range(first, last):
        step = steps[i]
        if isinstance(step, PythonStep):
            cut(None, i - 1)
            cut(step.call, i)
            continue
        done += 1
        ready = sum(derivative.step <= i for derivative in waiting)
        if ready and passed + ready >= goal * (passed // goal + 1):
            cut(None, i)
    cut(None, last)
    return found


def evaluate(size: Size | int, values: dict[str, int]) -> int:
    if not isinstance(size, Size):
        return size
    return sum(factor * values[name] for name, factor in size.terms.items())


class ProgramRun:
    """A program with the buffers and arguments of one batch.

    fits    whether the program covers this batch; otherwise nothing can be run
    arrays  of the batch, by name; kept alive, because kernels read them
    """

    def __init__(
        self, program: Program, theta: Any, parameters: dict[int, Any], batch: Any, context: Any, total: Any
    ) -> None:
        self.program, self.parameters, self.batch, self.context = program, parameters, batch, context
        self.results: dict[int, Any] = {}
        self.closures: dict[int, Any] = {}
        noise = context.noise
        self.values = {"": 1, "key": 0 if noise is None else noise.key, "&theta": _address(theta.values)}
        self.values |= {"attend_long": 0, "attend_long_backward": 0, "sequences": len(batch)}
        self.arrays: dict[str, Any] = {"total": total}
        self._take_batches()
        self._take_states()
        for name, function, given in program.index_arrays:
            self.arrays[name] = function(*(self.arrays[each] for each in given))
        self.fits = self._take_arrays() and program.size(self.values) <= MOST_BYTES
        if self.fits:
            self._place_buffers()

    def _take_batches(self) -> None:
        """Take the arrays of the batch, of its source, and of the batches that the network makes of them."""
        batches = {"": self.batch}
        if self.batch.source is not None:
            batches["source_"] = self.batch.source
        for derived in self.program.derived_batches:
            batches[derived.prefix] = derived.function(batches[derived.of])
        for prefix, batch in batches.items():
            self.values |= {
                f"{prefix}rows": len(batch.labels),
                f"{prefix}first_row": batch.first_row,
                f"{prefix}first_sequence": batch.first_sequence,
            }
            for name in BATCH_ARRAYS:
                self.arrays[prefix + name] = getattr(batch, name)
            if f"{prefix}positions" in self.program.needed:
                self.arrays[f"{prefix}positions"] = batch.positions

    def _take_states(self) -> None:
        """Take the states that the batch before left."""
        if self.context.carried is not None:
            for i, state in enumerate(self.context.carried.read(self.batch)):
                for j, part in enumerate(state):
                    self.arrays[carried_name(i, j)] = part

    def _take_arrays(self) -> bool:
        """Make what kernels read contiguous int64 or float32; returns whether the batch is valid and covered."""
        for name, shape in self.program.arrays.items():
            array = self.arrays[name]
            if np.shape(array) != tuple(evaluate(size, self.values) for size in shape):
                return False
            if name in self.program.addressed:
                kind = np.int64 if array.dtype.kind in "iu" else SINGLE
                self.arrays[name] = np.ascontiguousarray(array, kind)
                self.values[f"&{name}"] = _address(self.arrays[name])
        self.values["longest"] = 1
        return all(self._holds(check) for check in self.program.checks)

    def _holds(self, check: Check) -> bool:
        array = self.arrays[check.name]
        if array.dtype != np.int64 or array.ndim != 1:
            return False
        if check.labels is not None:
            return bool(within(array, check.labels))
        assert check.rows is not None
        longest = longest_of_rows(evaluate(check.rows, self.values), array)
        self.values["longest"] = max(longest, self.values["longest"])
        return longest >= 0

    def _place_buffers(self) -> None:
        program, values = self.program, self.values
        self.buffer = np.empty(program.size(values) // SIZE + LINE, np.float32)
        self.attention_work = np.empty(values["longest"] * (4 * program.width + 2), np.float32)
        begun = _address(self.buffer)
        values["&work"] = begun + -begun % (LINE * SIZE)
        values["&attention_work"] = _address(self.attention_work)
        if values["longest"] >= LONG:
            values |= long_addresses()
        self.arguments, places = program.tape.evaluate(values)
        places[:, 0] = (places[:, 0] - begun) // SIZE
        self.places = places.tolist()
        self.head_vectors = head_vectors_of(program.width)

    def forward(self) -> tuple[float, float]:
        """Error and hits. States that the next batch begins with are left where the context says."""
        for segment in self.program.forward_segments:
            self._run(segment)
            if segment.python is not None:
                segment.python.forward(self)
        if self.program.carried:
            states = [tuple(self._result(part) for part in state) for state in self.program.carried]
            self.context.carried.write(self.batch, states)
        return float(self._result(self.program.error)), float(self._result(self.program.hits))

    def _result(self, place: Result | float) -> Any:
        return self.results[id(place.call)][place.output] if isinstance(place, Result) else place

    def derivatives(self) -> Iterator[tuple[int, Array | DeferredGradient]]:
        """(start in theta, derivative) of each parameter, computed while they are taken."""
        for segment in self.program.backward_segments:
            self._run(segment)
            if segment.python is not None:
                yield from segment.python.backward(self)
            for derivative in segment.derivatives:
                yield derivative.start, derivative.make(self)

    def _run(self, segment: Segment) -> None:
        tape = self.program.tape
        calls = segment.first, segment.last
        if segment.first < segment.last and not run(
            self.head_vectors, tape.addresses, self.arguments, tape.starts, *calls
        ):
            raise MemoryError("a training step ran out of memory; use smaller batches")

    def array(self, matrix: Matrix) -> Array:
        """A matrix of the program, as a view of the buffers."""
        if matrix.number < 0:
            return self._input(matrix)
        first, rows = self.places[matrix.number]
        return self.buffer[first : first + rows * matrix.columns].reshape(rows, matrix.columns)

    def _input(self, matrix: Matrix) -> Array:
        """An array of the batch that is a matrix."""
        assert matrix.at is not None
        (name,) = matrix.at.terms
        array: Array = self.arrays[name.removeprefix("&")]
        return array

    def dropout(self, dropout: SymbolicDropout | None) -> Any:
        if dropout is None:
            return None
        return self.context.noise.dropout(dropout.rate, dropout.site, evaluate(dropout.first_row, self.values))


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
