"""Scheduled sampling: in training, a decoder reads some of its own outputs, as it does in decoding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dragoman.batch import END, Batch
from dragoman.graph import Array
from dragoman.networks.feedback import with_feedback
from dragoman.operations import DropoutKey

SITE = 2**31  # number of the draw; dropout sites of a network have smaller numbers


class StepwiseDecoder(Protocol):
    """A network that decodes token by token."""

    def encode(self, batch: Batch) -> Any: ...

    def step(self, state: Any, labels: Array) -> tuple[Array, Any]: ...


def with_own_outputs(network: StepwiseDecoder, batch: Batch, share: float, key: DropoutKey) -> Batch:
    """Replace a share of the tokens that the decoder reads by the network's own outputs.

    An output is the most probable token (book, (7.3): T is the argmax and then its embedding).
    """
    draw = key.dropout(share, SITE, batch.first_row)
    if draw is None:
        return batch
    own = (draw.mask((len(batch.labels), 1), np.dtype(np.float32))[:, 0] == 0) & (batch.positions > 0)

    def step(state: Any, rows: Array, labels: Array) -> tuple[Array, Any]:
        logits, state = network.step(state, labels)
        return logits[:, END:].argmax(axis=1) + END, state

    return replace(batch, labels=with_feedback(batch, network.encode(batch), batch.labels, own, step))
