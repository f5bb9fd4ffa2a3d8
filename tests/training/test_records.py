"""Rounds on record: what training and validation said, one line of history each, and what is told of overfitting."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import DataError, FileFormatError
from dragoman.loss import CrossEntropy, Loss, LossIndex, MeanSquaredError, Regularization
from dragoman.optimization import Adam, Constant
from dragoman.training import History, Record, Stopping, Validation, jump, overfitting
from tests.training.fake_time import running_at
from tests.training.perceptrons import Perceptrons, Rows
from tests.training.small_trainings import (
    CASES,
    CURVE,
    JUDGED,
    POINTS,
    TRAINING,
    After,
    Case,
    Heard,
    dropping,
    history_of,
    judged_pairs,
    small_transformer,
)

POINTS_CASE = Case(lambda: Perceptrons(3, 2), POINTS)


# A record

FULL = Record(
    step=8,
    epoch=1.33333,
    training=Loss(0.5, 0.25, 3.0, 4.0),
    norm=2.0,
    rate=0.01,
    seconds=12.3456,
    tokens_per_second=1234.56,
    validation=Loss(0.7, 0.0, 1.0, 2.0),
    scores={"bleu": 31.5},
    best=True,
)


def test_a_record_is_one_flat_object() -> None:
    assert FULL.as_dict() == {
        "step": 8,
        "epoch": 1.3333,
        "training_error": 0.5,
        "training_accuracy": 0.75,
        "validation_error": 0.7,
        "validation_accuracy": 0.5,
        "bleu": 31.5,
        "rate": 0.01,
        "gradient_norm": 2.0,
        "seconds": 12.346,
        "tokens_per_second": 1234.6,
        "best": True,
    }


def test_what_is_not_known_is_left_out_of_a_record() -> None:
    record = Record(3, 0.0, Loss(0.5, 0.0, math.nan, 4.0), math.inf, 0.01, 1.0)
    told = record.as_dict()
    assert told == {"step": 3, "epoch": 0.0, "training_error": 0.5, "rate": 0.01, "seconds": 1.0, "best": False}
    json.dumps(told, allow_nan=False)


# What training says


@pytest.mark.parametrize("accumulate", [1, 3])
def test_the_loss_of_a_round_is_that_of_all_its_samples_as_one_batch(accumulate: int) -> None:
    """Batches of 5, 5, 5 and 2 rows, theta at rest."""
    index = LossIndex(regularization=Regularization("l2", 0.1))
    training = Case(
        lambda: Perceptrons(3, 2),
        POINTS,
        schedule=lambda: Constant(0.0),
        settings={"loss_index": index, "accumulate": accumulate},
    ).build(stopping=Stopping(epochs=2))
    whole = index.evaluate(training.network, POINTS.batch(np.arange(17)))
    first, second = training.run().records
    for found in (first.training, second.training):
        assert found.error == pytest.approx(whole.error, abs=1e-13)
        assert (found.hits, found.positions) == (whole.hits, whole.positions)
        assert found.regularization == whole.regularization > 0


def test_positions_weigh_a_round_not_batches_nor_sentences() -> None:
    training = Case(
        lambda: small_transformer(dtype=np.float64), schedule=lambda: Constant(0.0), settings={"averaging": 0.0}
    ).build(stopping=Stopping(epochs=1))
    whole = LossIndex().evaluate(training.network, TRAINING.batch(np.arange(17)))
    (record,) = training.run().records
    assert record.training.error == pytest.approx(whole.error, abs=1e-13)
    assert record.training.positions == whole.positions == sum(len(pair[1]) - 1 for pair in TRAINING.pairs)


@pytest.mark.parametrize("name", ["AdamW, dropout, smoothing", "plateau of the training loss", "accumulated"])
def test_the_loss_of_a_round_is_the_weighted_mean_of_its_steps(name: str) -> None:
    heard = Heard()
    outcome = CASES[name].build(watch=heard, stopping=Stopping(epochs=2)).run()
    a_round = len(heard.steps) // 2
    assert a_round * 2 == len(heard.steps)
    assert len(outcome.records) == 2
    for i, record in enumerate(outcome.records):
        losses = heard.losses[i * a_round : (i + 1) * a_round]
        weights = [loss.positions for loss in losses]
        assert record.training.error == pytest.approx(np.average([loss.error for loss in losses], weights=weights))
        assert record.training.positions == sum(weights)
        assert record.training.regularization == losses[-1].regularization
        hits = sum(loss.hits for loss in losses)
        assert record.training.hits == hits or math.isnan(hits)


def test_norm_and_rate_of_a_record_are_those_of_its_last_step() -> None:
    seen: list[tuple[float, float]] = []

    class Look(Heard):
        def step(self, step: int, loss: Loss, training: Any) -> None:
            seen.append((training.norm, training.rate))

    outcome = CASES["AdamW, dropout, smoothing"].build(watch=Look()).run()
    assert [(record.norm, record.rate) for record in outcome.records] == [seen[3], seen[7], seen[9]]
    assert len({rate for _, rate in seen}) > 3


def test_speed_counts_labels_of_both_sides_and_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    running_at(monkeypatch, lambda: now[0])

    def slow_validation() -> Iterator[Batch]:
        now[0] += 100.0
        yield from judged_pairs()

    training = Case(settings={"validation": Validation(slow_validation)}).build(stopping=Stopping(epochs=2))
    differentiate = training.step.differentiate

    def slow_step(*given: Any) -> Any:
        now[0] += 0.5
        return differentiate(*given)

    monkeypatch.setattr(training.step, "differentiate", slow_step)
    first, second = training.run().records
    labels = sum(len(source) + len(reference) - 1 for source, reference in TRAINING.pairs)
    assert first.tokens_per_second == second.tokens_per_second == labels / 2.0
    assert (first.seconds, second.seconds) == (102.0, 204.0)


# What the validation part says


@pytest.mark.ledger("T-6.1-selection")
@pytest.mark.parametrize("averaging", [0.0, 0.7])
def test_the_validation_error_is_plain_and_of_the_average(averaging: float) -> None:
    """No smoothing, no dropout, no regularization; with averaging, of the average; however it is cut into batches."""
    index = LossIndex(CrossEntropy(0.2), Regularization("l1", 0.01))
    training = Case(
        dropping(dtype=np.float64),
        settings={"loss_index": index, "validation": Validation(judged_pairs), "averaging": averaging},
    ).build(stopping=Stopping(epochs=1))
    (record,) = training.run().records
    after = training.network.theta.values.copy()
    if averaging:
        assert training.step.average is not None
        assert np.abs(training.step.average - after).max() > 1e-3
        training.network.theta.assign(training.step.average)
    plain = LossIndex().evaluate(training.network, JUDGED.batch(np.arange(7)))
    assert record.validation is not None
    assert record.validation.error == pytest.approx(plain.error, abs=1e-13)
    assert (record.validation.hits, record.validation.positions) == (plain.hits, plain.positions)
    assert record.validation.regularization == 0.0


@pytest.mark.ledger("T-6.1-selection")
def test_the_log_of_every_epoch_has_errors_and_accuracies_of_both_parts(tmp_path: Path) -> None:
    outcome = CASES["Adam"].build(tmp_path, stopping=Stopping(epochs=3)).run()
    lines = History(tmp_path / "history.jsonl").lines()
    assert lines == [record.as_dict() for record in outcome.records]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    for line, record in zip(lines, outcome.records, strict=True):
        assert record.validation is not None
        assert line["training_error"] == record.training.error
        assert line["training_accuracy"] == record.training.accuracy
        assert line["validation_error"] == record.validation.error
        assert line["validation_accuracy"] == record.validation.accuracy
    assert len({line["validation_error"] for line in lines}) == 3


def test_without_a_validation_part_nothing_is_said_of_it(tmp_path: Path) -> None:
    POINTS_CASE.build(tmp_path).run()
    for line in history_of(tmp_path):
        assert line.keys() == {
            "step", "epoch", "training_error", "training_accuracy", "rate", "gradient_norm", "best"
        }  # fmt: skip
        assert not line["best"]


def test_an_empty_validation_part_is_no_error_and_never_the_best(tmp_path: Path) -> None:
    training = POINTS_CASE.build(tmp_path, validation=Validation(list))
    outcome = training.run()
    assert all(record.validation is not None and math.isnan(record.validation.error) for record in outcome.records)
    assert not any(record.best for record in outcome.records)
    assert all("validation_error" not in line for line in history_of(tmp_path))


def test_a_validation_part_of_real_values_is_judged_by_its_own_error() -> None:
    error, judged = MeanSquaredError(), CURVE.batch(np.arange(9))
    training = Case(
        lambda: Perceptrons(3, 1),
        CURVE,
        settings={
            "loss_index": LossIndex(error, Regularization("l2", 0.1)),
            "validation": Validation(lambda: [judged], error=error),
        },
    ).build(stopping=Stopping(epochs=1))
    (record,) = training.run().records
    assert record.validation is not None
    assert record.validation.error == LossIndex(error).evaluate(training.network, judged).error
    assert record.validation.regularization == 0.0
    assert record.best


# The history file


def line(step: int) -> dict[str, Any]:
    return {"step": step, "note": "ñandú"}


def test_a_history_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert History(path).lines() == []
    for step in range(3):
        History(path).append(line(step))
    assert History(path).lines() == [line(0), line(1), line(2)]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize("torn", ["", '{"step": 9, "no', '{"step": 9}'])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_a_history_takes_back_what_came_after_and_goes_on(tmp_path: Path, count: int, torn: str) -> None:
    path = tmp_path / "history.jsonl"
    history = History(path)
    for step in range(4):
        history.append(line(step))
    with path.open("a", encoding="utf-8") as file:
        file.write(torn)
    history.keep(count)
    history.append(line(99))
    assert history.lines() == [*map(line, range(count)), line(99)]


def test_a_history_that_is_not_there_has_nothing_to_take_back(tmp_path: Path) -> None:
    History(tmp_path / "history.jsonl").keep(3)
    assert list(tmp_path.iterdir()) == []


def test_a_history_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'{"step": 1}\n\xff\xfe{\n')
    with pytest.raises(FileFormatError, match=r"history\.jsonl, line 2: expected a JSON object"):
        History(path).lines()
    path.write_text("step 1\n")
    with pytest.raises(FileFormatError, match=r"history\.jsonl, line 1: expected a JSON object"):
        History(path).lines()
    with pytest.raises(DataError, match=r"history.jsonl could not be written"):
        History(tmp_path / "missing" / "history.jsonl").append(line(1))
    (tmp_path / "folder").mkdir()
    with pytest.raises((DataError, FileFormatError), match="folder"):
        History(tmp_path / "folder").keep(0)


def test_a_training_that_begins_anew_begins_its_history_anew(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path).run()
    first = history_of(tmp_path)
    (tmp_path / "checkpoints").rename(tmp_path / "elsewhere")
    CASES["Adam"].build(tmp_path).run()
    assert history_of(tmp_path) == first
    assert len(first) == 3


def test_a_round_cut_in_two_by_a_pause_is_one_round(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for place in (whole, cut):
        place.mkdir()
    CASES["Adam"].build(whole).run()
    CASES["Adam"].build(cut, interrupted=After(2)).run()
    assert history_of(cut) == []
    CASES["Adam"].build(cut).run()
    assert history_of(cut) == history_of(whole)


# Overfitting


def told(*errors: tuple[float, float | None]) -> list[dict[str, Any]]:
    """A history of (training error, validation error)"""
    lines: list[dict[str, Any]] = []
    for step, (training, validation) in enumerate(errors, start=1):
        lines.append({"step": 10 * step, "training_error": training})
        if validation is not None:
            lines[-1]["validation_error"] = validation
    return lines


@pytest.mark.ledger("T-6.1-selection", "T-6.2-overfit")
@pytest.mark.parametrize(
    ("history", "since"),
    [
        (told((0.9, 1.0), (0.7, 0.8), (0.5, 0.85), (0.4, 0.9)), 20),
        (told((0.9, 1.0), (0.7, 1.1), (0.5, 1.2)), 10),
        (told((0.9, 1.0), (0.7, 0.5), (0.5, 0.9), (0.6, 0.8), (0.4, 0.6)), 20),
        (told((0.9, 1.0), (0.8, None), (0.7, 0.5), (0.6, None), (0.5, 0.9), (0.4, 0.8)), 30),
    ],
)
def test_a_validation_error_that_rises_while_training_gets_better_is_overfitting(
    history: list[dict[str, Any]], since: int
) -> None:
    message = overfitting(history)
    best = next(line for line in history if line["step"] == since)
    assert message is not None
    assert message.startswith(
        f"overfitting: since step {since} the training error fell from {best['training_error']:.4f} to "
        f"{history[-1]['training_error']:.4f}, but the validation error rose from {best['validation_error']:.4f} to "
        f"{history[-1]['validation_error']:.4f}"
    )
    assert "more data, more dropout or a smaller network" in message


@pytest.mark.ledger("T-6.1-selection")
@pytest.mark.parametrize(
    "history",
    [
        told(),
        told((0.9, 1.0)),
        told((0.9, 1.0), (0.8, 0.9), (0.7, 0.8), (0.6, 0.7)),  # both fall
        told((0.9, 1.0), (0.95, 1.1), (1.0, 1.2), (1.1, 1.3)),  # both rise
        told((0.9, 1.0), (0.8, 0.9), (0.7, 0.8), (0.6, 0.85)),  # once alone may be noise
        told((0.9, 1.0), (0.8, 0.8), (0.7, 0.9), (0.6, 0.95), (0.5, 0.7)),  # it recovered
        told((0.9, 0.8), (0.8, 0.8), (0.7, 0.8), (0.6, 0.8)),  # it stays
        told((0.9, None), (0.8, None), (0.7, None), (0.6, None)),
        told((0.9, 1.0), (0.7, None), (0.6, None), (0.5, 1.1)),
    ],
)
def test_all_else_is_not_called_overfitting(history: list[dict[str, Any]]) -> None:
    assert overfitting(history) is None


@pytest.mark.ledger("T-6.2-overfit")
def test_a_network_that_learns_noise_by_heart_is_seen_in_its_history_and_told_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = Rows(rng.standard_normal((20, 5)), rng.integers(0, 2, 20))
    unseen = Rows(rng.standard_normal((200, 5)), rng.integers(0, 2, 200))
    heard = Heard()
    validation = Validation(lambda: [unseen.batch(np.arange(200))])
    case = Case(lambda: Perceptrons(5, 30, 2), noise, Adam, lambda: Constant(0.02), settings={"validation": validation})
    case.build(tmp_path, stopping=Stopping(epochs=40), watch=heard).run()
    history = History(tmp_path / "history.jsonl").lines()
    training = [entry["training_error"] for entry in history]
    selected = [entry["validation_error"] for entry in history]
    best = int(np.argmin(selected))
    assert best < 20
    assert training[-1] < 0.5 * training[best]
    assert selected[-1] > selected[best] + 0.1
    noticed = next(n for n in range(len(history)) if overfitting(history[:n]) is not None)
    assert heard.notices == [overfitting(history[:noticed])]


def test_a_network_that_learns_what_there_is_to_learn_is_not_accused(tmp_path: Path) -> None:
    heard = Heard()
    validation = Validation(lambda: [POINTS.batch(np.arange(17))])
    Case(lambda: Perceptrons(3, 2), POINTS, settings={"validation": validation}).build(
        tmp_path, stopping=Stopping(epochs=20), watch=heard
    ).run()
    assert len(heard.records) == 20
    assert heard.notices == []


# Jumps of the training error


def errors_at(*errors: float) -> list[dict[str, Any]]:
    return [{"step": 10 * (i + 1), "training_error": error} for i, error in enumerate(errors)]


@pytest.mark.ledger("L-62-unstable")
@pytest.mark.parametrize(
    ("history", "jumped"),
    [
        (errors_at(), False),
        (errors_at(5.0), False),
        (errors_at(5.0, 8.0), True),
        (errors_at(5.0, 2.0, 1.0, 2.5), True),
        (errors_at(5.0, 2.0, 1.0, 1.4), False),  # little of what was gained is lost
        (errors_at(5.0, 0.001, 0.004), False),  # noise of what is known by heart
        (errors_at(5.0, 4.8, 5.1), False),
        (errors_at(5.0, math.nan), False),
    ],
)
def test_a_jump_of_the_training_error(history: list[dict[str, Any]], jumped: bool) -> None:
    message = jump(history)
    assert (message is not None) == jumped
    if message is not None:
        last = history[-1]
        assert f"to {last['training_error']:.4f} at step {last['step']}; if it does not fall again" in message


@pytest.mark.ledger("L-62-unstable")
def test_one_step_that_is_too_long_is_told_once(tmp_path: Path) -> None:
    """Descent to a minimum; one step at a rate that throws it out; and back again."""
    heard = Heard()
    case = Case(
        lambda: Perceptrons(3, 2),
        POINTS,
        schedule=lambda: lambda t: 40.0 if t == 30 else 0.2,
        settings={"watch": heard},
    )
    case.build(tmp_path, stopping=Stopping(epochs=14)).run()
    jumps = [notice for notice in heard.notices if "jumped" in notice]
    assert len(jumps) == 1
    lines = History(tmp_path / "history.jsonl").lines()
    assert jumps == [jump(lines[: next(n for n in range(1, 15) if jump(lines[:n]))])]
