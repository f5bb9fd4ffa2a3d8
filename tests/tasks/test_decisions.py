"""What is left open is decided from the data, once; a training that goes on is the same training."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.errors import ConfigurationError
from dragoman.tasks import decisions
from dragoman.tasks.configuration import TrainingConfiguration, configuration, merged
from dragoman.tasks.decisions import check_resume, choose_size, plan_schedule, planned_by_budget
from dragoman.tasks.planning import RESERVE, Speed, measure
from dragoman.tasks.translation.corpus import open_corpus
from dragoman.tasks.translation.curves import epochs_for, preset_for
from tests.tasks.models import tiny


def of(pairs: int) -> Any:
    """A dataset of so many pairs to train on."""
    return SimpleNamespace(about={"parts": {"training": pairs, "validation": 10}})


@pytest.mark.parametrize(
    ("pairs", "preset"),
    [(1, "medium"), (29_999, "medium"), (299_999, "medium"), (300_000, "large"), (10**7, "large")],
)
def test_the_size_follows_the_number_of_pairs(pairs: int, preset: str) -> None:
    assert preset_for(pairs) == preset
    assert choose_size({}, of(pairs), None).preset == preset
    assert choose_size({"preset": "small"}, of(pairs), None).preset == "small"


def test_recurrent_networks_stay_small_for_longer() -> None:
    sizes = [choose_size({"architecture": "gru-attention"}, of(pairs), None).preset for pairs in (29_999, 30_000)]
    assert sizes == ["small", "medium"]


@pytest.mark.parametrize(
    ("given", "pairs", "dropout"),
    [
        ({}, 9_999, 0.3),
        ({}, 10_000, 0.2),
        ({}, 79_999, 0.2),
        ({}, 80_000, 0.15),
        ({}, 300_000, 0.2),
        ({"preset": "small"}, 9_999, 0.2),
        ({"preset": "small"}, 10_000, 0.1),
        ({"network": {"dropout": 0.05}}, 5_000, 0.05),
        ({"recipe": "thesis"}, 5_000, 0.0),
    ],
)
def test_more_is_dropped_where_there_are_fewer_pairs(given: dict[str, Any], pairs: int, dropout: float) -> None:
    assert choose_size(given, of(pairs), None).network.model_dump()["dropout"] == dropout


@pytest.mark.parametrize(
    ("pairs", "epochs"),
    [(1, 100), (2_000, 100), (4_461, 80), (17_845, 40), (71_378, 20), (285_512, 10), (10**7, 3), (10**9, 3)],
)
def test_few_pairs_are_passed_over_more_often(pairs: int, epochs: int) -> None:
    assert epochs_for(pairs) == epochs


# How long, and how the rate falls


class Told(list[str]):
    """Remembers what it is told."""

    def __call__(self, text: str) -> None:
        self.append(text)


def slow(step: float = 1.0, validation: float = 0.0, steps_per_epoch: int = 10) -> Speed:
    return Speed(1000, step, 100.0, steps_per_epoch, validation, 2**20)


def settled(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], speed: Speed | None = None) -> Any:
    """(the paced configuration, what was told, the batches of an epoch); without a speed nothing may be measured."""

    def measured(*_: Any) -> Speed:
        assert speed is not None, "there is nothing to measure"
        return speed

    monkeypatch.setattr(decisions, "measure", measured)
    settings, told = configuration(given), Told()
    dataset = open_corpus(settings.data).dataset(settings.seed)
    batches = math.ceil(len(dataset.part("training")) / settings.optimizer.batch)
    return plan_schedule(settings, dataset, told)[0], told, batches


def test_a_budget_too_short_for_a_size_is_spent_on_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Medium's epochs take 10 s and small's 1 s; these few pairs would get 100 epochs, of which 50 are enough."""

    def measured(settings: TrainingConfiguration, *_: Any) -> Speed:
        return slow(step=1.0 if settings.preset == "medium" else 0.1)

    monkeypatch.setattr(decisions, "measure", measured)

    def planned(budget: str, **given: Any) -> str | None:
        asked = merged(tiny({"stopping": {"budget": budget, "epochs": None}}), given)
        del asked["preset"]
        dataset = open_corpus(configuration(asked).data).dataset(0)

        def smaller(preset: str) -> TrainingConfiguration:
            return choose_size({**asked, "preset": preset}, of(100), None)

        return plan_schedule(choose_size(asked, of(100), None), dataset, Told(), smaller)[0].preset

    assert planned("560s") == "medium"
    assert planned("550s") == "small"
    assert planned("5s") == "small", "the smallest is taken however short the budget"


