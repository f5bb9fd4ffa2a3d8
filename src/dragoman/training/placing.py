"""The part of a batch that one rank differentiates, and its place in the whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dragoman.batch import Batch
from dragoman.ranks import Ranks


@dataclass(frozen=True)
class PlacedBatch:
    """A batch, or one rank's part of it, which counts rows and sequences from the start of the whole.

    weight, sequences, tokens, continues  of the whole batch
    """

    batch: Batch
    weight: float
    sequences: int
    tokens: int
    continues: bool | None


def own_part(batch: Batch, ranks: Ranks) -> Batch:
    """The part of a batch that this rank takes; it has no sequences if there are too few."""
    if ranks.size == 1:
        return batch
    shards = batch.shards(ranks.size)
    return shards[ranks.rank] if ranks.rank < len(shards) else Batch.empty()


def placed(batch: Batch, ranks: Ranks) -> PlacedBatch:
    """Find out where this rank's part stands in the batch that all ranks have parts of."""
    source = batch.source
    rows, source_rows = len(batch.labels), 0 if source is None else len(source.labels)
    if ranks.size == 1:
        return PlacedBatch(batch, batch.weight, len(batch), rows + source_rows, batch.continues)
    code = -1 if batch.continues is None else int(batch.continues)
    counts = ranks.gather([len(batch), rows, source_rows, batch.weight, code])
    first, first_row, first_source_row, *_ = counts[: ranks.rank].sum(axis=0).tolist()
    sequences, all_rows, all_source_rows, weight, _ = counts.sum(axis=0).tolist()
    continues = {-1: None, 0: False, 1: True}[int(counts[:, -1].max())]  # a rank may have no part of the batch
    if len(batch):
        if source is not None:
            source = replace(source, first_row=int(first_source_row), first_sequence=int(first))
        batch = replace(batch, first_row=int(first_row), first_sequence=int(first), source=source)
    return PlacedBatch(batch, weight, int(sequences), int(all_rows + all_source_rows), continues)
