"""Stopped anywhere and taken up again, a training ends bit for bit where it would have ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.graph import Parameter, Value
from dragoman.layers import ForwardContext
from dragoman.loss import LossIndex, Regularization
from dragoman.networks import Network
from dragoman.optimization import AdaGrad, Adam, AdamW, Constant, Momentum, Plateau, RMSprop
from dragoman.training import Checkpoints, Stopping, Validation
from dragoman.training.resuming import layout
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import (
    CASES,
    POINTS,
    After,
    Case,
    Heard,
    Left,
    history_of,
    judged_pairs,
    left_in,
    small_transformer,
)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a case leaves when nothing stops it, and how many steps it took"""
    known: dict[str, tuple[Left, int, str]] = {}

    def look_up(name: str) -> tuple[Left, int, str]:
        if name not in known:
            place = tmp_path_factory.mktemp("uninterrupted")
            training = CASES[name].build(place)
            outcome = training.run()
            known[name] = left_in(place), training.optimizer.t, outcome.reason
        return known[name]

    return look_up


@pytest.mark.parametrize("name", CASES)
def test_stopped_at_any_step_and_taken_up_again(name: str, uninterrupted: Any, tmp_path: Path) -> None:
    whole, steps, reason = uninterrupted(name)
    for stop in range(1, steps):
        place = tmp_path / str(stop)
        place.mkdir()
        first = CASES[name].build(place, interrupted=After(stop))
        stopped = first.run()
        assert (stopped.finished, stopped.reason, first.optimizer.t) == (False, "asked to stop", stop)
        second = CASES[name].build(place)
        heard = Heard()
        second.watch = heard
        outcome = second.run()
        assert (outcome.finished, outcome.reason) == (True, reason)
        assert [t for t, _ in heard.steps] == list(range(stop + 1, steps + 1))
        assert left_in(place).differences(whole) == []
        assert second.network.theta.values.tobytes() == whole.arrays["theta"].tobytes()
        evaluations = len(stopped.records) + len(outcome.records)
        assert evaluations == len(whole.history)


@pytest.mark.parametrize("name", CASES)
def test_stopped_after_every_single_step(name: str, uninterrupted: Any, tmp_path: Path) -> None:
    whole, steps, reason = uninterrupted(name)
    for step in range(1, steps + 1):
        training = CASES[name].build(tmp_path, interrupted=After(1))
        outcome = training.run()
        assert training.optimizer.t == step
    assert (outcome.finished, outcome.reason) == (True, reason)
    assert left_in(tmp_path).differences(whole) == []


@pytest.mark.parametrize("name", CASES)
def test_checkpoints_do_not_change_a_training(name: str, uninterrupted: Any) -> None:
    training = CASES[name].build()
    training.run()
    assert training.network.theta.values.tobytes() == uninterrupted(name)[0].arrays["theta"].tobytes()


def test_the_cases_are_worth_their_names(uninterrupted: Any) -> None:
    """A plateau that never falls, a best that is always the last or patience that is never lost would prove little."""
    rates = [line["rate"] for line in uninterrupted("Momentum, plateau")[0].history]
    assert rates[-1] < rates[0]
    rates = [line["rate"] for line in uninterrupted("plateau of the training loss")[0].history]
    assert rates[-1] < rates[0]
    assert "patience" in uninterrupted("patience")[2]
    for name in ("frozen", "accumulated, averaged, evaluated every 2"):
        assert {line["best"] for line in uninterrupted(name)[0].history} == {True, False}


# When to save


def test_checkpoints_are_saved_between_rounds_as_often_as_asked(tmp_path: Path) -> None:
    saved: list[int] = []

    class Noting(Checkpoints):
        def save(self, step: int, *given: Any) -> Path:
            saved.append(step)
            return super().save(step, *given)

    for name, every in (("each", -1.0), ("none", 1e9)):
        training = CASES["Adam"].build(tmp_path, save_every=every)
        training.saving = replace(training.saving, checkpoints=Noting(tmp_path / name))
        training.run()
    assert saved == [*range(1, 11), 4, 8, 10]


def test_without_checkpoints_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CASES["Adam"].build(save_every=-1.0, interrupted=After(3)).run()
    assert list(tmp_path.iterdir()) == []


# A training that is over


def test_a_finished_training_stays_finished(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path).run()
    before = left_in(tmp_path)
    training = CASES["Adam"].build(tmp_path)
    outcome = training.run()
    assert (outcome.reason, outcome.finished, outcome.records) == ("finished 10 steps", True, [])
    assert training.optimizer.t == 10
    assert training.network.theta.values.tobytes() == before.arrays["theta"].tobytes()
    assert left_in(tmp_path).differences(before) == []


