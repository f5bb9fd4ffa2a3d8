"""An operation: a function of arrays that returns its value and the closure that differentiates it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, overload

from dragoman.errors import ConfigurationError, GraphError
from dragoman.graph.kernel_comparison import believed
from dragoman.graph.symbol import Symbol
from dragoman.graph.tensor import Array, Backward, Node, Tensor, Value

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

_engine = "numpy"
_chosen = False  # set by the user of the library: then computations do not change the engine
_engines: set[str] = {"numpy"}


class _OfThread(threading.local):
    definitions = False  # whether this thread computes with the definitions, whatever the engine is


_thread = _OfThread()


EXPECTED = (
    "an operation returns its value and the function that differentiates it: `return y, backward` "
    "(with several values: `return (y1, y2), backward`)"
)


class Dispatched(Generic[Result]):
    """A function whose definition an engine may replace by a faster one under the same contract."""

    def __init__(self, definition: Callable[..., Any]) -> None:
        functools.update_wrapper(self, definition)
        self.name = definition.__name__
        self.definition = definition
        self._faster: dict[str, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any, **options: Any) -> Result:
        return self.compute(arguments, options)  # type: ignore[no-any-return]

    def register(self, engine: str) -> Callable[[Function], Function]:
        """Decorator: `function` computes this in the named engine, under the same contract.

        It may return `NotImplemented` for inputs it does not cover; the definition then runs. In its first call of each
        kind it is compared with the definition; if they disagree, a warning says so and the definition is used.
        """

        if engine == "numpy":
            raise ConfigurationError("'numpy' is the definition of an operation; register an engine by another name")

        def attach(function: Function) -> Function:
            _engines.add(engine)
            self._faster[engine] = believed(self.name, engine, function, self.definition)
            return function

        return attach

    def compute(self, arrays: Sequence[Any], options: dict[str, Any]) -> Any:
        """What the definition returns, by the engine if it covers these inputs."""
        faster = self._faster.get(_engine)
        if faster is not None and not _thread.definitions:
            outcome = faster(*arrays, **options)
            if outcome is not NotImplemented:
                return outcome
        return self.definition(*arrays, **options)


class Operation(Dispatched[Result]):
    """A differentiable function of arrays, callable on tensors.

    Positional arguments are the inputs it can be differentiated by, and `backward` returns one derivative for each
    (or `None`); keyword arguments are everything else: labels, offsets, switches. The call is recorded exactly when an
    input wants a gradient, so on plain arrays it is a plain function.
    """

    def __call__(self, *inputs: Value | None, **options: Any) -> Result:
        arrays: list[Any] = []
        wanted = False
        for x in inputs:
            if isinstance(x, Symbol):
                return x.recorder.record(self, inputs, options)  # type: ignore[no-any-return]
            if isinstance(x, Tensor):
                arrays.append(x.value)
                wanted = wanted or x.wants_gradient
            else:
                arrays.append(x)
        for name, option in options.items():
            if isinstance(option, Symbol):
                return option.recorder.record(self, inputs, options)  # type: ignore[no-any-return]
            if isinstance(option, Tensor):
                raise GraphError(f"{self.name}: '{name}' is a tensor, but only positional inputs are differentiated")
        outcome = self.compute(arrays, options)
        if not (isinstance(outcome, tuple) and len(outcome) == 2 and callable(outcome[1])):
            raise GraphError(f"{self.name} returned {_described(outcome)}, but {EXPECTED}")
        result, backward = outcome
        return self._record(inputs, result, backward) if wanted else result  # type: ignore[no-any-return]

    def _record(self, inputs: tuple[Any, ...], result: Any, backward: Backward) -> Any:
        """Wrap the arrays among the outputs; counts and other plain outputs carry no gradient."""
        if not isinstance(result, tuple):
            return Tensor(result, Node(self.name, inputs, backward, 1))
        node = Node(self.name, inputs, backward, len(result))
        return tuple(Tensor(y, node, i) if hasattr(y, "shape") else y for i, y in enumerate(result))


def _described(outcome: Any) -> str:
    """Describe what an operation returned instead of a value and its backward."""
    if not isinstance(outcome, tuple):
        return f"{_kind(outcome)} without a backward"
    if len(outcome) == 2:
        return f"a value and {_kind(outcome[1])}, which is not a function"
    return f"a tuple of {len(outcome)}"


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    return f"a value of type {type(value).__name__}" if shape is None else f"an array of shape {shape}"


@overload
def operation(definition: Callable[..., tuple[Array, Backward]]) -> Operation[Value]: ...
@overload
def operation(
    definition: Callable[..., tuple[tuple[Array, Array], Backward]],
) -> Operation[tuple[Value, Value]]: ...
@overload
def operation(
    definition: Callable[..., tuple[tuple[Array, ...], Backward]],
) -> Operation[tuple[Value, ...]]: ...
@overload
def operation(
    definition: Callable[..., tuple[tuple[Array, float], Backward]],
) -> Operation[tuple[Value, float]]: ...
def operation(definition: Callable[..., Any]) -> Operation[Any]:
    """Make a function that returns `(value, backward)` work on tensors."""
    return Operation(definition)


def dispatched(definition: Callable[..., Result]) -> Dispatched[Result]:
    """Let engines replace a function that is not differentiated."""
    return Dispatched(definition)


def use_engine(name: str) -> None:
    """Choose, for the whole process, which registered engine computes the operations it covers."""
    global _chosen
    switch_engine(name)
    _chosen = True


def switch_engine(name: str) -> None:
    """Switch the engine for a computation that will switch back; does not count as the user's choice."""
    global _engine
    if name not in _engines:
        raise ConfigurationError(f"unknown engine '{name}'; available: {', '.join(sorted(_engines))}")
    _engine = name


def engine_chosen() -> bool:
    """Whether `use_engine` was called."""
    return _chosen


@contextmanager
def definitions() -> Iterator[None]:
    """Compute with the definitions in this thread, whatever engine other threads use."""
    before, _thread.definitions = _thread.definitions, True
    try:
        yield
    finally:
        _thread.definitions = before


def current_engine() -> str:
    return _engine
