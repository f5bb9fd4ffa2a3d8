"""Scheduled sampling: some of the labels a decoder reads while it learns are its own, as they all are later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dragoman.batch import END, Batch
from dragoman.graph import Array
from dragoman.operations import DropoutKey

SITE = 2**31  # of the draw among the sites of a network's dropout, which are few


class StepwiseDecoder(Protocol):
    """A network that writes token by token."""

    def encode(self, batch: Batch) -> Any: ...

    def step(self, state: Any, labels: Array) -> tuple[Array, Any]: ...


def with_own_outputs(network: StepwiseDecoder, batch: Batch, share: float, noise: DropoutKey) -> Batch:
    """The batch with a share of the labels read replaced by what the network itself writes there.

    What is fed back is the most probable label (book, (7.3): T is the argmax and then its embedding), and nothing is
    passed back through it. So the labels can be found first, step by step and unrecorded, and the recorded pass reads
    them as it reads any others.
    """
    draw = noise.dropout(share, SITE, batch.first_row)
    if draw is None:
        return batch
    own = (draw.mask((len(batch.labels), 1), np.dtype(np.float32))[:, 0] == 0) & (batch.positions > 0)
    labels, state, alive = batch.labels.copy(), network.encode(batch), batch.lengths >= 0
    written = labels[:0]
    for t in range(batch.lengths.max(initial=0)):
        here = batch.lengths > t
        if not here[alive].all():
            left = np.flatnonzero(here[alive])
            state, written = state.select(left), written[left] if t else written
        alive, rows = here, batch.offsets[:-1][here] + t
        if t:
            labels[rows] = np.where(own[rows], written, labels[rows])
        logits, state = network.step(state, labels[rows])
        written = logits[:, END:].argmax(axis=1) + END
    return replace(batch, labels=labels)
