"""Batches that go on where the batches before ended: states carried, kept in checkpoints, begun anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import FileFormatError
from dragoman.loss import LossIndex
from dragoman.networks import LANGUAGE_MODELS
from dragoman.optimization import Adam, Constant
from dragoman.training import Validation
from dragoman.training.carrying import carried_states, restored_states, saved_states
from dragoman.training.step import StepSettings, TrainingStep
from dragoman.training.workers import Workers

TRACKS, LENGTH, PIECE = 4, 12, 3


def network(kind: str = "lstm"):
    architecture = LANGUAGE_MODELS[kind]
    sizes = {"depth": 6, "layers": 1} | ({"heads": 2} if kind == "transformer" else {"units": 5, **architecture.named})
    return architecture.build(architecture.configured(sizes, {"vocabulary": 9}))


def batches(piece: int) -> list[Batch]:
    tokens = np.random.default_rng(0).integers(4, 9, (TRACKS, LENGTH + 1))
    found = []
    for t in range(0, LENGTH, piece):
        labels, targets = tokens[:, t : t + piece].ravel(), tokens[:, t + 1 : t + piece + 1].ravel()
        found.append(Batch(labels, np.arange(0, TRACKS * piece + 1, piece), targets, continues=t > 0))
    return found


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_pieces_with_carried_state_have_the_error_of_the_whole(kind: str) -> None:
    made = network(kind)
    whole = Validation(lambda: batches(LENGTH)).evaluate(made)
    pieces = Validation(lambda: batches(PIECE)).evaluate(made)
    assert pieces.error == pytest.approx(whole.error, abs=1e-6)
    alone = Validation(lambda: [replace(batch, continues=None) for batch in batches(PIECE)]).evaluate(made)
    assert abs(alone.error - whole.error) > 1e-4


def steps(threads: int, count: int = 2) -> TrainingStep:
    made = network()
    step = TrainingStep(made, Adam(), LossIndex(), Workers(threads), StepSettings())
    for batch in batches(PIECE)[:count]:
        step.take([batch], Constant(0.0))  # theta stays: the states are those of a plain pass
    return step


def test_a_training_step_leaves_its_states_to_the_next_on_any_number_of_threads() -> None:
    one, two = steps(1), steps(2)
    assert one.carried is not None
    assert two.carried is not None
    run = batches(2 * PIECE)[0]
    step = TrainingStep(network(), Adam(), LossIndex(), Workers(1), StepSettings())
    step.take([run], Constant(0.0))
    assert step.carried is not None
    for name, expected in step.carried.arrays().items():
        np.testing.assert_allclose(one.carried.arrays()[name], expected, atol=1e-6)
        np.testing.assert_allclose(two.carried.arrays()[name], expected, atol=1e-6)


def test_an_epoch_begins_with_0() -> None:
    step = steps(1)
    before = step.carried
    assert before is not None
    begun = carried_states(step.network, False, len(before), before)
    assert begun is not None
    assert begun is not before
    assert not any(array.any() for array in begun.arrays().values())
    assert carried_states(step.network, True, len(before), before) is before
    assert carried_states(step.network, None, len(before), before) is None


def test_a_checkpoint_keeps_the_states() -> None:
    step = steps(1)
    saved = saved_states(step.carried)
    assert set(saved) == {"carried.0.h", "carried.0.c"}
    found = restored_states(network(), {"theta": np.zeros(3), **saved})
    assert found is not None
    assert step.carried is not None
    for name, array in found.arrays().items():
        np.testing.assert_array_equal(array, step.carried.arrays()[name])
    assert saved_states(None) == {}
    assert restored_states(network(), {"theta": np.zeros(3)}) is None
    with pytest.raises(FileFormatError, match="states of a recurrent network"):
        restored_states(network("transformer"), saved)
