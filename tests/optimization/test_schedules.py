"""Learning rates step by step."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from dragoman.errors import ConfigurationError
from dragoman.optimization import Constant, Cosine, LinearDecay, Plateau, Schedule, ThesisWarmUp


@pytest.mark.ledger("T-5.2-warmup")
@pytest.mark.parametrize(("t", "rate"), [(1, 3.9528e-9), (2000, 7.9057e-6), (4000, 1.5811e-5), (16000, 7.9057e-6)])
def test_warm_up_of_the_thesis(t: int, rate: float) -> None:
    assert ThesisWarmUp()(t) == pytest.approx(rate, rel=1e-4)


@pytest.mark.ledger("T-5.2-warmup")
def test_warm_up_peaks_at_its_last_step() -> None:
    rates = [ThesisWarmUp(0.5, 9)(t) for t in range(1, 40)]
    assert max(rates) == rates[8] == pytest.approx(0.5 / 3)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (Constant(0.3), {1: 0.3, 1000: 0.3}),
        (LinearDecay(1.0, 10, 2), {1: 0.5, 2: 1.0, 6: 0.5, 10: 0.0, 11: 0.0}),
        (LinearDecay(1.0, 10, floor=0.2), {1: 0.92, 5: 0.6, 10: 0.2, 99: 0.2}),
        (Cosine(1.0, 10, 2), {1: 0.5, 2: 1.0, 4: (1 + math.sqrt(0.5)) / 2, 6: 0.5, 10: 0.0, 11: 0.0}),
        (Cosine(1.0, 4, floor=0.2), {2: 0.6, 4: 0.2, 5: 0.2}),
    ],
    ids=str,
)
def test_rates(schedule: Schedule, rates: dict[int, float]) -> None:
    assert {t: schedule(t) for t in rates} == pytest.approx(rates, abs=1e-12)


@pytest.mark.ledger("L-64-decay")
@pytest.mark.parametrize(
    ("schedule", "warm_up"),
    [(ThesisWarmUp(0.1, 20), 20), (LinearDecay(0.1, 100, 20), 20), (Cosine(0.1, 100, 20), 20), (Cosine(0.1, 100), 1)],
    ids=str,
)
def test_after_the_warm_up_the_rate_never_rises_again(schedule: Schedule, warm_up: int) -> None:
    rates = [schedule(t) for t in range(1, 151)]
    rising, falling = rates[:warm_up], rates[warm_up - 1 :]
    assert rising == sorted(set(rising))
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] < 0.5 * falling[0]


@pytest.mark.ledger("L-64-decay")
def test_plateau_halves_the_rate_when_nothing_gets_better() -> None:
    schedule, rates = Plateau(0.8, patience=2), []
    for error in [5.0, 4.0, 4.0, 4.1, 3.0, 3.5, 2.9, 2.9, 2.9]:
        schedule.observe(error)
        rates.append(schedule(1))
    assert rates == [0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.4, 0.2]


def test_plateau_waits_for_three_observations_unless_told_otherwise() -> None:
    schedule, rates = Plateau(0.8), []
    for error in [4.0, 4.0, 4.0, 4.0]:
        schedule.observe(error)
        rates.append(schedule(1))
    assert rates == [0.8, 0.8, 0.8, 0.4]


def test_plateau_stops_at_its_floor_and_does_not_mistake_nan_for_progress() -> None:
    schedule = Plateau(1.0, factor=0.1, patience=1, floor=0.05)
    for error in (1.0, math.nan):
        schedule.observe(error)
    assert schedule(1) == pytest.approx(0.1)
    for _ in range(3):
        schedule.observe(2.0)
    assert schedule(1) == 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ThesisWarmUp(warm_up=0), "warm_up must be at least 1, got 0"),
        (lambda: ThesisWarmUp()(0), "t must be at least 1, got 0"),
        (lambda: LinearDecay(0.1, steps=5, warm_up=5), "below steps, got 5 of 5"),
        (lambda: LinearDecay(0.1, steps=5, warm_up=-1), "at least 0"),
        (lambda: Cosine(0.1, steps=0), "0 of 0"),
        (lambda: Plateau(0.1, factor=1.0), "factor must be between 0 and 1, got 1.0"),
        (lambda: Plateau(0.1, factor=0.0), "factor"),
        (lambda: Plateau(0.1, patience=0), "patience must be at least 1"),
    ],
)
def test_settings_are_checked(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


@pytest.mark.parametrize("schedule", [ThesisWarmUp(), Cosine(0.1, 10), LinearDecay(0.1, 10)])
def test_steps_count_from_1(schedule: Schedule) -> None:
    with pytest.raises(ConfigurationError, match="t must be at least 1, got 0"):
        schedule(0)


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("make", [Constant, ThesisWarmUp, Plateau, lambda rate: Cosine(rate, 9)])
def test_rates_are_numbers(make: Callable[[float], object], rate: float) -> None:
    with pytest.raises(ConfigurationError, match="learning rate"):
        make(rate)


# A plan that changes


@pytest.mark.parametrize("kind", [Cosine, LinearDecay])
@pytest.mark.parametrize(
    ("t", "steps"),
    [(30, 40), (30, 500), (30, 31), (10, 60), (10, 11), (99, 300), (100, 300), (5, 100), (5, 11), (0, 5)],
)
def test_a_new_plan_keeps_the_rates_so_far_and_ends_where_it_says(
    kind: type[Cosine] | type[LinearDecay], t: int, steps: int
) -> None:
    before = kind(0.1, 100, 10, 0.01)
    after = before.replanned(t, steps)
    assert [after(s) for s in range(1, t + 1)] == pytest.approx([before(s) for s in range(1, t + 1)], rel=1e-12)
    assert after(steps) == after(steps + 7) == pytest.approx(0.01)
    if 10 < t < 90 and steps > t + 1:
        slope = (before(t) - before(t + 1)) * (100 - t) / (steps - t)
        assert after(t) - after(t + 1) == pytest.approx(slope, rel=0.2), "what is left, stretched evenly"


def test_plans_may_change_again_and_again() -> None:
    schedule = Cosine(1.0, 100)
    for t, steps in [(20, 60), (30, 200), (30, 150), (50, 55)]:
        rates = [schedule(s) for s in range(1, t + 1)]
        schedule = schedule.replanned(t, steps)
        assert [schedule(s) for s in range(1, t + 1)] == pytest.approx(rates, rel=1e-12)
    rates = [schedule(s) for s in range(1, 60)]
    assert rates == sorted(rates, reverse=True)
    assert rates[54] == pytest.approx(0, abs=1e-12)
    assert schedule.restored(json.loads(json.dumps(schedule.state()))) == schedule


def test_in_the_warm_up_the_rate_goes_on_rising_unless_time_is_short() -> None:
    schedule = Cosine(1.0, 100, 10)
    assert schedule.replanned(5, 20) == Cosine(1.0, 20, 10)
    assert schedule.replanned(5, 19) == Cosine(0.5, 19, 5)


def test_a_plan_ends_later_than_now() -> None:
    with pytest.raises(ConfigurationError, match="after step 30 at the earliest, got 30"):
        Cosine(1.0, 100).replanned(30, 30)
