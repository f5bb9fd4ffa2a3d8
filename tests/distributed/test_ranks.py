"""How work is shared out among ranks: nothing is lost, nothing is done twice, and shares are even."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Batch
from dragoman.ranks import ALONE, Ranks, current, using
from dragoman.training.placing import own_part, placed

COUNTS = st.integers(1, 9)
SIZES = st.lists(st.integers(0, 50), max_size=40)


class OneOf(Ranks):
    """A rank that others stand beside; what they say is given."""

    def __init__(self, rank: int, size: int, others: list[list[float]] | None = None) -> None:
        self.rank, self.size, self._others = rank, size, others

    def gather(self, numbers):  # type: ignore[no-untyped-def]
        return np.array(self._others, np.float64)


def all_of(size: int) -> list[OneOf]:
    return [OneOf(rank, size) for rank in range(size)]


@given(SIZES, COUNTS)
def test_shares_follow_one_another(sizes: list[int], count: int) -> None:
    shares = [ranks.own(sizes) for ranks in all_of(count)]
    assert [i for share in shares for i in range(len(sizes))[share]] == list(range(len(sizes)))
    assert all(share.start <= share.stop for share in shares)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), COUNTS)
def test_shares_are_even(sizes: list[int], count: int) -> None:
    """No share differs from an equal one by more than its two ends may be moved: half an item each."""
    for ranks in all_of(count):
        assert abs(sum(sizes[ranks.own(sizes)]) - sum(sizes) / count) <= max(sizes)


@given(st.integers(0, 100), COUNTS)
def test_spans_cover_a_vector(length: int, count: int) -> None:
    spans = OneOf(0, count).spans(length)
    assert len(spans) == count
    assert [i for span in spans for i in range(span.start, span.stop)] == list(range(length))
    assert len({span.stop - span.start for span in spans if span.stop < length}) <= 1


@given(st.lists(st.integers()), COUNTS)
def test_spread_results_are_in_the_order_of_the_items(items: list[int], count: int) -> None:
    said: list[list[int]] = []

    class Collecting(OneOf):
        def collect(self, value: list[int]) -> list[list[int]]:
            said.append(value)
            return said

    for ranks in [Collecting(rank, count) for rank in range(count)]:
        results = ranks.spread(lambda some: [-x for x in some], items) if len(said) == count - 1 else None
        if results is None:
            said.append([-x for x in items[ranks.rank :: count]])
    assert results == [-x for x in items]


def test_a_part_knows_its_place_in_the_batch() -> None:
    pairs = Batch.pairs([[4, 5], [6], [7, 8, 9], [4]], [[2, 3], [2, 5, 3], [2, 3], [2, 3]])
    whole = placed(pairs, ALONE)
    parts = [own_part(pairs, ranks) for ranks in all_of(3)]
    said = [[len(p), len(p.labels), len(p.source.labels), p.weight, -1] for p in parts if p.source is not None]
    assert len(said) == 3
    rows = sources = sequences = 0
    for rank, part in enumerate(parts):
        found = placed(part, OneOf(rank, 3, said))
        assert (found.weight, found.sequences, found.tokens, found.continues) == (
            whole.weight,
            whole.sequences,
            whole.tokens,
            None,
        )
        source = found.batch.source
        assert source is not None
        assert (found.batch.first_row, source.first_row) == (rows, sources)
        assert found.batch.first_sequence == source.first_sequence == sequences
        rows, sources, sequences = rows + len(part.labels), sources + len(source.labels), sequences + len(part)


def test_a_rank_without_a_part_knows_the_whole() -> None:
    part = own_part(Batch.pairs([[4]], [[2, 3]]), OneOf(1, 2))
    assert len(part) == 0
    found = placed(part, OneOf(1, 2, [[1, 1, 1, 1.0, 1], [0, 0, 0, 0.0, -1]]))
    assert (found.weight, found.sequences, found.tokens, found.continues) == (1.0, 1, 2, True)


def test_one_process_is_the_first_of_one() -> None:
    assert current() is ALONE
    assert ALONE.first
    with using(OneOf(1, 2)) as ranks:
        assert current() is ranks
        assert not ranks.first
    assert current() is ALONE
    assert ALONE.share([1]) == [1]
    assert ALONE.collect("a") == ["a"]
    assert ALONE.gather([1, 2]).tolist() == [[1, 2]]
