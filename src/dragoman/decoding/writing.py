"""Writing: a language model continues a sequence label by label, and hands over each label as soon as it is chosen."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from dragoman.batch import END, Batch
from dragoman.decoding.probabilities import FIRST, check_possible, log_normalizer
from dragoman.decoding.single import Greedy, Sampling
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array


class Writing:
    """What a network has read of a sequence, and the labels it goes on with.

    The keys and values (or the recurrent state) of what was read are kept, so that each label costs one step. With a
    `window`, at most so many labels are looked back at: when it is full, its last half is read again as a sequence of
    its own. That is how networks go on beyond the positions they know.

    ends  whether the end label may be written; a network that never saw one knows nothing about it
    """

    def __init__(
        self, network: Any, prompt: Sequence[int] | Array, window: int | None = None, ends: bool = True
    ) -> None:
        if not len(prompt):
            raise ShapeError("a language model continues at least one label")
        if window is not None and window < 1:
            raise ConfigurationError(f"a window has at least one label, got {window}")
        self.network, self.window, self.first = network, window, FIRST if ends else END + 1
        self.read = [int(label) for label in (prompt if window is None else prompt[-window:])]
        self.state, self.logits = self._read(self.read)

    def _read(self, labels: Sequence[int]) -> tuple[Any, Array]:
        state, logits = self.network.encode(Batch.pack([[]])), np.zeros((1, 0))
        for label in labels:
            logits, state = self.network.step(state, np.array([label]))
        return state, logits

    def labels(self, method: Greedy | Sampling, number: int = 0) -> Generator[tuple[int, float]]:
        """(label, its log-probability), one after the other, up to and with the end label.

        May be called again: every writing begins after the prompt.

        number  what random draws depend on besides the seed and the position
        """
        state, logits, numbers = self.state, self.logits, np.array([number], np.int64)
        recent, t = list(self.read), 0
        while True:
            label = int(method.choose(logits[:, self.first :], t, numbers)[0]) + self.first
            chosen = logits[:, label] - log_normalizer(logits)
            check_possible(chosen)
            yield label, float(chosen[0])
            if label == END:
                return
            recent.append(label)
            if self.window is not None and len(recent) > self.window:
                recent = recent[-max(1, self.window // 2) :]
                state, logits = self._read(recent)
            else:
                logits, state = self.network.step(state, np.array([label]))
            t += 1