def test_a_budget_becomes_as_many_steps_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    given = tiny({"stopping": {"budget": "100s", "epochs": None}})
    settings, told, _ = settled(monkeypatch, given, slow(step=0.5))
    assert settings.stopping.steps is None, "they may be planned again"
    assert settings.stopping.epochs is None
    assert planned_by_budget(settings)
    assert settings.stopping.budget == 100
    assert settings.optimizer.schedule_steps == 180
    assert settings.optimizer.warm_up == 18
    assert len(told) == 1
    assert "1 min 40 s" in told[0]


def test_a_schedule_whose_steps_are_given_is_not_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = tiny({"stopping": {"budget": "100s", "epochs": None}, "optimizer": {"schedule_steps": 150}})
    settings, _, _ = settled(monkeypatch, given, slow(step=0.5))
    assert (settings.stopping.steps, settings.optimizer.schedule_steps) == (180, 150)
    assert not planned_by_budget(settings)


def test_a_budget_is_only_a_limit_when_epochs_or_steps_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, told, batches = settled(monkeypatch, tiny({"stopping": {"budget": "100s", "epochs": 4}}))
    assert (settings.stopping.epochs, settings.stopping.steps) == (4, None)
    assert settings.optimizer.schedule_steps == 4 * batches
    assert told == []
    settings, told, _ = settled(monkeypatch, tiny({"stopping": {"budget": "100s", "epochs": None, "steps": 7}}))
    assert (settings.stopping.epochs, settings.stopping.steps, told) == (None, 7, [])


def test_nothing_said_means_epochs_by_the_number_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _, batches = settled(monkeypatch, tiny({"stopping": {"epochs": None}}))
    assert settings.stopping.epochs == 100
    assert settings.optimizer.schedule_steps == 100 * batches
    assert settings.optimizer.warm_up == 100 * batches // 10


@pytest.mark.parametrize(
    ("stopping", "optimizer", "whole", "warm_up"),
    [
        ({"epochs": 3, "steps": 5}, {}, 5, 0),
        ({"epochs": 1, "steps": 500}, {}, 10, 1),
        ({"epochs": 3}, {"accumulate": 4}, 9, 0),  # 10 batches of an epoch make 3 steps
        ({"steps": 200_000}, {}, 200_000, 1000),
        ({"steps": 100}, {"schedule_steps": 40}, 40, 4),
        ({"steps": 100}, {"warm_up": 0}, 100, 0),
        ({"steps": 100}, {"warm_up": 77}, 100, 77),
        ({"steps": 50_000}, {"schedule": "thesis"}, 50_000, 4000),
        ({"steps": 500}, {"schedule": "thesis"}, 500, 50),
        ({"steps": 500}, {"schedule": "thesis_as_printed"}, 500, 4000),
    ],
)
def test_the_rate_falls_over_all_planned_steps(
    monkeypatch: pytest.MonkeyPatch, stopping: Any, optimizer: Any, whole: int, warm_up: int
) -> None:
    nothing = {"epochs": None, "steps": None}
    settings, _, batches = settled(monkeypatch, tiny({"stopping": {**nothing, **stopping}, "optimizer": optimizer}))
    assert batches == 10
    assert (settings.optimizer.schedule_steps, settings.optimizer.warm_up) == (whole, warm_up)


@given(
    st.floats(0.001, 10),
    st.floats(0, 100),
    st.integers(1, 2000),
    st.floats(1, 10**6),
)
def test_the_planned_steps_fit_into_the_budget_and_one_epoch_more_does_not(
    step: float, validation: float, steps_per_epoch: int, budget: float
) -> None:
    speed = slow(step, validation, steps_per_epoch)

    def spent(steps: int) -> float:
        """With an evaluation after every epoch, and one at the end."""
        return steps * step + math.ceil(steps / steps_per_epoch) * validation

    steps = speed.steps_within(budget)
    assert steps >= 1
    assert steps == 1 or spent(steps) <= RESERVE * budget * (1 + 1e-9)
    assert spent(steps + 1 + steps_per_epoch) + validation > RESERVE * budget


def test_a_machine_is_measured_on_the_batches_it_will_see() -> None:
    settings = configuration(tiny({"optimizer": {"accumulate": 4}}))
    dataset = open_corpus(settings.data).dataset(0)
    speed = measure(settings, dataset, seconds=0.0)
    assert speed.steps_per_epoch == 3  # 10 batches, four a step
    assert speed.step_seconds > 0
    assert speed.validation_seconds > 0
    vectors = 5 * 4 * speed.parameters
    assert speed.memory > vectors
    fewer = measure(configuration(tiny({"optimizer": {"batch": 1}})), dataset, seconds=0.0)
    assert fewer.steps_per_epoch == len(dataset.part("training"))
    assert vectors < fewer.memory < speed.memory


# Going on


