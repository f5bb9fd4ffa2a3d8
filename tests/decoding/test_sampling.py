"""Sampling: labels come with the probabilities the network gives them, and a sentence's draws are its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.decoding import Greedy, Sampling, decode
from dragoman.decoding.single import uniform
from dragoman.errors import ConfigurationError, NonFiniteError
from dragoman.graph import Array
from tests.decoding.fakes import Fake, Script, plainly, same

P = np.array([0.1, 0.05, 0.05, 0.08, 0.32, 0.16, 0.02, 0.22])  # pad, unknown, start, end and four words
SOURCES = [[4, 5], [6], [4, 4, 4, 7], [], [5, 6, 7], [7, 7]]
DRAWS = 20_000


def chi_square(counts: Array, p: Array) -> float:
    expected = counts.sum() * p / p.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def first_labels(method: Sampling) -> Array:
    """[8] how often each label came first, in many sentences; 3 stands for an end at once."""
    found = decode(Script(P, [0, 0, 0, 1, 0, 0, 0, 0]), [[]] * DRAWS, method, 1, batch=DRAWS)
    return np.bincount([int(h.labels[0]) if len(h.labels) else 3 for (h,) in found], minlength=8)


@pytest.mark.ledger("B-7.5-sample")
@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_frequencies_are_the_probabilities(temperature: float, seed: int) -> None:
    """The end and four words: 4 degrees of freedom, 18.5 is exceeded once in a thousand."""
    counts = first_labels(Sampling(temperature, seed=seed))
    assert (counts[:3] == 0).all()
    assert chi_square(counts[3:], P[3:] ** (1 / temperature)) < 18.5
    assert chi_square(counts[3:], P[3:] ** (1.2 / temperature)) > 18.5  # so many draws tell them apart


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"top_k": 2}, [4, 7]),
        ({"top_k": 3}, [4, 5, 7]),
        ({"top_p": 0.65}, [4, 7]),  # 0.54 of 0.8 is 0.675
        ({"top_p": 0.7}, [4, 5, 7]),
        ({"top_p": 0.39}, [4]),
        ({"top_k": 3, "top_p": 0.75}, [4, 7]),  # 0.54 of the 0.7 that three have is 0.771
        ({"top_k": 3, "top_p": 0.8}, [4, 5, 7]),
        ({"temperature": 0.25, "top_p": 0.65}, [4]),  # sharpened first: 4 alone has 0.8
    ],
)
def test_only_the_most_probable_are_drawn_in_their_proportions(settings: dict[str, Any], kept: list[int]) -> None:
    method = Sampling(**settings)
    counts = first_labels(method)
    assert np.flatnonzero(counts).tolist() == kept
    if len(kept) > 1:
        assert chi_square(counts[kept], P[kept]) < 13.8


@pytest.mark.parametrize("top_p", [0.01, 0.2, 0.5, 0.9, 0.999])
def test_top_p_is_the_shortest_beginning_of_the_sorted_labels(top_p: float) -> None:
    """Also where it takes hundreds of labels, and whatever the neighbours take."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((6, 900)) * np.array([[0.0], [0.1], [1], [2], [5], [0.5]])
    weights = Sampling(top_p=top_p).weights(logits)
    for row, ours in zip(logits, weights, strict=True):
        p = np.exp(row) / np.exp(row).sum()
        order = np.argsort(-p, kind="stable")
        size = next(n for n in range(1, 901) if p[order[:n]].sum() >= top_p - 1e-12)
        np.testing.assert_array_equal(np.sort(np.flatnonzero(ours)), np.sort(order[:size]))
        np.testing.assert_allclose(ours[order[:size]] / ours.max(), p[order[:size]] / p.max(), rtol=1e-12)


def test_top_k_of_equal_labels_takes_the_lowest() -> None:
    np.testing.assert_array_equal(Sampling(top_k=2).weights(np.array([[1.0, 2, 2, 2]])), [[0, 1, 1, 0]])


