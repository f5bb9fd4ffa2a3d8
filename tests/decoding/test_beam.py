"""Beam search against a search in plain lists, and against all sequences there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.decoding import Beam, Greedy, decode
from dragoman.decoding.probabilities import highest
from dragoman.errors import ConfigurationError
from tests.decoding.fakes import CONTENT, Fake, Script, beam_by_hand, everything, plainly

SOURCES = [[4, 5], [6], [4, 4, 4, 7], [], [5, 6, 7], [7, 7]]
LONGEST = [6, 0, 3, 9, 1, 5]
PREFIXES = [[], [], [7, 4, 4], [5], [6], [4, 1]]


@pytest.mark.ledger("B-7.5-beam")
@pytest.mark.parametrize("prefixes", [None, PREFIXES])
@pytest.mark.parametrize(
    ("seed", "width", "best", "penalty", "end"),
    [
        (0, 2, 2, 1.0, 1.0),
        (1, 3, 1, 0.0, 0.0),
        (2, 4, 2, 0.6, 2.0),
        (3, 5, 5, 2.0, -1.0),
        (4, 4, 4, 1.0, -2.0),
        (5, 11, 7, 1.0, 1.0),  # wider than the vocabulary
        (6, 1, 1, 0.5, 0.5),
        (7, 7, 1, 1.0, 3.0),
        (8, 3, 3, -0.5, 0.0),
    ],
)
def test_a_search_in_lists_finds_the_same(
    seed: int, width: int, best: int, penalty: float, end: float, prefixes: Any
) -> None:
    network = Fake(8, seed, end)
    found = decode(network, SOURCES, Beam(width, penalty, best), LONGEST, prefixes)
    for i, hypotheses in enumerate(found):
        prefix = prefixes[i] if prefixes else ()
        expected = beam_by_hand(network, SOURCES[i], LONGEST[i], width, penalty, best, prefix)[0]
        assert [(h.labels.tolist(), h.finished) for h in hypotheses] == [
            (labels, ends) for labels, _, ends, _ in expected
        ]
        np.testing.assert_allclose([h.log_probability for h in hypotheses], [e[1] for e in expected], atol=1e-12)
        np.testing.assert_allclose([h.score for h in hypotheses], [e[3] for e in expected], atol=1e-12)


def test_unfinished_hypotheses_are_among_those_compared() -> None:
    found = decode(Fake(seed=4, end=-2.0), SOURCES, Beam(4, best=4), LONGEST)
    assert {h.finished for hypotheses in found for h in hypotheses} == {True, False}


@pytest.mark.ledger("B-7.5-beam")
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize(("vocabulary", "longest", "width"), [(6, 4, 48), (7, 3, 108)])
def test_at_full_width_it_ranks_all_sequences_there_are(
    vocabulary: int, longest: int, width: int, penalty: float
) -> None:
    network, sources = Fake(vocabulary, 5), [[4], [5, 5], []]
    found = decode(network, sources, Beam(width, penalty, best=width), longest)
    for source, hypotheses in zip(sources, found, strict=True):
        expected = everything(network, source, longest, penalty)
        assert [h.labels.tolist() for h in hypotheses] == [labels for labels, _, _ in expected]
        np.testing.assert_allclose([h.score for h in hypotheses], [s for _, _, s in expected], atol=1e-12)
        assert len(hypotheses) == sum((vocabulary - CONTENT) ** n for n in range(longest + 1))


def test_the_penalties_above_lead_to_different_winners() -> None:
    found = {tuple(everything(Fake(7, 5), [4], 3, penalty)[0][0]) for penalty in (0.0, 1.0, 2.0)}
    assert len(found) > 1


@pytest.mark.ledger("B-7.5-beam")
def test_it_finds_what_greedy_misses() -> None:
    """Greedy takes 4 (0.5) and pays for it (0.1); the best sequence begins with 5 (0.4)."""
    first = [0, 0, 0, 0, 0.5, 0.4, 0.1]

    class Garden(Fake):
        def logits(self, source: Any, labels: Any) -> Any:
            after = {(2,): first, (2, 4): [0, 0, 0, 0.1, 0.3, 0.3, 0.3], (2, 5): [0, 0, 0, 0.9, 0, 0, 0.1]}
            with np.errstate(divide="ignore"):
                return np.log(after.get(labels, [0, 0, 0, 1, 0, 0, 0]))

    network = Garden(7)
    assert plainly(decode(network, [[]], Beam(2, 0.0), 3)) == [[([5], True)]]
    (greedy,), (beam,) = (decode(network, [[]], method, 3)[0] for method in (Greedy(), Beam(2, 0.0)))
    assert greedy.labels.tolist() == [4, 4]
    assert beam.log_probability == pytest.approx(np.log(0.36))
    assert greedy.log_probability == pytest.approx(np.log(0.15))


@pytest.mark.ledger("B-7.5-beam")
def test_a_wider_beam_is_better_on_average() -> None:
    sources = [[4 + i % 4] * (i % 5) + [i] for i in range(40)]
    means = [
        np.mean([h.score for (h,) in decode(Fake(seed=9, end=1.0), sources, Beam(width), 8)]) for width in (1, 2, 4, 12)
    ]
    assert means == sorted(means)
    assert means[-1] > means[0] + 0.1


def test_improbable_sentences_that_end_early_do_not_stop_a_sure_one() -> None:
    """Two have ended after two steps, but 4 4 4 4 stands far better than both."""
    sure, end = [0, 0, 0, 0.02, 0.97, 0.01], [0, 0, 0, 0.98, 0.01, 0.01]
    network = Script(sure, sure, sure, sure, end)
    assert plainly(decode(network, [[]], Beam(2), 9)) == [[([4, 4, 4, 4], True)]]


def test_ties_are_broken_by_beam_then_label_then_time() -> None:
    even = Script([1 / 6] * 6)
    found = decode(even, [[], []], Beam(3, 0.0, best=3), 5)
    assert plainly(found) == [[([], True), ([4], True), ([4, 4], True)]] * 2
    assert plainly(decode(even, [[]], Beam(2, best=2), 5)) == [[([], True), ([4], True)]]


def test_an_end_that_is_not_among_the_first_width_does_not_count() -> None:
    network = Script([0, 0, 0, 0.2, 0.5, 0.3], [0, 0, 0, 1, 0, 0])
    assert plainly(decode(network, [[]], Beam(2, 0.0, best=2), 5)) == [[([4], True), ([5], True)]]


def test_no_more_hypotheses_than_exist() -> None:
    """One word can be written, once: two sequences, though five are asked for."""
    network = Script([0, 0, 0, 0.5, 0.5], [0, 0, 0, 1, 0])
    assert plainly(decode(network, [[]], Beam(5, best=5), 9)) == [[([4], True), ([], True)]]


def test_rows_are_spent_only_on_beams_that_differ_and_on_sentences_that_go_on() -> None:
    network, width = Fake(seed=2, end=1.0), 4
    prefixes = [[5, 6]] * len(SOURCES)
    decode(network, SOURCES, Beam(width), 6, prefixes)
    steps = [beam_by_hand(network, source, 6, width, 1.0, 1, [5, 6])[1] for source in SOURCES]
    active = [sum(t < taken for taken in steps) for t in range(max(steps))]
    assert network.encoded == [len(SOURCES)]
    assert network.rows[:3] == [len(SOURCES)] * 3
    assert network.rows[3:] == [width * count for count in active[3:]]
    assert len(set(active)) > 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "must be at least 1, got 0"),
        ({"width": 2, "best": 3}, "width 2 can return 1 to 2 hypotheses, not 3"),
        ({"best": 0}, "not 0"),
        ({"length_penalty": float("nan")}, "must be finite, got nan"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Beam(**settings)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 20])
def test_the_highest_are_those_of_a_stable_sort(count: int) -> None:
    """With many ties, and rows that have fewer than asked for."""
    x = np.random.default_rng(0).integers(0, 4, (50, 7)).astype(np.float32)
    x[x == 0] = -np.inf
    x[3] = -np.inf
    values, columns = highest(x, count)
    order = np.argsort(-x, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis=1))
    np.testing.assert_array_equal(columns[values > -np.inf], order[values > -np.inf])
    assert values.dtype == np.float32