def test_a_finished_training_goes_on_when_its_limit_is_raised(tmp_path: Path) -> None:
    case = CASES["AdamW, dropout, smoothing"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for place in (whole, cut):
        place.mkdir()
    case.build(whole, stopping=Stopping(epochs=4)).run()
    case.build(cut, stopping=Stopping(epochs=2)).run()
    outcome = case.build(cut, stopping=Stopping(epochs=4)).run()
    assert len(outcome.records) == 2
    assert left_in(cut).differences(left_in(whole)) == []


def test_a_lowered_limit_ends_a_training_where_it_stands(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path, interrupted=After(7)).run()
    training = CASES["Adam"].build(tmp_path, stopping=Stopping(5))
    assert training.run().reason == "finished 5 steps"
    assert training.optimizer.t == 7


PATIENT = Case(schedule=lambda: Constant(0.5), settings={"validation": Validation(judged_pairs, every=2), "keep": 1})


@pytest.mark.parametrize(
    ("first", "same", "wider"),
    [
        (Stopping(60, accuracy_goal=0.4), Stopping(60, accuracy_goal=0.35), Stopping(60, accuracy_goal=1.0)),
        (Stopping(60, loss_goal=1.8), Stopping(60, loss_goal=1.9), Stopping(60, loss_goal=0.1)),
    ],
)
@pytest.mark.parametrize("with_history", [True, False])
def test_a_goal_that_was_reached_ends_a_training_until_it_is_set_further(
    tmp_path: Path, first: Stopping, same: Stopping, wider: Stopping, with_history: bool
) -> None:
    def build(stopping: Stopping) -> Any:
        training = CASES["Adam"].build(tmp_path, stopping=stopping)
        if not with_history:
            training.saving = replace(training.saving, history=None)
        return training

    training = build(first)
    reached = training.run()
    assert "goal" in reached.reason
    assert 0 < training.optimizer.t < 60
    for stopping in (first, same):
        again = build(stopping)
        outcome = again.run()
        assert "goal" in outcome.reason
        assert (again.optimizer.t, outcome.records) == (training.optimizer.t, [])
    further = build(wider)
    further.run()
    assert further.optimizer.t == 60


def test_a_loss_goal_still_counts_the_regularization(tmp_path: Path) -> None:
    """The goal is set further, between the error and the loss that was reached: there is something left to do."""
    case = Case(
        lambda: Perceptrons(3, 2), POINTS, settings={"loss_index": LossIndex(regularization=Regularization("l2", 0.1))}
    )
    reached = case.build(tmp_path, stopping=Stopping(400, loss_goal=0.5)).run().records[-1]
    between = reached.training.index - reached.training.regularization / 2
    assert reached.training.error < between < reached.training.index
    outcome = case.build(tmp_path, stopping=Stopping(400, loss_goal=between)).run()
    assert len(outcome.records) > 0


def test_patience_that_was_lost_ends_a_training_until_it_is_longer(tmp_path: Path) -> None:
    rule, longer = Stopping(40, patience=2), Stopping(40, patience=3)
    training = PATIENT.build(tmp_path, stopping=rule)
    assert "patience" in training.run().reason
    steps = training.optimizer.t
    again = PATIENT.build(tmp_path, stopping=rule)
    assert "patience" in again.run().reason
    assert again.optimizer.t == steps < 40
    more = PATIENT.build(tmp_path, stopping=longer)
    more.run()
    assert more.optimizer.t > steps


# What a checkpoint must agree with


def test_it_is_that_of_the_same_network(tmp_path: Path) -> None:
    Case(lambda: Perceptrons(3, 4, 2), POINTS).build(tmp_path).run()
    for other in (lambda: Perceptrons(3, 2, 2, 2), lambda: Perceptrons(3, 5, 2)):
        with pytest.raises(FileFormatError, match="saved from another network"):
            Case(other, POINTS).build(tmp_path).run()


class Named(Network):
    """One table under a name of one's own"""

    def __init__(self, name: str, *shape: int) -> None:
        setattr(self, name, Parameter(np.ones(shape)))
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        raise NotImplementedError


def test_names_and_shapes_make_a_network_what_it_is() -> None:
    told = {layout(Named(name, *shape)) for name in ("table", "weights") for shape in ((2, 6), (6, 2), (12,))}
    assert len(told) == 6
    assert layout(Named("table", 2, 6)) == layout(Named("table", 2, 6))
    assert layout(small_transformer()) != layout(small_transformer(dtype=np.float64))
    assert layout(Perceptrons(3, 4, 2, seed=1)) == layout(Perceptrons(3, 4, 2, seed=2))


@pytest.mark.parametrize(("first", "second"), [(Adam, Momentum), (Adam, AdamW), (AdaGrad, RMSprop)])
def test_it_is_that_of_the_same_algorithm(tmp_path: Path, first: Any, second: Any) -> None:
    """Even where the moments have the same names"""
    Case(optimizer=first).build(tmp_path, interrupted=After(3)).run()
    with pytest.raises(FileFormatError, match=f"by {first.__name__}, this one is by {second.__name__}"):
        Case(optimizer=second).build(tmp_path).run()


def test_it_has_an_average_if_one_is_wanted_and_only_then(tmp_path: Path) -> None:
    for name, first, second in (("without", 0.0, 0.5), ("with", 0.5, 0.0)):
        place = tmp_path / name
        place.mkdir()
        CASES["Adam"].build(place, interrupted=After(3), averaging=first).run()
        with pytest.raises(FileFormatError, match="this training needs"):
            CASES["Adam"].build(place, averaging=second).run()


def test_it_has_the_state_of_a_plateau_if_one_is_wanted(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path, interrupted=After(3)).run()
    training = CASES["Adam"].build(tmp_path)
    training.schedule = Plateau(0.1)
    with pytest.raises(FileFormatError, match="the state of the plateau schedule is missing"):
        training.run()


def test_the_stream_goes_on_from_its_own_seed(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path, interrupted=After(6)).run()
    training = CASES["Adam"].build(tmp_path)
    training.resume()
    assert training.batches.state() == {"seed": 3, "epoch": 1, "position": 2}
    assert training.epochs_done == 1.5


def test_a_resumed_training_does_not_share_memory_with_what_it_read(tmp_path: Path) -> None:
    """Two trainings from one checkpoint go their own ways."""
    CASES["averaged"].build(tmp_path, interrupted=After(3)).run()
    one, other = (CASES["averaged"].build(tmp_path) for _ in range(2))
    for training in (one, other):
        training.saving = replace(training.saving, checkpoints=Checkpoints(tmp_path / "checkpoints"))
        training.resume()
    arrays = [
        (training.network.theta.values, training.step.average, *training.optimizer.moments.values())
        for training in (one, other)
    ]
    for a, b in zip(*arrays, strict=True):
        assert not np.shares_memory(a, b)
        assert a.flags.writeable
        assert b.flags.writeable


# The optimizer and the stream by themselves


def test_an_optimizer_goes_on_where_it_was_restored() -> None:
    network, twin = Perceptrons(3, 2), Perceptrons(3, 2)
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((6, len(network.theta)))
    whole, first, second = Adam(), Adam(), Adam()
    for gradient in gradients:
        whole.update(network.theta, gradient, 0.1)
    for gradient in gradients[:4]:
        first.update(twin.theta, gradient, 0.1)
    second.restore(twin.theta, first.t, first.age, {name: moment.copy() for name, moment in first.moments.items()})
    assert (second.t, second.age) == (4, 4)
    for gradient in gradients[4:]:
        second.update(twin.theta, gradient, 0.1)
    np.testing.assert_array_equal(twin.theta.values, network.theta.values)


def test_moments_that_began_anew_keep_their_age(tmp_path: Path) -> None:
    """Unfreezing begins the moments anew: their age, which corrects their bias, is not the number of steps."""

    def build(place: Path, **more: Any) -> Any:
        return Case(lambda: Perceptrons(3, 4, 2), POINTS).build(place, **more)

    def unfreezing(training: Any, at: int) -> None:
        class Unfreeze(Heard):
            def step(self, step: int, loss: Any, of: Any) -> None:
                if step == at:
                    of.network.unfreeze("layers.0")

        training.network.freeze("layers.0")
        training.watch = Unfreeze()

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for place in (whole, cut):
        place.mkdir()
    for place, stop in ((whole, 99), (cut, 6)):
        training = build(place, interrupted=After(stop))
        unfreezing(training, 3)
        training.run()
    build(cut).run()
    assert left_in(whole).state["age"] == 7
    assert left_in(cut).differences(left_in(whole)) == []


def test_history_and_checkpoint_agree_after_every_resumption(tmp_path: Path) -> None:
    """A history that was written further than its checkpoint is taken back."""
    CASES["Adam"].build(tmp_path, interrupted=After(9)).run()
    assert len(history_of(tmp_path)) == 2
    place = Checkpoints(tmp_path / "checkpoints")
    earlier = place.steps()[-2].name
    (tmp_path / "checkpoints" / "latest").write_text(earlier + "\n")
    training = CASES["Adam"].build(tmp_path)
    training.resume()
    assert training.progress.evaluations == len(history_of(tmp_path)) == int(earlier[5:]) // 4


@pytest.mark.parametrize("keep", [0, -1])
def test_at_least_one_checkpoint_is_kept(tmp_path: Path, keep: int) -> None:
    with pytest.raises(ConfigurationError, match=f"at least one checkpoint must be kept, got {keep}"):
        Checkpoints(tmp_path, keep)
