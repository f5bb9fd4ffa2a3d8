"""Symbols: arrays of which only the name, the shape and the type are known.

A network that is called with symbols leaves a trace of its operations and computes nothing. So one call shows what it
computes for any batch, whatever its sizes are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dragoman.errors import DragomanError
from dragoman.graph.tensor import Array, Tensor


class TraceError(DragomanError):
    """A network cannot be traced: it needs values that only a batch has."""


class Size:
    """A sum of named counts and a constant: the number of rows of a matrix, known when there is a batch."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[str, int]) -> None:
        self.terms = {name: factor for name, factor in terms.items() if factor}

    @staticmethod
    def of(name: str) -> Size:
        return Size({name: 1})

    @staticmethod
    def constant(number: int) -> Size:
        return Size({"": int(number)})

    def __add__(self, other: Size | int) -> Size:
        if not isinstance(other, Size):
            other = Size.constant(other)
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor
        return Size(terms)

    __radd__ = __add__

    def __sub__(self, other: Size | int) -> Size:
        return self + (other if isinstance(other, Size) else Size.constant(other)) * -1

    def __mul__(self, factor: int) -> Size:
        return Size({name: factor * number for name, number in self.terms.items()})

    @property
    def key(self) -> frozenset[tuple[str, int]]:
        """The same for sizes that are written the same."""
        return frozenset(self.terms.items())

    def __eq__(self, other: object) -> bool:
        """Whether two sizes are equal for every batch; an error if that depends on the batch."""
        if not isinstance(other, Size | int):
            return NotImplemented
        rest = self - other
        if any(rest.terms):  # a name is left
            raise TraceError(f"whether {self!r} is {other!r} depends on the batch")
        return not rest.terms

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        named = [name if factor == 1 else f"{factor} {name}" for name, factor in self.terms.items() if name]
        return " + ".join([*named, *(str(factor) for name, factor in self.terms.items() if not name)]) or "0"

    def __index__(self) -> int:
        raise TraceError(f"the number {self!r} is needed, which only a batch has")

    __int__ = __float__ = __bool__ = __index__


class Recorder(Protocol):
    """Takes note of the operations that are called with symbols."""

    def record(self, operation: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
        """The outputs of an operation, as symbols."""

    def index_array(self, function: Callable[..., Array], arrays: Sequence[Any], shape: tuple[Any, ...]) -> Symbol:
        """An integer array that follows from those of a batch."""


class Symbol(Tensor):
    """An array by its name: an input of a program, or the output of a traced operation.

    shape   numbers, and Sizes where a batch decides
    origin  of an index array: (function, arrays) that it is computed from
    """

    __slots__ = ("kind", "name", "origin", "recorder", "sizes")
    node: Any

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        shape: tuple[Any, ...],
        dtype: Any,
        node: Any = None,
        index: int = 0,
        origin: tuple[Any, ...] = (),
    ) -> None:
        self.recorder, self.name, self.sizes, self.kind = recorder, name, shape, np.dtype(dtype)
        self.node, self.index, self.origin = node, index, origin

    @property
    def value(self) -> Array:  # type: ignore[override]
        raise self._error(".value")

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.sizes

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.kind
        return found

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def wants_gradient(self) -> bool:
        return self.node is not None and bool(self.node.wanted)

    def _error(self, what: str) -> TraceError:
        return TraceError(f"{what} needs the values of '{self.name}', which only a batch has")

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise self._error("an array")

    def __array_ufunc__(self, ufunc: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        raise self._error(f"numpy.{ufunc.__name__}")

    def __array_function__(self, function: Any, *_: Any, **__: Any) -> Any:
        raise self._error(f"numpy.{function.__name__}")

    def __len__(self) -> int:
        raise self._error("len()")

    def __getitem__(self, _: Any) -> Any:
        raise self._error("an index")

    def __eq__(self, other: object) -> bool:
        raise self._error("a comparison")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise self._error("a condition")

    def __float__(self) -> float:
        raise self._error("float()")

    def __getattr__(self, name: str) -> Any:
        raise self._error("an array" if name.startswith("__array") else f".{name}")

    def __repr__(self) -> str:
        return f"Symbol({self.name!r}, {self.sizes})"


def index_function(shape: Callable[..., tuple[Any, ...]]) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Decorator of a function of the integer arrays of a batch (offsets, rows); programs compute it for every batch.

    shape  of its result, from the shapes of its arguments
    """

    def decorate(function: Callable[..., Array]) -> Callable[..., Array]:
        @functools.wraps(function)
        def call(*arrays: Any) -> Any:
            recorder = next((array.recorder for array in arrays if isinstance(array, Symbol)), None)
            if recorder is None:
                return function(*arrays)
            if not all(isinstance(array, Symbol) for array in arrays):
                raise TraceError(f"{function.__name__} is given arrays of the batch and others")
            return recorder.index_array(function, arrays, shape(*(array.shape for array in arrays)))

        return call

    return decorate
