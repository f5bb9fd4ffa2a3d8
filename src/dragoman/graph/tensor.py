"""Tensors and parameters: values that take part in back-propagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import GraphError, ShapeError

Array: TypeAlias = NDArray[Any]
Backward: TypeAlias = Callable[..., Any]


class Node:
    """One recorded call of an operation: its inputs, the closure that differentiates it, how many outputs."""

    __slots__ = ("backward", "inputs", "name", "outputs")

    def __init__(self, name: str, inputs: tuple[Any, ...], backward: Backward, outputs: int) -> None:
        self.name = name
        self.inputs = inputs
        self.backward: Backward | None = backward
        self.outputs = outputs


class DeferredGradient:
    """A derivative that is computed later, directly into its destination.

    write   (out, add, piece, pieces): overwrites one of `pieces` pieces of an array of this shape and type, or
            adds to it
    pieces  into which it is cut for different threads; their number depends on the shape alone
    finest  the most it may be cut into where that helps, the number of pieces times a power of 2; bits stay the same
    kept    bytes that it keeps in memory
    """

    __slots__ = ("dtype", "finest", "kept", "pieces", "shape", "write")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        write: Callable[[Array, bool, int, int], Any],
        pieces: int = 1,
        finest: int = 1,
        kept: int = 0,
    ) -> None:
        self.shape, self.dtype = shape, dtype
        self.write, self.pieces, self.finest, self.kept = write, pieces, finest, kept

    def value(self) -> Array:
        out: Array = np.empty(self.shape, self.dtype)
        for piece in range(self.pieces):
            self.write(out, False, piece, self.pieces)
        return out


def _operators() -> Any:
    """Import the operations behind the operators lazily, because they are defined on tensors."""
    from dragoman.graph import operators

    return operators


class Tensor:
    """An array that takes part in back-propagation: a leaf, or an output of a recorded operation.

    Its operators (+, -, *, /, @, **) are those of `graph.operators`.
    """

    __slots__ = ("index", "node", "value")
    __array_ufunc__ = None  # NumPy leaves array * tensor to the tensor

    def __init__(self, value: Array, node: Node | None = None, index: int = 0) -> None:
        self.value = value
        self.node = node
        self.index = index

    @property
    def wants_gradient(self) -> bool:
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.value.dtype
        return found

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        origin = f", from {self.node.name}" if self.node else ""
        return f"{type(self).__name__}(shape={self.value.shape}, dtype={self.value.dtype}{origin})"

    def __add__(self, other: Any) -> Any:
        return _operators().apply(_operators().sum_of, self, other)

    def __radd__(self, other: Any) -> Any:
        return _operators().apply(_operators().sum_of, other, self)

    def __sub__(self, other: Any) -> Any:
        return _operators().apply(_operators().difference, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operators().apply(_operators().difference, other, self)

    def __mul__(self, other: Any) -> Any:
        return _operators().apply(_operators().product, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operators().apply(_operators().product, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operators().apply(_operators().quotient, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operators().apply(_operators().quotient, other, self)

    def __matmul__(self, other: Any) -> Any:
        return _operators().apply(_operators().matrix_product, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operators().apply(_operators().matrix_product, other, self)

    def __pow__(self, exponent: float) -> Any:
        return _operators().power(self, exponent=exponent)

    def __neg__(self) -> Any:
        return _operators().negative(self)


_value: Any = vars(Tensor)["value"]


class Version:
    """Counts the changes of a bound network besides the values of its parameters: what was read before is out of date.

    It refers to nothing, so that parameters and layers can share one without keeping the network alive.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0

    def increase(self) -> None:
        self.number += 1


class Parameter(Tensor):
    """A leaf that training changes. Its value becomes a view of the flat vector theta (3.1.1).

    `parts` names equal blocks of the last axis when several published parameters live in one matrix, so that they
    take one matrix product: the query, key and value weights of an attention layer.

    Once it is bound to theta, a value that is set is written into theta, and freezing it raises the version.
    """

    __slots__ = ("frozen", "parts", "slot", "version")

    if not TYPE_CHECKING:

        @property
        def value(self) -> Array:
            """Its array. A function, so that a trace can note who reads what training changes."""
            return _value.__get__(self)

        @value.setter
        def value(self, value: Array) -> None:
            _value.__set__(self, value)

    def __init__(self, value: Array, parts: tuple[str, ...] = ()) -> None:
        self.version: Version | None = None
        super().__init__(value)
        self.parts = parts
        self.frozen = False
        self.slot: slice | None = None

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            bound = getattr(self, "version", None)
            if name == "value" and bound is not None and value is not self.value:
                if np.shape(value) != self.value.shape or np.iscomplexobj(value):
                    raise ShapeError(
                        f"{self!r} belongs to a network's theta; expected real values of its shape, got "
                        f"{np.asarray(value).dtype} values of shape {np.shape(value)}"
                    )
                self.value[...] = value
                return
            super().__setattr__(name, value)
            if name == "frozen" and bound is not None:
                bound.increase()

    def bind(self, start: int, values: Array, version: Version) -> None:
        """Become a view of theta's values, beginning at `start`."""
        if self.slot is not None:
            raise GraphError(f"{self!r} already belongs to another network's theta; build it anew for this one")
        stop = start + self.value.size
        values[start:stop] = self.value.ravel()
        self.slot = slice(start, stop)
        self.value = values[start:stop].reshape(self.value.shape)
        self.version = version

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Copy the values; the copy belongs to no theta."""
        twin = memo[id(self)] = Parameter(self.value.copy(), self.parts)
        twin.frozen = self.frozen
        return twin

    @property
    def wants_gradient(self) -> bool:
        return not self.frozen

    @property
    def start(self) -> int:
        """Where it begins in theta."""
        assert self.slot is not None
        return int(self.slot.start)

    def split(self, name: str, vector: Array | None = None) -> list[tuple[str, Array]]:
        """The published parameters inside this one, as views of its value (or of `vector`, of the same shape).

        `name` ends in the attribute that holds the parameter; parts take its place.
        """
        value = self.value if vector is None else vector
        if not self.parts:
            return [(name, value)]
        prefix = name[: name.rfind(".") + 1]
        views = np.split(value, len(self.parts), axis=-1)
        return [(prefix + part, view) for part, view in zip(self.parts, views, strict=True)]


def replace_value(tensor: Tensor, value: Array) -> None:
    """Let a tensor hold another array for a while, also a parameter of a bound network (gradient checks)."""
    _value.__set__(tensor, value)


Value: TypeAlias = Tensor | Array


def value_of(x: Value) -> Array:
    """Return the array of a tensor, or the array itself."""
    return x.value if isinstance(x, Tensor) else x