@pytest.mark.parametrize("method", [Sampling(1e-6), Sampling(1e-300), Sampling(top_k=1), Sampling(top_p=1e-9)])
def test_the_limits_are_greedy(method: Sampling) -> None:
    network = Fake(seed=4, end=1.0)
    same(decode(network, SOURCES, method, 6), decode(network, SOURCES, Greedy(), 6))


def test_cutting_nothing_off_changes_no_draw() -> None:
    network = Fake(seed=4)
    plain = decode(network, SOURCES, Sampling(seed=5), 6)
    for method in (Sampling(top_k=99, seed=5), Sampling(top_p=1.0, seed=5)):
        same(decode(network, SOURCES, method, 6), plain)


def test_the_log_probability_is_the_networks_own() -> None:
    network = Fake(seed=6)
    for i, (h,) in enumerate(decode(network, SOURCES, Sampling(2.0, top_k=4, top_p=0.9, seed=1), 6)):
        written = [*h.labels.tolist(), *([3] if h.finished else [])]
        expected = sum(network.log_p(SOURCES[i], written[:t])[label] for t, label in enumerate(written))
        assert h.log_probability == pytest.approx(expected, abs=1e-12)


def test_a_seed_repeats_and_another_differs() -> None:
    seeds = [0, 1, 2, 2**32, 2**40, -1]
    found = [plainly(decode(Fake(seed=7), SOURCES, Sampling(seed=seed), 8)) for seed in seeds]
    again = [plainly(decode(Fake(seed=7), SOURCES, Sampling(seed=seed), 8)) for seed in seeds]
    assert found == again
    assert len({str(one) for one in found}) == len(seeds)


@pytest.mark.parametrize("method", [Sampling(), Sampling(top_p=0.8), Sampling(0.7, top_k=3, seed=2)])
def test_draws_depend_on_the_number_of_a_sentence_and_not_on_its_neighbours(method: Sampling) -> None:
    network = Fake(seed=8)
    together = decode(network, SOURCES, method, 6)
    for batch in (1, 2, 5):
        same(decode(network, SOURCES, method, 6, batch=batch), together)
    for i, source in enumerate(SOURCES):
        same(decode(network, [source], method, 6, numbers=[i]), [together[i]])
    others = decode(network, SOURCES, method, 6, numbers=[9, 8, 7, 6, 5, 2**35])
    assert plainly(others) != plainly(together)


def test_equal_sources_are_drawn_independently() -> None:
    assert len({str(found) for found in plainly(decode(Fake(seed=1), [[4]] * 30, Sampling(), 6))}) > 12


@pytest.mark.parametrize("neighbour", ["number", "high number", "step", "seed"])
def test_neighbouring_draws_are_independent(neighbour: str) -> None:
    """Pairs of draws on an 8 by 8 grid: 63 degrees of freedom, 103.4 is exceeded once in a thousand."""
    numbers = np.arange(40_000)
    one = uniform(5, 3, numbers)
    other = {
        "number": uniform(5, 3, numbers + 1),
        "high number": uniform(5, 3, numbers + 2**32),
        "step": uniform(5, 4, numbers),
        "seed": uniform(6, 3, numbers),
    }[neighbour]
    assert ((one > 0) & (one < 1)).all()
    cells = (one * 8).astype(int) * 8 + (other * 8).astype(int)
    assert chi_square(np.bincount(cells, minlength=64), np.full(64, 1.0)) < 103.4


def test_nothing_to_draw_from_is_refused() -> None:
    with pytest.raises(NonFiniteError, match="every label that may come next"):
        decode(Script([0.5, 0.5, 0, 0, 0]), [[]], Sampling(), 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, r"above 0, got 0.0; the limit 0 is Greedy\(\)"),
        ({"temperature": -1.0}, "got -1.0"),
        ({"temperature": float("nan")}, "got nan"),
        ({"temperature": float("inf")}, "got inf"),
        ({"top_k": 0}, "at least one token, got 0"),
        ({"top_p": 0.0}, "above 0, got 0.0"),
        ({"top_p": 1.1}, "got 1.1"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Sampling(**settings)
