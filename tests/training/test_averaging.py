"""The moving average of theta: followed by its formula, evaluated and kept in place of theta, which never notices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.loss import LossIndex
from dragoman.networks import Network
from dragoman.optimization import GradientDescent
from dragoman.training import Checkpoints, Stopping, Validation
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import CASES, JUDGED, POINTS, Case, Heard, dropping, judged_pairs, judged_points

CASE = Case(lambda: Perceptrons(3, 4, 2), POINTS, settings={"validation": Validation(judged_points)})


@pytest.mark.parametrize("averaging", [0.05, 0.4, 0.999])
def test_the_average_follows_its_formula(averaging: float) -> None:
    """a_t = d a_{t-1} + (1 - d) theta_t, with d = min(averaging, t / (t + 9)): the start is soon forgotten."""
    heard = Heard()
    training = CASE.build(averaging=averaging, watch=heard, stopping=Stopping(30))
    expected = training.network.theta.values.copy()
    training.run()
    for t, theta in enumerate(heard.thetas, start=1):
        d = min(averaging, t / (t + 9))
        expected = d * expected + (1 - d) * theta
    np.testing.assert_allclose(training.step.average, expected, rtol=1e-12)
    assert np.abs(expected - heard.thetas[-1]).max() > 1e-4


def test_the_formula_of_the_first_steps_by_hand() -> None:
    """Theta 1, 2, 3, ... from 0: decays 1/10, 2/11, 3/12."""
    training = Case(lambda: Perceptrons(1, 1), POINTS, GradientDescent, settings={"averaging": 0.9}).build()
    theta = training.network.theta
    theta.values[:] = 0.0
    training.step.average = theta.values.copy()

    def rise(*_: object) -> None:
        theta.values += 1.0
        training.optimizer.t += 1

    training.optimizer.update = rise  # type: ignore[method-assign]
    training.step.differentiate = lambda batch, key: (  # type: ignore[method-assign]
        LossIndex().evaluate(Perceptrons(3, 2), batch),
        np.zeros(2),
        0,
    )
    supply, found = iter(training.batches), []
    for _ in range(3):
        training.step.take([next(supply)], training.schedule)
        found.append(training.step.average[0])
    first = 0.9 * 1
    second = 2 / 11 * first + 9 / 11 * 2
    third = 3 / 12 * second + 9 / 12 * 3
    assert found == pytest.approx([first, second, third], rel=1e-15)


@pytest.mark.parametrize("averaging", [0.3, 0.99])
def test_training_goes_its_way_as_if_there_were_no_average(averaging: float) -> None:
    runs = []
    for setting in (0.0, averaging):
        heard = Heard()
        validation = Validation(judged_pairs, every=1, scores=lambda network: {"parameters": network.count()})
        training = Case(dropping(), settings={"validation": validation}).build(averaging=setting, watch=heard)
        outcome = training.run()
        runs.append((heard.thetas, [record.training for record in outcome.records], training.step.average))
    (plain, losses, nothing), (beside, as_before, average) = runs
    assert nothing is None
    assert average is not None
    assert losses == as_before
    for one, other in zip(plain, beside, strict=True):
        assert one.tobytes() == other.tobytes()


def test_evaluation_scores_and_what_is_kept_are_those_of_the_average() -> None:
    seen: dict[str, list[Array]] = {"scores": [], "best": []}

    def look(name: str, network: Network) -> dict[str, float]:
        seen[name].append(network.theta.values.copy())
        return {"looked": float(len(seen[name]))}

    validation = Validation(judged_pairs, best_by="looked", scores=lambda network: look("scores", network))
    training = Case(settings={"validation": validation}).build(
        averaging=0.6,
        stopping=Stopping(epochs=1),
        on_best=lambda network: look("best", network),  # type: ignore[arg-type,return-value]
    )
    (record,) = training.run().records
    theta = training.network.theta.values.copy()
    assert training.step.average is not None
    assert theta.tobytes() != training.step.average.tobytes()
    for (found,) in seen.values():
        assert found.tobytes() == training.step.average.tobytes()
    training.network.theta.assign(training.step.average)
    plain = [LossIndex().evaluate(training.network, JUDGED.batch(np.arange(a, b))) for a, b in ((0, 5), (5, 7))]
    assert record.validation is not None
    assert record.validation.hits == sum(loss.hits for loss in plain)
    weights = [loss.positions for loss in plain]
    assert record.validation.error == pytest.approx(np.average([loss.error for loss in plain], weights=weights))


def test_theta_comes_back_even_when_an_evaluation_fails() -> None:
    class Failed(Exception):
        pass

    def fail(network: Network) -> dict[str, float]:
        raise Failed

    heard = Heard()
    training = CASE.build(averaging=0.5, watch=heard, validation=Validation(judged_points, scores=fail))
    with pytest.raises(Failed):
        training.run()
    assert training.network.theta.values.tobytes() == heard.thetas[-1].tobytes()


def test_frozen_parameters_are_the_same_in_theta_and_average() -> None:
    training = CASES["frozen"].build()
    start = training.network.theta.values.copy()
    training.run()
    assert training.step.average is not None
    frozen = np.ones(len(start), bool)
    for segment in training.network.theta.trainable():
        frozen[segment] = False
    assert 0 < frozen.sum() < len(frozen)
    assert training.step.average[frozen].tobytes() == start[frozen].tobytes()
    assert (training.step.average[~frozen] != start[~frozen]).any()


def test_the_average_is_saved_beside_theta(tmp_path: Path) -> None:
    training = CASES["averaged"].build(tmp_path)
    training.run()
    found = Checkpoints(tmp_path / "checkpoints").load()
    assert found is not None
    assert found[0].keys() == {"theta", "m", "v", "average"}
    assert training.step.average is not None
    assert found[0]["average"].tobytes() == training.step.average.tobytes()
    assert found[0]["theta"].tobytes() == training.network.theta.values.tobytes() != training.step.average.tobytes()


@pytest.mark.parametrize("averaging", [-0.1, 1.0, 1.5, float("nan")])
def test_a_decay_is_below_one(averaging: float) -> None:
    with pytest.raises(ConfigurationError, match=f"at least 0 and below 1, got {averaging}"):
        CASE.build(averaging=averaging)


def test_without_averaging_there_is_no_average() -> None:
    training = CASE.build()
    training.run()
    assert training.step.average is None