def saved(**given: Any) -> TrainingConfiguration:
    """As a training leaves it: everything decided."""
    decided = {
        "preset": "small",
        "stopping": {"epochs": 12},
        "optimizer": {"schedule_steps": 100, "warm_up": 10},
    }
    return configuration(merged(decided, given))


def test_the_same_settings_go_on_with_what_was_decided_then() -> None:
    then = saved(data={"files": ["a.tsv"]})
    assert check_resume(configuration({"preset": "small", "data": {"files": ["a.tsv"]}}), then, "model") == then


def test_stopping_rules_checkpoints_and_progress_may_change() -> None:
    asked = configuration(
        {
            "preset": "small",
            "out": "moved",
            "stopping": {"epochs": 20, "patience": 2},
            "checkpoints": {"keep": 5},
            "progress": {"samples": 3},
        }
    )
    settings = check_resume(asked, saved(stopping={"accuracy": 0.5}), "model")
    assert (settings.stopping.epochs, settings.stopping.patience, settings.stopping.accuracy) == (20, 2, None)
    assert (settings.checkpoints.keep, settings.progress.samples, settings.out) == (5, 3, "moved")
    assert settings.optimizer.schedule_steps == 100


@pytest.mark.parametrize(("now", "expected"), [({}, 3), ({"threads": 2}, 2)])
def test_another_computer_may_have_other_cores(now: Any, expected: int) -> None:
    settings = check_resume(configuration({"preset": "small", **now}), saved(threads=3), "model")
    assert settings.threads == expected


@pytest.mark.parametrize(
    ("stopping", "epochs", "steps"),
    [({}, 12, None), ({"accuracy": 0.9}, 12, None), ({"steps": 5}, None, 5), ({"epochs": 3}, 3, None)],
)
def test_a_limit_that_was_decided_stays_until_another_is_given(stopping: Any, epochs: Any, steps: Any) -> None:
    settings = check_resume(configuration({"preset": "small", "stopping": stopping}), saved(), "model")
    assert (settings.stopping.epochs, settings.stopping.steps) == (epochs, steps)


def test_files_go_by_the_name_they_are_given_now() -> None:
    """That their contents are the same is checked before (test_same_files)."""
    asked = configuration({"preset": "small", "data": {"files": ["b.tsv"]}})
    assert check_resume(asked, saved(data={"files": ["a.tsv"]}), "model").data.files == ("b.tsv",)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"seed": 1}, ["seed = 0 then, 1 now"]),
        ({"recipe": "thesis", "network": {"dropout": 0.1}}, ["recipe = 'modern' then, 'thesis' now"]),
        ({"data": {"vocabulary": [500, 500]}}, ["data.vocabulary = None then, (500, 500) now"]),
        ({"network": {"depth": 32}}, ["network.depth = 64 then, 32 now"]),
        ({"loss": {"smoothing": 0.0}}, ["loss.smoothing = 0.1 then, 0.0 now"]),
        ({"optimizer": {"rate": 1.0, "batch": 8}}, ["optimizer.rate = 0.01 then, 1.0 now", "optimizer.batch = 64"]),
        ({"optimizer": {"schedule_steps": 200}}, ["optimizer.schedule_steps = 100 then, 200 now"]),
        ({"start": {"model": "other"}}, ["start.model = None then, 'other' now"]),
        ({"start": {"vectors": {"source": "v.bin"}}}, ["start.vectors.source = None then, 'v.bin' now"]),
    ],
)
def test_another_training_is_told_with_all_that_differs(now: Any, told: list[str]) -> None:
    asked = configuration(merged({"preset": "small", "data": {"files": ["a.tsv"]}}, now))
    with pytest.raises(ConfigurationError, match=r"^model holds a training with other settings: ") as error:
        check_resume(asked, saved(data={"files": ["a.tsv"]}), "model")
    for part in told:
        assert part in str(error.value)
    assert "Give the same settings to resume it, or another --out" in str(error.value)


# From another model


def test_a_model_keeps_its_shape_and_may_change_its_dropout(translator: Translator) -> None:
    start = {"start": {"model": "base"}}
    settings = choose_size(start, of(10**6), translator.metadata)
    assert (settings.network.depth, settings.network.heads, settings.preset) == (16, 2, "small")
    settings = choose_size({**start, "network": {"dropout": 0.3, "depth": 16}}, of(10**6), translator.metadata)
    assert (settings.network.depth, settings.network.dropout) == (16, 0.3)
    with pytest.raises(ConfigurationError, match=r"network\.depth is 16 in base; it cannot change"):
        choose_size({**start, "network": {"depth": 64}}, of(10**6), translator.metadata)
    with pytest.raises(ConfigurationError, match=r"base is not of the preset 'large'; leave the preset out"):
        choose_size({**start, "preset": "large"}, of(10**6), translator.metadata)
