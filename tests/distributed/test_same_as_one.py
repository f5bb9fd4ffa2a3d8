"""Two ranks train what one process trains: every task, every way of stepping."""

from __future__ import annotations

import numpy as np
import pytest

from tests.distributed import cases, twenty_steps
from tests.distributed.conftest import Together
from tests.distributed.ranks_at_work import SHARDED

pytestmark = pytest.mark.filterwarnings("ignore::dragoman.errors.DragomanWarning")


def test_every_task_is_trained_as_by_one_process(together: Together) -> None:
    with cases.double_precision():
        alone = {name: cases.trained(given) for name, given in together.given.items()}
    assert len(alone) > 20
    differing = {}
    for name, one in alone.items():
        several = together.results[name]
        assert several["theta"].dtype == np.float64
        for what in ("theta", "errors"):
            if not np.allclose(several[what], one[what], rtol=0, atol=1e-9, equal_nan=True):
                differing[name, what] = np.nanmax(abs(several[what] - one[what]))
    assert not differing


def test_all_ranks_have_the_same_bits(together: Together) -> None:
    first, second = (found["thetas"] for found in together.ranks)
    assert len(first) > 25
    assert first == second


def test_a_sharded_optimizer_has_the_same_bits(together: Together) -> None:
    for name in [*SHARDED, "twenty steps", "epoch"]:
        whole = together.results["an epoch" if name == "epoch" else name]
        sharded = together.results[f"sharded {name}"]
        assert (sharded["theta"] == whole["theta"]).all(), name
        assert sharded["errors"].tobytes() == whole["errors"].tobytes(), name


def test_a_sharded_optimizer_keeps_half_of_the_moments(together: Together) -> None:
    whole, sharded = together.results["twenty steps"], together.results["sharded twenty steps"]
    assert whole["moments"] == 2 * whole["theta"].nbytes
    assert sharded["moments"] == pytest.approx(whole["theta"].nbytes, rel=1e-3)


def test_twice_32_are_64(together: Together, numba: None) -> None:
    """With dropout, by 20 steps of Adam in double precision; in single precision over an epoch."""
    double, single = twenty_steps.run(np.float64), twenty_steps.run(np.float32, twenty_steps.EPOCH)
    found, epoch = together.results["twenty steps"], together.results["an epoch"]
    np.testing.assert_allclose(found["theta"], double["theta"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["errors"], double["errors"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(epoch["errors"], single["errors"], rtol=1e-3)
    distance = np.linalg.norm(epoch["theta"] - single["theta"]) / np.linalg.norm(single["theta"])
    assert distance < 0.05, distance  # Adam magnifies the rounding of small gradients; a pair lost of 32 makes it 0.13


def test_a_training_of_one_process_goes_on_with_two(together: Together) -> None:
    np.testing.assert_allclose(together.results["resumed"]["theta"], together.resumed, rtol=0, atol=1e-9)
    notices, of_second = (found["notices"] for found in together.ranks)
    assert any("saved by 1 rank and goes on with 2" in text for text in notices), notices
    assert of_second == []


def test_a_budget_is_planned_by_the_first_rank(together: Together) -> None:
    first, second = (found["budget"] for found in together.ranks)
    assert first == second
    pace, steps = first
    assert pace > 0
    assert steps > 3


def test_a_rank_that_reads_other_data_is_an_error(together: Together) -> None:
    for found in together.ranks:
        assert "rank 1 reads other data than the first rank" in found["other data"]


def test_what_ranks_say_to_each_other(together: Together) -> None:
    first, second = (found["said"] for found in together.ranks)
    (_, left), (entered, _) = first.pop("turns"), second.pop("turns")
    assert entered >= left
    assert first == second
    assert first == {
        "sum": [3.0] * 5,
        "broadcast": [1.0] * 3,
        "gather": [[0.0, 0.5], [1.0, 0.5]],
        "share": {"ñ": [None, 0]},
        "collect": ["", "ñ"],
        "spread": ["10", "21", "30"],
        "too few": [8],
    }
