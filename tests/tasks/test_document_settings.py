"""Settings that come from a single one of the documents: each does what it says, and by default nothing changes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data.batching import Batching
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.loss import CrossEntropy, LogError
from dragoman.optimization import Adam, RMSprop
from dragoman.tasks import components
from dragoman.tasks.configuration import LossSettings, OptimizerSettings, configuration, read_toml
from dragoman.tasks.training import train_model
from dragoman.training.checkpoints import Checkpoints
from tests.tasks.models import tiny, told_history
from tests.tasks.test_resuming import check_same, stopped

# without dropout and average, so that what a step does can be recomputed
BARE: dict[str, Any] = {
    "network": {"dropout": 0.0},
    "loss": {"smoothing": 0.0},
    "optimizer": {"averaging": 0.0, "schedule": "constant", "clip": 1e9},
    "stopping": {"steps": 1, "epochs": 1},
}


Trained = tuple[dict[str, Array], list[dict[str, Any]]]


def trained(out: Path, *changes: dict[str, Any]) -> Trained:
    """The arrays of the last checkpoint, and the history."""
    train_model(tiny(BARE, *changes), out)
    saved = Checkpoints(out / "checkpoints").load()
    assert saved is not None
    return saved[0], told_history(out)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """One step with none of these settings."""
    return trained(tmp_path_factory.mktemp("bare") / "model")


def test_by_default_the_components_are_those_of_before() -> None:
    settings = OptimizerSettings()
    assert components.batching(settings) == Batching()
    optimizer = components.optimizer(settings)
    assert isinstance(optimizer, Adam)
    assert (optimizer.form, optimizer.epsilon) == ("outside", 1e-8)
    rms = components.optimizer(OptimizerSettings(algorithm="rmsprop"))
    assert isinstance(rms, RMSprop)
    assert (rms.gamma, rms.epsilon) == (RMSprop().gamma, RMSprop().epsilon)
    error = components.loss_index(LossSettings(smoothing=0.1), CrossEntropy(0.1)).error
    assert type(error) is CrossEntropy, "the default error has a kernel"


# Batches: there are 299 pairs to train on


@pytest.mark.ledger("L-65-batch")
def test_growing_batches_make_later_epochs_shorter(tmp_path: Path) -> None:
    """10 batches of 32, in epoch 2 5 of 64, from epoch 3 on 3 of 128; the rate is planned over just so many steps."""
    growth = {"optimizer": {"growth": [[2, 2], [3, 4]]}, "stopping": {"steps": None, "epochs": 4}}
    _, history = trained(tmp_path / "model", growth)
    assert [line["step"] for line in history] == [10, 15, 18, 21]
    assert read_toml(tmp_path / "model" / "configuration.toml")["optimizer"]["schedule_steps"] == 21


def test_the_remainder_of_an_epoch_can_be_left_out(tmp_path: Path) -> None:
    whole: dict[str, Any] = {"stopping": {"steps": None}}
    _, dropped = trained(tmp_path / "dropped", whole, {"optimizer": {"keep_remainder": False}})
    assert dropped[0]["step"] == 9
    with pytest.raises(ConfigurationError, match="do not fill one batch of 300 samples"):
        trained(tmp_path / "none", whole, {"optimizer": {"keep_remainder": False, "batch": 300}})


# Update rules


@pytest.mark.ledger("N-4.4-adam")
def test_epsilon_inside_the_root(tmp_path: Path, bare: Trained) -> None:
    """Same gradient and moments; the first step is eta mhat / sqrt(vhat + eps), not eta mhat / (sqrt(vhat) + eps)."""
    outside, _ = bare
    inside, _ = trained(tmp_path / "inside", {"optimizer": {"epsilon_inside": True}})
    np.testing.assert_array_equal(outside["m"], inside["m"])
    np.testing.assert_array_equal(outside["v"], inside["v"])
    mhat, vhat = outside["m"] / 0.1, outside["v"] / (1 - 0.98)
    difference = -0.01 * (mhat / np.sqrt(vhat + 1e-8) - mhat / (np.sqrt(vhat) + 1e-8))
    np.testing.assert_allclose(inside["theta"] - outside["theta"], difference, atol=1e-6)
    assert np.abs(difference).max() > 1e-3


@pytest.mark.ledger("N-4.3-rms")
def test_gamma_of_rmsprop(tmp_path: Path) -> None:
    """The first mean of squares is (1 - gamma) g^2: a tenth as much for 0.99 as for 0.9."""
    usual, _ = trained(tmp_path / "usual", {"optimizer": {"algorithm": "rmsprop"}})
    slower, _ = trained(tmp_path / "slower", {"optimizer": {"algorithm": "rmsprop", "gamma": 0.99}})
    np.testing.assert_allclose(slower["squares"], usual["squares"] / 10, rtol=1e-5)


LEARNED: dict[str, Any] = {
    "optimizer": {"schedule": "learned", "rate": 1e-4, "rate_step": 0.1},
    "stopping": {"steps": 12, "epochs": 2},
}


@pytest.mark.ledger("N-2-step")
def test_a_learned_rate_rises_if_too_low_and_survives_a_stop(tmp_path: Path) -> None:
    _, history = trained(tmp_path / "whole", LEARNED)
    assert 1.4e-4 < history[-1]["rate"] < 1e-4 * math.exp(0.1 * 11)
    stopped(tiny(BARE, LEARNED), tmp_path / "parts", 5)
    train_model(tiny(BARE, LEARNED), tmp_path / "parts")
    check_same(tmp_path / "parts", tmp_path / "whole")


# Losses


@pytest.mark.ledger("N-3.4-clip")
def test_clipped_logits(tmp_path: Path, bare: Trained) -> None:
    """Clipped to almost nothing, all 212 words are equally likely; clipped to +-50, none of them was."""
    _, flat = trained(tmp_path / "flat", {"loss": {"clip_logits": 1e-4}})
    _, wide = trained(tmp_path / "wide", {"loss": {"clip_logits": 50}})
    assert flat[0]["training_error"] == pytest.approx(math.log(212), abs=2e-4)
    assert wide[0]["training_error"] == pytest.approx(bare[1][0]["training_error"], rel=1e-5)
    assert abs(flat[0]["training_error"] - bare[1][0]["training_error"]) > 0.01


@pytest.mark.ledger("C-2.f9-loss")
def test_the_loss_divided_by_the_number_of_classes(tmp_path: Path, bare: Trained) -> None:
    """1/212 of the error and of its gradient; what is validated stays comparable."""
    _, divided = trained(tmp_path / "divided", {"loss": {"per_class": True}})
    for name in ("training_error", "gradient_norm"):
        assert divided[0][name] == pytest.approx(bare[1][0][name] / 212, rel=1e-5)
    assert divided[0]["validation_error"] > 4


def test_a_probability_of_two_classes_is_not_divided() -> None:
    with pytest.raises(ConfigurationError, match="minimises LogError, so leave them out"):
        components.loss_index(LossSettings(per_class=True), LogError())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"epsilon_inside": True, "algorithm": "adagrad"}, "optimizer: epsilon_inside is a setting of adam and adamw"),
        ({"gamma": 0.99}, "optimizer: gamma is a setting of rmsprop, not of adam; leave it out"),
        ({"rate_step": 0.5}, "optimizer: rate_step is a setting of the schedule 'learned'"),
        ({"growth": [[5, 2], [3, 4]]}, "optimizer: the epochs of growth must rise, as in [[3, 2], [5, 4]]"),
        ({"growth": [[1, 2]]}, "optimizer.growth.0.0: "),
        ({"growth": [[2, 0]]}, "optimizer.growth.0.1: "),
        ({"growth": 2}, "optimizer.growth: growing batches are written as [[epoch, factor], ...]"),
        ({"growth": [3, 2]}, "optimizer.growth: growing batches are written as [[epoch, factor], ...]"),
    ],
)
def test_what_nothing_would_read_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        configuration({"optimizer": given}, "config.toml")
    assert str(told.value).startswith(f"config.toml: {expected}")
