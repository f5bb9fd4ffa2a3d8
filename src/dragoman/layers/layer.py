"""A layer owns parameters and calls operations; it never writes a derivative."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dragoman.graph import Array, Parameter, value_of
from dragoman.layers.carried import CarriedStates
from dragoman.operations import Dropout, DropoutKey


@dataclass(frozen=True)
class ForwardContext:
    """Context of one forward pass.

    noise  the randomness of a training step; None drops nothing
    maps   where attention layers leave their weights, in the order they are reached; None keeps none
    carried  the states with which recurrent language models begin, and where they leave those they end with
    """

    noise: DropoutKey | None = None
    maps: list[Array] | None = None
    carried: CarriedStates | None = None

    def dropout(self, rate: float, site: int, first_row: int) -> Dropout | None:
        return None if self.noise is None else self.noise.dropout(rate, site, first_row)


class Initializer:
    """Draws initial parameter values, the same in every precision."""

    def __init__(self, seed: int = 0, dtype: Any = np.float32) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)

    def glorot(self, inputs: int, outputs: int, blocks: int = 1) -> Array:
        """[inputs, blocks * outputs], uniform with variance 2 / (inputs + outputs)."""
        bound = (6 / (inputs + outputs)) ** 0.5
        return self.rng.uniform(-bound, bound, (inputs, blocks * outputs)).astype(self.dtype)

    def normal(self, rows: int, columns: int, deviation: float) -> Array:
        return (self.rng.standard_normal((rows, columns)) * deviation).astype(self.dtype)

    def orthogonal(self, size: int) -> Array:
        """Draw an orthogonal matrix [size, size], which keeps the norm of what is multiplied with it repeatedly."""
        q, r = np.linalg.qr(self.rng.standard_normal((size, size)))
        return (q * np.sign(np.diag(r))).astype(self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, self.dtype)

    def ones(self, *shape: int) -> Array:
        return np.ones(shape, self.dtype)


class Layer:
    """Base of layers and networks: finds the parameters among its attributes, in the order they were set."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield every parameter once, with its dotted name; a tied one under its first name."""
        seen: set[int] = set()
        for name, parameter in self._walk(prefix):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def _walk(self, prefix: str) -> Iterator[tuple[str, Parameter]]:
        for name, attribute in vars(self).items():
            if isinstance(attribute, Parameter):
                yield prefix + name, attribute
            elif isinstance(attribute, Layer):
                yield from attribute._walk(f"{prefix}{name}.")
            elif isinstance(attribute, list):
                for i, item in enumerate(attribute):
                    if isinstance(item, Layer):
                        yield from item._walk(f"{prefix}{name}.{i}.")

    def parameters(self) -> list[Parameter]:
        return [parameter for _, parameter in self.named_parameters()]

    def named_arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield the parameters as views, under the names they are saved by."""
        for name, parameter in self.named_parameters():
            yield from parameter.split(name)

    def count(self) -> int:
        """Return the exact number of parameters, p."""
        return sum(parameter.value.size for parameter in self.parameters())

    def without_gradient(self) -> Self:
        """Return the same layer on the same memory with plain arrays, so that nothing is recorded."""
        twin = copy.copy(self)
        for name, attribute in vars(self).items():
            if isinstance(attribute, Parameter):
                setattr(twin, name, value_of(attribute))
            elif isinstance(attribute, Layer):
                setattr(twin, name, attribute.without_gradient())
            elif isinstance(attribute, list):
                items = [item.without_gradient() if isinstance(item, Layer) else item for item in attribute]
                setattr(twin, name, items)
        return twin
