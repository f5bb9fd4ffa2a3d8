"""Truncated back-propagation with carried state: batches that go on where the batches before them ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.batch import Batch
from dragoman.errors import FileFormatError
from dragoman.graph import Array
from dragoman.layers import CarriedStates
from dragoman.ranks import Ranks

PREFIX = "carried."  # of the names of states in a checkpoint


def carried_states(
    network: Any, continues: bool | None, sequences: int, before: CarriedStates | None
) -> CarriedStates | None:
    """The states that a batch of so many sequences begins with: those left by the batch before, 0 at a new beginning,
    None for batches that have nothing to do with each other (`Batch.continues`)."""
    if continues is None:
        return None
    if continues and before is not None and len(before) == sequences:
        return before
    found: CarriedStates = network.new_carried(sequences)
    return found


def exchange_states(carried: CarriedStates | None, batch: Batch, ranks: Ranks) -> None:
    """Let all ranks know the states that each has left of its part of a batch."""
    if carried is None or ranks.size == 1:
        return
    arrays, own = carried.arrays(), slice(batch.first_sequence, batch.first_sequence + len(batch))
    for array in arrays.values():
        kept = array[own].copy()
        array[:] = 0
        array[own] = kept
        ranks.sum(array)
    carried.assign(arrays)


def saved_states(carried: CarriedStates | None) -> dict[str, Array]:
    """The states as a checkpoint keeps them."""
    return {} if carried is None else {f"{PREFIX}{name}": array for name, array in carried.arrays().items()}


def restored_states(network: Any, arrays: Mapping[str, Array]) -> CarriedStates | None:
    """The states among the arrays of a checkpoint."""
    kept = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
    if not kept:
        return None
    if not hasattr(network, "new_carried"):
        raise FileFormatError("the latest checkpoint has states of a recurrent network; train into another directory")
    found: CarriedStates = network.new_carried(len(next(iter(kept.values()))))
    found.assign(kept)
    return found
