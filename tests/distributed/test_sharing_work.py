"""What ranks do that share an evaluation or a text, one rank at a time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dragoman import Translator
from dragoman.cli.quality import print_quality
from dragoman.errors import RankError
from dragoman.ranks import Ranks, using
from dragoman.tasks.vectors import averaging
from tests.tasks.conftest import translator, undertrained

__all__ = ["translator", "undertrained"]


class OneOfTwo(Ranks):
    """A rank beside another one that answers as it is told to."""

    size = 2

    def __init__(self, rank: int, other_sees_the_model: bool) -> None:
        self.rank, self.other = rank, other_sees_the_model

    def collect(self, value: Any) -> list[Any]:
        if isinstance(value, bool):
            return [value, self.other]
        raise RankError("the other rank is gone")

    def share(self, value: Any) -> Any:
        return value if self.first else "digest"


def quality(model: Translator, place: Path, ranks: Ranks) -> str:
    printed = io.StringIO()
    with using(ranks):
        print_quality(model, place, Console(file=printed, width=200))
    return printed.getvalue()


def test_a_lost_rank_is_no_failed_measurement(translator: Translator, undertrained: Path) -> None:
    with pytest.raises(RankError):
        quality(translator, undertrained, OneOfTwo(0, other_sees_the_model=True))


def test_where_a_rank_does_not_see_the_model_the_first_measures_alone(
    translator: Translator, undertrained: Path
) -> None:
    assert "testing pairs, beam of 4: BLEU" in quality(
        translator, undertrained, OneOfTwo(0, other_sees_the_model=False)
    )
    assert quality(translator, undertrained / "elsewhere", OneOfTwo(1, other_sees_the_model=True)) == ""


@given(st.lists(st.integers(2, 30), min_size=1, max_size=60), st.integers(1, 5), st.integers(1, 20))
def test_parts_of_a_text_are_read_once(lengths: list[int], size: int, rows: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    with patch.object(averaging, "LEAST", 10):
        found = []
        for rank in range(size):
            ranks = Ranks()
            ranks.rank, ranks.size = rank, size
            found.append(averaging.own_parts(offsets, rows, ranks))
    parts = [share for shares in zip(*found, strict=True) for share in shares]
    assert [i for first, last in parts for i in range(first, last)] == list(range(len(lengths)))
    most = size * max(10, averaging.PER_ROW * rows)
    assert len(found[0]) == -(-sum(lengths) // most)


def test_a_part_without_sentences_changes_nothing() -> None:
    table = np.ones((2, 3), np.float32)
    averaging.average([table], np.zeros(2), OneOfTwo(0, other_sees_the_model=True))
    np.testing.assert_array_equal(table, np.ones((2, 3)))


def test_rows_of_few_items_are_computed_by_every_rank() -> None:
    ranks = OneOfTwo(1, other_sees_the_model=True)
    np.testing.assert_array_equal(ranks.spread_rows(lambda some: 2 * np.array(some), [3]), [6])
