"""Sum a gradient over all ranks in slices of the flat vector, the first of them while the pass goes on.

Every rank must sum the same slices in the same order, so the order is fixed: that in which a backward pass completes
its parameters, from the end of theta to its start. The small parameters, which are written at the end of a pass, go
together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as distributed

from dragoman.graph import Array
from dragoman.graph.gradient_slices import Slices
from dragoman.ranks import Reduction


class SlicedReduction(Reduction):
    """One sum of a gradient. Threads may call `written` while others compute."""

    def __init__(self, slices: Slices, gradient: Array, checked: Callable[[Callable[[], Any]], Any]) -> None:
        self._slices, self._gradient, self._checked = slices, gradient, checked
        self._complete: set[int] = set()
        self._next = 0  # of the large parameters: those before it are being sent
        self._sent: list[Any] = []
        self._lock = threading.Lock()

    def written(self, parameter: int) -> None:
        with self._lock:
            self._complete.add(parameter)
            large = self._slices.large
            while self._next < len(large) and large[self._next][0] in self._complete:
                self._send_next()

    def _send_next(self) -> None:
        for part in self._slices.large[self._next][1]:
            self._send(self._gradient[part])
        self._next += 1

    def _send(self, numbers: Array) -> None:
        self._sent.append(self._checked(lambda: distributed.all_reduce(torch.from_numpy(numbers), async_op=True)))

    def finish(self) -> None:
        gradient, small = self._gradient, self._slices.small
        while self._next < len(self._slices.large):
            self._send_next()
        together = np.concatenate([gradient[part] for part in small]) if small else gradient[:0]
        if together.size:
            self._send(together)
        for work in self._sent:
            self._checked(work.wait)
        start = 0
        for part in small:
            size = part.stop - part.start
            gradient[part] = together[start : start + size]
            start += size
