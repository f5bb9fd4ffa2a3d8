"""The best round: by error, accuracy or a score; it is pointed to, and it is handed over at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.loss import Loss
from dragoman.networks import Network
from dragoman.training import Checkpoints, Stopping, Validation
from tests.training.small_trainings import CASES, TRAINING, After, Case, history_of, judged_pairs

QUALITIES = [3.0, 1.0, 4.0, 4.0, 5.0, 2.0]


def scoring(values: list[float]) -> Callable[[Network], dict[str, float]]:
    told: Iterator[float] = iter(values)
    return lambda network: {"quality": next(told), "other": 0.0}


def case(validation: Validation) -> Case:
    return Case(settings={"validation": validation, "stopping": Stopping(epochs=6)})


@pytest.mark.parametrize("loss", [Loss(0.5, 0.25, 3.0, 4.0)])
def test_merit_is_what_is_to_be_high(loss: Loss) -> None:
    scores = {"bleu": 30.0}
    assert Validation(list).score(loss, {}) == -0.5
    assert Validation(list, best_by="error").score(loss, scores) == -0.5
    assert Validation(list, best_by="accuracy").score(loss, scores) == 0.75
    assert Validation(list, best_by="bleu").score(loss, scores) == 30.0
    with pytest.raises(ConfigurationError, match="best_by must be one of error, accuracy, bleu, got 'chrf'"):
        Validation(list, best_by="chrf").score(loss, scores)


def test_a_score_decides_which_round_is_the_best(tmp_path: Path) -> None:
    handed: list[int] = []
    training = case(Validation(judged_pairs, best_by="quality", scores=scoring(QUALITIES))).build(
        tmp_path, on_best=lambda network: handed.append(training.optimizer.t)
    )
    outcome = training.run()
    assert [record.best for record in outcome.records] == [True, False, True, False, True, False]
    assert [record.scores for record in outcome.records] == [{"quality": q, "other": 0.0} for q in QUALITIES]
    assert [line["quality"] for line in history_of(tmp_path)] == QUALITIES
    assert [line["best"] for line in history_of(tmp_path)] == [True, False, True, False, True, False]
    assert handed == [4, 12, 20]
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert (checkpoints.named("best"), checkpoints.named("latest")) == ("step-00000020", "step-00000024")
    assert (training.progress.best_score, training.progress.bad_evaluations) == (5.0, 1)


@pytest.mark.parametrize(("best_by", "sign"), [("error", -1), ("accuracy", 1)])
def test_error_and_accuracy_decide_by_themselves(tmp_path: Path, best_by: str, sign: int) -> None:
    """Each round that is better than all before it, and no other"""
    settings = {"validation": Validation(judged_pairs, every=2, best_by=best_by), "stopping": Stopping(24)}
    Case(schedule=CASES["patience"].schedule, settings=settings).build(tmp_path).run()
    history = history_of(tmp_path)
    values = [sign * line[f"validation_{best_by}"] for line in history]
    assert [line["best"] for line in history] == [all(v > w for w in values[:i]) for i, v in enumerate(values)]
    assert {line["best"] for line in history[1:]} == {True, False}
    best = history[int(np.argmax(values))]["step"]
    assert Checkpoints(tmp_path / "checkpoints").named("best") == f"step-{best:08d}"


def test_the_two_may_disagree(tmp_path: Path) -> None:
    found = []
    for best_by in ("error", "accuracy"):
        settings = {"validation": Validation(judged_pairs, every=2, best_by=best_by), "stopping": Stopping(24)}
        place = tmp_path / best_by
        place.mkdir()
        Case(schedule=CASES["patience"].schedule, settings=settings).build(place).run()
        found.append([line["best"] for line in history_of(place)])
    assert found[0] != found[1]


@pytest.mark.parametrize("averaging", [0.0, 0.7])
def test_the_best_checkpoint_holds_the_weights_that_were_handed_over(tmp_path: Path, averaging: float) -> None:
    handed: list[Array] = []
    case(Validation(judged_pairs, best_by="quality", scores=scoring(QUALITIES))).build(
        tmp_path, averaging=averaging, on_best=lambda network: handed.append(network.theta.values.copy())
    ).run()
    found = Checkpoints(tmp_path / "checkpoints").load("best")
    assert found is not None
    assert found[0]["average" if averaging else "theta"].tobytes() == handed[-1].tobytes()
    if averaging:
        assert found[0]["theta"].tobytes() != handed[-1].tobytes()


def test_the_best_so_far_is_remembered_by_a_resumed_training(tmp_path: Path) -> None:
    first, second = QUALITIES[:2], [2.0, 4.0, 5.0, 2.0]
    case(Validation(judged_pairs, best_by="quality", scores=scoring(first))).build(tmp_path, interrupted=After(9)).run()
    training = case(Validation(judged_pairs, best_by="quality", scores=scoring(second))).build(tmp_path)
    outcome = training.run()
    assert [record.best for record in outcome.records] == [False, True, True, False]
    assert Checkpoints(tmp_path / "checkpoints").named("best") == "step-00000020"


def test_a_name_nobody_measures_is_told_at_the_first_evaluation() -> None:
    with pytest.raises(ConfigurationError, match="best_by must be one of error, accuracy, quality, other, got 'bleu'"):
        case(Validation(judged_pairs, best_by="bleu", scores=scoring(QUALITIES))).build().run()


def test_what_is_not_a_number_is_never_the_best() -> None:
    values = [float("nan"), 1.0, float("nan"), 2.0, 0.0, 0.0]
    validation = Validation(judged_pairs, best_by="quality", scores=scoring(values))
    outcome = case(validation).build().run()
    assert [record.best for record in outcome.records] == [False, True, False, True, False, False]


def test_without_a_validation_part_there_is_no_best(tmp_path: Path) -> None:
    handed: list[Any] = []
    Case().build(tmp_path, on_best=handed.append).run()
    assert handed == []
    assert Checkpoints(tmp_path / "checkpoints").named("best") is None


def test_a_validation_part_is_asked_for_anew_each_time() -> None:
    asked: list[int] = []

    def batches() -> Iterator[Any]:
        asked.append(1)
        yield TRAINING.batch(np.arange(3))

    case(Validation(batches)).build().run()
    assert len(asked) == 6


def test_a_score_in_single_precision_is_a_number_like_any_other(tmp_path: Path) -> None:
    validation = Validation(judged_pairs, best_by="quality", scores=lambda network: {"quality": np.float32(0.5)})
    case(validation).build(tmp_path).run()
    assert [line["quality"] for line in history_of(tmp_path)] == [0.5] * 6
