"""What is drawn while vectors are learnt: negatives, windows, the words that stay."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.operations.vector_steps import Epoch, drawn, vector_steps
from dragoman.tasks.vectors.plan import VectorSettings, alias_table, make_plan
from tests.tasks.vectors.made_up import SMALL


def test_an_alias_table_holds_the_weights() -> None:
    weights = np.array([5.0, 1e-6, 3.0, 0.5, 0.5, 4.0, 1.0])
    shares, others = alias_table(weights)
    held = (shares / 2**32) / len(weights)
    np.add.at(held, others, (1 - shares / 2**32) / len(weights))
    np.testing.assert_allclose(held, weights / weights.sum(), atol=1e-9)
    np.testing.assert_array_equal(alias_table(np.ones(3))[1], [0, 1, 2])


def test_negatives_come_up_as_often_as_counts_to_the_three_quarters() -> None:
    counts = np.array([1000, 100, 10, 1])
    plan = make_plan(counts, 1111, SMALL)
    found = Counter(drawn(plan, row, number) for row in range(0, 40_000, 7) for number in range(5))
    wanted = counts**0.75 / (counts**0.75).sum()
    total = found.total()
    for word in range(4):
        assert abs(found[word] - total * wanted[word]) < 4 * (total * wanted[word]) ** 0.5


def test_all_bits_of_a_seed_count() -> None:
    seeds = (1, 1 + 2**32, 1 + 2**40, 1 + 2**63)
    assert len({Epoch(seed, 0, 0).key(what) for seed in seeds for what in range(3)}) == 12


@pytest.mark.usefixtures("fast")
def test_windows_shrink_and_frequent_words_are_thinned_out() -> None:
    size = 100_000
    labels = (np.arange(size) % 10 == 0).astype(np.int32)  # word 0 is nine tenths of the text

    def count(settings: VectorSettings, kept: Array | None = None) -> int:
        plan = make_plan(np.bincount(labels), size, settings)
        plan = plan if kept is None else replace(plan, kept=kept)
        tables = np.zeros((2, 2, 4), np.float32)
        return vector_steps(*tables, labels, np.array([0, size]), plan=plan, epoch=Epoch(0, 0, 0), first=0, last=1)[1]

    # a reach of 1 to 5, each as likely: 3 on either side
    assert count(replace(SMALL, window=5)) == pytest.approx(6 * size, rel=0.01)
    assert count(replace(SMALL, window=1)) == 2 * size - 2
    assert count(replace(SMALL, method="cbow", window=5)) == size
    share = np.sqrt(0.01 / 0.9) + 0.01 / 0.9, np.sqrt(0.01 / 0.1) + 0.01 / 0.1
    left = size * (0.9 * share[0] + 0.1 * share[1])
    assert count(replace(SMALL, method="cbow", subsampling=0.01)) == pytest.approx(left, rel=0.02)
    only = np.array([0, 2**32 - 1], np.uint32)
    assert count(replace(SMALL, window=1), only) == pytest.approx(2 * size / 10, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"method": "glove"}, "method is skip-gram or cbow, got 'glove'"),
        ({"split": "letters"}, "split is words or spaces, got 'letters'"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"window": 0}, "window must be at least 1"),
        ({"minimum_count": 0}, "minimum_count must be at least 1"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"negative": -1}, "negative must not be below 0, got -1"),
        ({"seed": -1}, "seed must not be below 0"),
        ({"rate": 0.0}, "must be above last_rate .*, got 0.0"),
        ({"rate": 1e-5}, "the rate must be above last_rate 0.0001, got 1e-05"),
        ({"rate": float("nan")}, "got nan"),
        ({"rate": float("inf")}, "got inf"),
        ({"subsampling": 2.0}, r"from 0 \(none\) to 1, got 2.0"),
    ],
    ids=str,
)
def test_settings_have_their_range(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        replace(SMALL, **wrong)  # type: ignore[arg-type]
