"""States of recurrent layers that one batch hands to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Value, value_of


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

    def widths(self) -> list[list[int]]:
        """m of every state of every layer."""
        return [[part.shape[1] for part in layer] for layer in self._layers]

    def read(self, batch: Batch) -> list[tuple[Array, ...]]:
        """The states with which the sequences of a batch (or of a shard of one) begin, as copies."""
        first, count = batch.first_sequence, len(batch)
        self._check(first, count)
        return [tuple(part[first : first + count].copy() for part in layer) for layer in self._layers]

    def write(self, batch: Batch, states: Sequence[tuple[Value, ...]]) -> None:
        """Keep the states with which the sequences of a batch end."""
        first = batch.first_sequence
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
