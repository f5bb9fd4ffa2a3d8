"""An operation: a function of arrays that returns its value and the closure that differentiates it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from dragoman.errors import ConfigurationError, GraphError
from dragoman.graph.tensor import Array, Backward, Node, Tensor, Value

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

_engine = "numpy"
_engines: set[str] = {"numpy"}


class Replaceable(Generic[Result]):
    """A function whose definition an engine may replace by a faster one under the same contract."""

    def __init__(self, definition: Callable[..., Any]) -> None:
        functools.update_wrapper(self, definition)
        self.name = definition.__name__
        self.definition = definition
        self._faster: dict[str, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any, **options: Any) -> Result:
        return self._compute(arguments, options)  # type: ignore[no-any-return]

    def register(self, engine: str) -> Callable[[Function], Function]:
        """Decorator: `function` computes this in the named engine, under the same contract.

        It may return `NotImplemented` for inputs it does not cover; the definition then runs.
        """

        if engine == "numpy":
            raise ConfigurationError("'numpy' is the definition of an operation; register an engine by another name")

        def attach(function: Function) -> Function:
            _engines.add(engine)
            self._faster[engine] = function
            return function

        return attach

    def _compute(self, arrays: Sequence[Any], options: dict[str, Any]) -> Any:
        faster = self._faster.get(_engine)
        if faster is not None:
            outcome = faster(*arrays, **options)
            if outcome is not NotImplemented:
                return outcome
        return self.definition(*arrays, **options)


class Operation(Replaceable[Result]):
    """A differentiable function of arrays, callable on tensors.

    Positional arguments are the inputs it can be differentiated by, and `backward` returns one derivative for each
    (or `None`); keyword arguments are everything else: labels, offsets, switches. The call is recorded exactly when an
    input wants a gradient, so on plain arrays it is a plain function.
    """

    def __call__(self, *inputs: Value | None, **options: Any) -> Result:
        arrays: list[Any] = []
        wanted = False
        for x in inputs:
            if isinstance(x, Tensor):
                arrays.append(x.value)
                wanted = wanted or x.wants_gradient
            else:
                arrays.append(x)
        for name, option in options.items():
            if isinstance(option, Tensor):
                raise GraphError(f"{self.name}: '{name}' is a tensor, but only positional inputs are differentiated")
        result, backward = self._compute(arrays, options)
        return self._record(inputs, result, backward) if wanted else result  # type: ignore[no-any-return]

    def _record(self, inputs: tuple[Any, ...], result: Any, backward: Backward) -> Any:
        """Wrap the arrays among the outputs; counts and other plain outputs carry no gradient."""
        if not isinstance(result, tuple):
            return Tensor(result, Node(self.name, inputs, backward, 1))
        node = Node(self.name, inputs, backward, len(result))
        return tuple(Tensor(y, node, i) if hasattr(y, "shape") else y for i, y in enumerate(result))


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


def replaceable(definition: Callable[..., Result]) -> Replaceable[Result]:
    """Let engines replace a function that is not differentiated."""
    return Replaceable(definition)


def use_engine(name: str) -> None:
    """Choose, for the whole process, which registered engine computes the operations it covers."""
    global _engine
    if name not in _engines:
        raise ConfigurationError(f"engine '{name}' is not registered; there is {', '.join(sorted(_engines))}")
    _engine = name


def current_engine() -> str:
    return _engine
