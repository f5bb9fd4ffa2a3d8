"""Images that move a little in training, each time by other pixels."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.data.batching import Batching
from dragoman.data.images.shifting import ShiftedStream
from dragoman.ranks import ALONE

CENTRE, SIDE = 4, 9


@dataclass(frozen=True)
class Dots:
    """Images with one white pixel in the middle, which shows how each was moved."""

    count: int = 64

    def __len__(self) -> int:
        return self.count

    def lengths(self) -> Any:
        return np.ones((self.count, 1), np.int64)

    def batch(self, items: Any) -> Batch:
        images = np.zeros((len(items), SIDE, SIDE, 1), np.uint8)
        images[:, CENTRE, CENTRE] = 255
        return Batch(images, np.arange(len(items) + 1), per="sample")


def moves(seed: int = 1, epoch: int = 0, position: int = 0, most: int = 2, ranks: Any = ALONE) -> list[tuple[int, int]]:
    """By how many pixels the images of one batch are moved, down and across."""
    stream = ShiftedStream(Dots(), Batching(samples=32), 0, most)
    stream.ranks = ranks
    stream.seek(seed, epoch, position)
    return [(int(down) - CENTRE, int(across) - CENTRE) for _, down, across, _ in np.argwhere(next(stream).labels)]


def test_every_move_up_to_the_most_occurs_in_both_directions() -> None:
    found = [move for position in (0, 1) for epoch in range(5) for move in moves(epoch=epoch, position=position)]
    for direction in zip(*found, strict=True):
        assert set(direction) == {-2, -1, 0, 1, 2}


@pytest.mark.parametrize("other", [{"seed": 2}, {"epoch": 1}, {"position": 1}], ids=str)
def test_seed_epoch_and_batch_each_move_images_otherwise(other: dict[str, int]) -> None:
    assert moves() == moves()
    assert moves(**other) != moves()


def test_each_rank_moves_its_images_as_one_process_does() -> None:
    parts = [
        moves(ranks=SimpleNamespace(size=2, own=lambda sizes, own=own: own)) for own in (slice(0, 20), slice(20, 32))
    ]
    assert parts[0] + parts[1] == moves()


def test_no_pixels_to_move_by_moves_nothing() -> None:
    assert set(moves(most=0)) == {(0, 0)}
