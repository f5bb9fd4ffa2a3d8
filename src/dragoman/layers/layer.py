"""A layer owns parameters and calls operations; it never writes a derivative."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.operations import Dropout, DropoutKey


class CarriedStates:
    """The last states of a batch, with which the next batch goes on (truncated back-propagation).

    They are plain arrays, so nothing is passed back to the batch before. Sequence i of a batch goes on where sequence
    i of the batch before ended. Shards of a batch read and write rows of their own.

    layers  (h,), or (h, c) of an LSTM, for each layer, [B, m] each; they are written to
    """

    def __init__(self, layers: Sequence[tuple[Array, ...]]) -> None:
        self._layers = [tuple(layer) for layer in layers]

    def __len__(self) -> int:
        """B, the number of sequences."""
        return len(self._layers[0][0])

    def read(self, first: int, count: int) -> list[tuple[Array, ...]]:
        """The states of sequences first to first + count - 1, as copies."""
        self._check(first, count)
        return [tuple(part[first : first + count].copy() for part in layer) for layer in self._layers]

    def write(self, first: int, states: Sequence[tuple[Value, ...]]) -> None:
        """Keep the states of sequences first and following."""
        for layer, state in zip(self._layers, states, strict=True):
            for part, new in zip(layer, state, strict=True):
                values = value_of(new)
                self._check(first, len(values))
                part[first : first + len(values)] = values

    def reset(self, rows: Array | slice = slice(None)) -> None:
        """Begin some sequences, or all, with 0 again: what comes next does not continue them."""
        for layer in self._layers:
            for part in layer:
                part[rows] = 0

    def arrays(self) -> dict[str, Array]:
        """The states by name, for a checkpoint: copies."""
        return {name: part.copy() for name, part in self._named()}

    def assign(self, arrays: Mapping[str, Array]) -> None:
        """Put back what `arrays` gave."""
        for name, part in self._named():
            if name not in arrays or arrays[name].shape != part.shape:
                found = arrays[name].shape if name in arrays else "nothing"
                raise ShapeError(f"carried state {name}: expected an array of shape {part.shape}, found {found}")
        for name, part in self._named():
            part[...] = arrays[name]

    def _named(self) -> Iterator[tuple[str, Array]]:
        for i, layer in enumerate(self._layers):
            for letter, part in zip("hc", layer, strict=False):
                yield f"{i}.{letter}", part

    def _check(self, first: int, count: int) -> None:
        if first + count > len(self):
            raise ShapeError(f"the states of {len(self)} sequences are carried, but the batch has {first + count}")


@dataclass(frozen=True)
class ForwardContext:
    """What one pass through a network carries besides its values.

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
        """[size, size]: a rotation, which neither stretches nor shrinks what is multiplied with it again and again."""
        q, r = np.linalg.qr(self.rng.standard_normal((size, size)))
        return (q * np.sign(np.diag(r))).astype(self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, self.dtype)

    def ones(self, *shape: int) -> Array:
        return np.ones(shape, self.dtype)


class Layer:
    """Base of layers and networks: finds the parameters among its attributes, in the order they were set."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Every parameter once, with its dotted name; a tied one under its first name."""
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
        """The published parameters as views, under the names they are saved by."""
        for name, parameter in self.named_parameters():
            yield from parameter.split(name)

    def count(self) -> int:
        """p, the exact number of parameters."""
        return sum(parameter.value.size for parameter in self.parameters())

    def without_gradient(self) -> Self:
        """The same layer on the same memory, holding plain arrays: nothing is recorded, inference pays nothing."""
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
