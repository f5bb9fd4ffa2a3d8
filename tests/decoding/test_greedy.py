"""Greedy decoding: the most probable label, one after the other, until the end label or the maximum length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.decoding import Beam, Greedy, decode
from tests.decoding.fakes import Fake, Script, greedy_by_hand, plainly, same

SOURCES = [[4, 5], [6], [4, 4, 4, 7], [], [5, 6, 7], [7, 7]]
LONGEST = [6, 0, 3, 9, 1, 5]
PREFIXES = [[], [], [7, 4, 4], [5], [6], [4, 1]]


@pytest.mark.ledger("B-7.5-argmax", "B-7.34eq")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("prefixes", [None, PREFIXES])
def test_a_loop_over_labels_says_the_same(seed: int, prefixes: Any) -> None:
    network = Fake(seed=seed, end=1.0)
    found = decode(network, SOURCES, Greedy(), LONGEST, prefixes)
    for i, (hypothesis,) in enumerate(found):
        labels, total, finished = greedy_by_hand(network, SOURCES[i], LONGEST[i], prefixes[i] if prefixes else ())
        assert (hypothesis.labels.tolist(), hypothesis.finished) == (labels, finished)
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-12)
        assert hypothesis.score == pytest.approx(total / max(1, len(labels) + finished), abs=1e-12)


def test_both_ways_of_stopping_are_among_these_sentences() -> None:
    """Else the test above would show less than it says."""
    found = [decode(Fake(seed=seed, end=1.0), SOURCES, Greedy(), LONGEST) for seed in range(8)]
    stops = [(h.finished, len(h.labels) == most) for f in found for (h,), most in zip(f, LONGEST, strict=True)]
    assert set(stops) == {(True, True), (True, False), (False, True)}


@pytest.mark.ledger("B-7.5-argmax")
def test_it_repeats_itself() -> None:
    same(*(decode(Fake(seed=3), SOURCES, Greedy(), LONGEST) for _ in range(2)))


@pytest.mark.ledger("B-7.5-beam")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("prefixes", [None, PREFIXES])
def test_a_beam_of_width_1_is_greedy_to_the_last_bit(seed: int, prefixes: Any, dtype: Any) -> None:
    network = Fake(seed=seed, end=0.5, dtype=dtype)
    same(*(decode(network, SOURCES, method, LONGEST, prefixes) for method in (Greedy(), Beam(width=1))))


def test_of_equal_labels_the_lowest_is_taken() -> None:
    network = Script([0.1, 0.1, 0.1, 0.1, 0.1, 0.25, 0.25], [0, 0, 0, 1, 0, 0, 0])
    for method in (Greedy(), Beam(width=1)):
        assert plainly(decode(network, [[], []], method, 5)) == [[([5], True)]] * 2


def test_an_end_as_probable_as_a_word_is_the_end() -> None:
    """Though the word would lead to a better mean."""
    network = Script([0, 0, 0, 0.5, 0.5], [0, 0, 0, 1, 0])
    for method in (Greedy(), Beam(width=1)):
        assert plainly(decode(network, [[]], method, 5)) == [[([], True)]]


@pytest.mark.ledger("B-7.34eq")
def test_the_encoder_runs_once_and_ended_sentences_leave_the_batch() -> None:
    network = Fake(seed=2, end=1.0)
    found = decode(network, SOURCES, Greedy(), LONGEST)
    steps = [len(h.labels) + 1 for (h,) in found]  # the last one says that it ends, or that it is full
    assert network.encoded == [len(SOURCES)]
    assert network.rows == [sum(t < taken for taken in steps) for t in range(max(steps))]
    assert len(set(steps)) > 2
