"""The collectives of `Ranks` by torch.distributed; arrays are shared with torch, not copied."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as distributed

from dragoman.distributed.reduction import SlicedReduction
from dragoman.distributed.turns import Heartbeat
from dragoman.errors import RankError
from dragoman.graph import Array, Theta
from dragoman.graph.gradient_slices import slices_of
from dragoman.ranks import Ranks, Reduction

T = TypeVar("T")


class TorchRanks(Ranks):
    """The ranks of the default process group."""

    def __init__(self, timeout: float) -> None:
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
        self.local_size = int(os.environ.get("LOCAL_WORLD_SIZE", self.size))
        self.timeout = timeout
        self._turns = 0

    def checked(self, collective: Callable[[], T]) -> T:
        """Run a collective; explain its failure."""
        try:
            return collective()
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise RankError(
                f"rank {self.rank} of {self.size} lost the others ({reason}); a rank was stopped, its machine or the "
                f"network failed, or one was silent for {self.timeout:g} s. Run the same command again, or let "
                "torchrun do it with --max-restarts: a training resumes from its last checkpoint"
            ) from None

    def sum(self, numbers: Array) -> None:
        self.checked(lambda: distributed.all_reduce(torch.from_numpy(numbers)))

    def gather(self, numbers: Sequence[float]) -> Array:
        return self._rows(np.array(numbers, np.float64))

    def _rows(self, own: Array) -> Array:
        """[size, n]: the vector of every rank."""
        found = np.empty((self.size, len(own)), own.dtype)
        rows = [torch.from_numpy(row) for row in found]
        self.checked(lambda: distributed.all_gather(rows, torch.from_numpy(own)))
        return found

    def broadcast(self, numbers: Array, source: int = 0) -> None:
        if numbers.size:
            self.checked(lambda: distributed.broadcast(torch.from_numpy(numbers), source))

    def share(self, value: Any) -> Any:
        text = json.dumps(value).encode() if self.first else b""
        size = np.array([len(text)], np.int64)
        self.broadcast(size)
        letters = np.frombuffer(text, np.uint8).copy() if self.first else np.empty(size[0], np.uint8)
        self.broadcast(letters)
        return json.loads(letters.tobytes())

    def collect(self, value: Any) -> list[Any]:
        letters = np.frombuffer(json.dumps(value).encode(), np.uint8)
        sizes = self.gather([len(letters)])[:, 0].astype(int)
        own = np.zeros(sizes.max(), np.uint8)
        own[: len(letters)] = letters
        rows = self._rows(own)
        return [json.loads(row[:size].tobytes()) for row, size in zip(rows, sizes, strict=True)]

    def reduction(self, theta: Theta, gradient: Array) -> Reduction:
        return SlicedReduction(slices_of(theta), gradient, self.checked)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Wait on the store, not in a collective: those give up after the timeout."""
        self._turns += 1
        name = f"turn-{self._turns}"
        machine, all_done = f"{name}-on-{os.environ.get('GROUP_RANK', '0')}", f"{name}-done"
        store = distributed.distributed_c10d._get_default_store()
        with Heartbeat(store, name, self.rank, self.size, self.timeout) as heartbeat:
            if self.local_rank:
                self.checked(lambda: heartbeat.wait(machine))
            yield
            if not self.local_rank:
                heartbeat.raise_flag(machine)
            heartbeat.raise_flag(all_done)
            self.checked(lambda: heartbeat.wait(all_done, self.size))
