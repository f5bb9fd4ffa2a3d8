"""Checkpoints of several ranks: the first one reads and writes them, with what the others keep."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Theta
from dragoman.optimization import Optimizer
from dragoman.ranks import Ranks
from dragoman.training.checkpoints import Saved


def shared_checkpoint(found: Saved | None, ranks: Ranks, optimizer: Optimizer) -> Saved | None:
    """The checkpoint that the first rank has read, on all ranks; the others need not see its files.

    Of moments that this rank keeps a part of, only that part is valid: the rest of the array takes no memory.
    """
    if ranks.size == 1:
        return found
    layout = None if found is None else {name: (array.shape, str(array.dtype)) for name, array in found[0].items()}
    known = ranks.share(None if found is None else [layout, found[1]])
    if known is None:
        return None
    arrays = (
        found[0] if found is not None else {name: np.empty(shape, dtype) for name, (shape, dtype) in known[0].items()}
    )
    for name in sorted(arrays):
        arrays[name] = np.ascontiguousarray(arrays[name])
        if optimizer.span is None or name not in optimizer.moment_names:
            ranks.broadcast(arrays[name])
            continue
        for rank, span in enumerate(ranks.spans(len(arrays[name]))):
            own = arrays[name][span]
            ranks.broadcast(own if rank == ranks.rank or ranks.first else np.empty_like(own))
    return arrays, known[1]


def all_moments(optimizer: Optimizer, theta: Theta, ranks: Ranks) -> dict[str, Array]:
    """The whole moments, on the first rank, where every rank keeps a part of them."""
    if optimizer.span is None:
        return {}
    spans, found = ranks.spans(len(theta)), {}
    for name, own in optimizer.moments.items():
        if ranks.first:  # the others need not have room for all of them
            found[name] = np.empty_like(theta.values)
            found[name][optimizer.span] = own
        for rank, span in enumerate(spans):
            of_others = found[name][span] if ranks.first else np.empty(span.stop - span.start, own.dtype)
            ranks.broadcast(own if rank == ranks.rank else of_others, rank)
    return found
