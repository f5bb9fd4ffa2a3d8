"""theta: all parameters of a network as one flat vector (3.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph.tensor import Array, Parameter, Version


class Theta:
    """Parameters laid out one after the other in one contiguous vector, of which each becomes a view.

    Gradients and optimizer moments have the same layout, so an update is one sweep and a norm is one sum.
    A parameter used in two places (a tied table) has one slot.

    version  counts what changes besides the values: parameters frozen, settings of layers
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(dict.fromkeys(parameters))
        total = sum(parameter.value.size for parameter in self.parameters)
        dtypes = {parameter.value.dtype for parameter in self.parameters} or {np.dtype(np.float32)}
        if len(dtypes) > 1:
            raise ShapeError(f"the parameters of a network share one type, got {', '.join(map(str, dtypes))}")
        self._values: Array = np.empty(total, dtypes.pop())
        self.version = Version()
        start = 0
        for parameter in self.parameters:
            parameter.bind(start, self.values, self.version)
            start += parameter.value.size

    @property
    def values(self) -> Array:
        """The vector. A function, so that a trace can note who reads what training changes."""
        return self._values

    @values.setter
    def values(self, values: Array) -> None:
        if values is not self._values:
            self.assign(values)

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self._values.dtype
        return found

    def __len__(self) -> int:
        return self._values.size

    def assign(self, values: Array) -> None:
        """Copy a flat vector into the parameters."""
        if values.shape != self.values.shape:
            raise ShapeError(f"theta has shape {self.values.shape}, got a vector of shape {values.shape}")
        self.values[:] = values

    def view(self, vector: Array, parameter: Parameter) -> Array:
        """Return the view of one parameter in a vector aligned with theta."""
        return vector[parameter.slot].reshape(parameter.value.shape)

    def views(self, into: Array) -> dict[int, Array]:
        """Return the views of all parameters, by their id."""
        if into.shape != self.values.shape:
            raise ShapeError(f"into has shape {into.shape}, theta has shape {self.values.shape}")
        return {id(parameter): self.view(into, parameter) for parameter in self.parameters}

    def trainable(self) -> list[slice]:
        """The segments that training may change: neighbouring parameters that are not frozen, merged."""
        segments: list[slice] = []
        for parameter in self.parameters:
            slot = parameter.slot
            if slot is None or parameter.frozen or slot.start == slot.stop:
                continue
            if segments and segments[-1].stop == slot.start:
                segments[-1] = slice(segments[-1].start, slot.stop)
            else:
                segments.append(slot)
        return segments
