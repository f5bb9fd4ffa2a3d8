"""Every update rule by numbers worked out on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Parameter, Theta
from dragoman.optimization import AdaGrad, Adam, AdamW, GradientDescent, Momentum, Optimizer, RMSprop

ALGORITHMS: dict[str, Callable[[], Optimizer]] = {
    "gradient descent": GradientDescent,
    "momentum": Momentum,
    "AdaGrad": AdaGrad,
    "RMSprop": RMSprop,
    "Adam": Adam,
    "Adam inside": lambda: Adam(form="inside"),
    "AdamW": lambda: AdamW(decay=0.1),
}
every_algorithm = pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS.keys())


def run(optimizer: Optimizer, gradients: Iterable[float], rate: float, start: float = 0.0) -> list[float]:
    """theta after each step"""
    theta = Theta([Parameter(np.array([start]))])
    found = []
    for gradient in gradients:
        optimizer.update(theta, np.array([gradient]), rate)
        found.append(float(theta.values[0]))
    return found


def case(make: Callable[[], Optimizer], gradients: list[float], rate: float, expected: float, *ids: str) -> object:
    return pytest.param(make, gradients, rate, expected, marks=pytest.mark.ledger(*ids), id=f"{ids[-1]} {gradients}")


@pytest.mark.parametrize(
    ("make", "gradients", "rate", "expected"),
    [
        case(GradientDescent, [1.0, 1.0, -4.0], 0.1, 0.2, "T-5.1-GD", "N-4-gd"),
        case(Momentum, [1.0, 1.0, 1.0], 0.1, -0.561, "T-5.1-mom", "N-4.1-mom"),
        case(Momentum, [1.0, 0.0, 0.0], 0.1, -0.271, "T-5.1-mom", "N-4.1-mom"),
        case(AdaGrad, [1.0, 1.0, 1.0], 1.0, -2.284457, "N-4.2-adagrad"),
        case(AdaGrad, [3.0, 4.0], 1.0, -1.8, "N-4.2-adagrad"),
        case(AdaGrad, [1e-4], 1.0, -0.7071068, "N-4.2-adagrad"),
        case(RMSprop, [1.0, 1.0], 1.0, -5.456435, "N-4.3-rms"),
        case(lambda: RMSprop(0.99), [1.0], 1.0, -10.0, "N-4.3-rms"),
        case(RMSprop, [1e-6], 1.0, -0.00999995, "N-4.3-rms"),
        case(Adam, [1e-6], 1.0, -0.990099, "T-5.2.1-adam"),
        case(lambda: Adam(form="inside"), [1e-6], 1.0, -0.0099995, "N-4.4-adam"),
        case(lambda: Adam(form="inside"), [1e-4], 1.0, -0.7071068, "N-4.4-adam"),
        case(Adam, [1.0, 0.0], 1.0, -1 - 9 / 19 * math.sqrt(1999 / 999), "T-5.2.1-adam", "T-5.5-bias"),
        case(lambda: Adam(0.5, 0.75), [1.0, 3.0], 1.0, -1 - 7 / 3 * math.sqrt(7 / 39), "T-5.5-m", "T-5.5-v"),
    ],
)
def test_reference_numbers(make: Callable[[], Optimizer], gradients: list[float], rate: float, expected: float) -> None:
    assert run(make(), gradients, rate)[-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.ledger("T-5.1-GD", "T-5.1-opt")
def test_gradient_descent_on_a_parabola() -> None:
    """L = theta^2 / 2: one step takes 1 to 0.9, and t steps to 0.9^t."""
    theta, optimizer = Theta([Parameter(np.ones(1))]), GradientDescent()
    found = []
    for _ in range(10):
        optimizer.update(theta, theta.values.copy(), 0.1)
        found.append(float(theta.values[0]))
    assert found == pytest.approx([0.9**t for t in range(1, 11)], rel=1e-12)
    assert optimizer.t == 10


@pytest.mark.ledger("N-4.1-mom")
def test_velocity_under_a_constant_gradient_has_a_limit() -> None:
    *_, before, last = run(Momentum(0.9), [2.0] * 300, 0.1)
    assert before - last == pytest.approx(0.1 * 2.0 / (1 - 0.9))


@pytest.mark.ledger("N-4.3-why", "N-4.2-rate")
def test_rmsprop_goes_on_where_adagrad_stalls() -> None:
    steps = {make: -np.diff(run(make(), [0.5] * 401, 0.1)) for make in (AdaGrad, RMSprop)}
    assert steps[RMSprop][-1] == pytest.approx(0.1, rel=1e-6)
    assert steps[AdaGrad][-1] == pytest.approx(0.1 / math.sqrt(401), rel=1e-6)


@pytest.mark.ledger("N-4.2-rate")
def test_the_rate_of_adagrad_only_falls() -> None:
    gradients = np.random.default_rng(0).standard_normal(50)
    rates = -np.diff(run(AdaGrad(), gradients, 0.1), prepend=0.0) / gradients
    assert (rates > 0).all()
    assert (np.diff(rates) < 0).all()


@pytest.mark.ledger("T-5.5-init", "T-5.5-m", "T-5.5-v", "N-4.4-m", "N-4.4-v")
def test_moments_of_adam_after_two_steps() -> None:
    optimizer = Adam()
    assert (optimizer.beta1, optimizer.beta2) == (0.9, 0.999)
    run(optimizer, [2.0, -1.0], 0.1)
    assert optimizer.moments["m"][0] == pytest.approx(0.9 * 0.1 * 2 - 0.1)
    assert optimizer.moments["v"][0] == pytest.approx(0.999 * 0.001 * 4 + 0.001)


@pytest.mark.ledger("T-5.5-bias", "N-4.4-bias")
@pytest.mark.parametrize("form", ["outside", "inside"])
@pytest.mark.parametrize("gradient", [4.0, -0.25])
def test_bias_correction_makes_all_steps_alike_under_a_constant_gradient(form, gradient: float) -> None:
    found = run(Adam(form=form), [gradient] * 30, 0.1)
    assert found == pytest.approx([-0.1 * np.sign(gradient) * t for t in range(1, 31)], rel=1e-6)


def listing_29(gradients: Array, epsilon: Callable[[int], float]) -> float:
    """The last theta of the thesis's one-line Adam, rate 0.1"""
    theta = m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        theta -= 0.1 * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (math.sqrt(v) + epsilon(t))
    return theta


@pytest.mark.ledger("T-L29", "T-5.2.1-adam")
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e-8])
def test_listing_29_is_adam_with_another_epsilon(scale: float) -> None:
    gradients = scale * np.random.default_rng(4).uniform(1, 3, 200)
    found = run(Adam(), gradients, 0.1)[-1]
    assert found == pytest.approx(listing_29(gradients, lambda t: 1e-8 * math.sqrt(1 - 0.999**t)), rel=1e-12)
    as_printed = abs(listing_29(gradients, lambda t: 1e-8) / found - 1)
    assert as_printed > 1e-2 if scale <= 1e-6 else 0 < as_printed < 1e-3


@pytest.mark.ledger("T-5.6")
def test_adam_rates_each_parameter_on_its_own() -> None:
    gradients = np.random.default_rng(1).standard_normal(30)
    theta, optimizer = Theta([Parameter(np.zeros(3))]), Adam()
    for gradient in gradients:
        optimizer.update(theta, gradient * np.array([1.0, 1e3, 1e6]), 0.1)
    np.testing.assert_allclose(theta.values, theta.values[0], rtol=1e-5)
    assert theta.values[0] == pytest.approx(run(Adam(), gradients, 0.1)[-1], rel=1e-12)


@pytest.mark.parametrize("form", ["outside", "inside"])
def test_decay_of_adamw_stands_apart_from_the_gradient(form) -> None:
    """Without a gradient theta shrinks by (1 - eta decay) a step; with one, the decay is not divided by its root."""
    idle = run(AdamW(form=form, decay=0.5), [0.0] * 4, 0.1, start=8.0)
    assert idle == pytest.approx([8 * 0.95**t for t in range(1, 5)], rel=1e-12)
    (plain,), (decayed,) = run(Adam(form=form), [100.0], 0.1, 8.0), run(AdamW(form=form, decay=0.5), [100.0], 0.1, 8.0)
    assert decayed - plain == pytest.approx(-0.1 * 0.5 * 8)
    assert run(Adam(form=form), [0.0], 0.1, 8.0) == [8.0]


def three_parameters(frozen: bool = True) -> tuple[Theta, Parameter]:
    """A trainable matrix, a frozen vector between, a trainable vector"""
    rng = np.random.default_rng(2)
    parameters = [Parameter(rng.standard_normal(shape)) for shape in ((2, 3), 4, 5)]
    parameters[1].frozen = frozen
    return Theta(parameters), parameters[1]


@pytest.mark.ledger("N-4-g", "T-5.1-opt")
@every_algorithm
def test_frozen_parameters_keep_every_bit_and_have_no_moments(make: Callable[[], Optimizer]) -> None:
    theta, frozen = three_parameters()
    free, _ = three_parameters(frozen=False)
    initial, optimizer, other = theta.values.copy(), make(), make()
    rng = np.random.default_rng(3)
    for _ in range(5):
        gradient = rng.standard_normal(15)
        optimizer.update(theta, gradient, 0.1)
        other.update(free, gradient, 0.1)
    behind, rest = np.arange(6, 10), np.r_[0:6, 10:15]
    assert (theta.values[behind] == initial[behind]).all()
    assert frozen.value.tobytes() == initial[behind].tobytes()
    assert (theta.values[rest] != initial[rest]).all()
    np.testing.assert_array_equal(theta.values[rest], free.values[rest])
    for name in optimizer.moment_names:
        assert not optimizer.moments[name][behind].any()
        assert optimizer.moments[name][rest].all()


@every_algorithm
def test_a_rate_of_0_moves_nothing_and_the_gradient_is_left_as_it_was(make: Callable[[], Optimizer]) -> None:
    theta, _ = three_parameters()
    initial, gradient = theta.values.copy(), np.arange(15.0)
    make().update(theta, gradient, 0.0)
    np.testing.assert_array_equal(theta.values, initial)
    np.testing.assert_array_equal(gradient, np.arange(15.0))


@every_algorithm
def test_steps_stay_in_the_precision_of_theta(make: Callable[[], Optimizer]) -> None:
    theta, optimizer = Theta([Parameter(np.ones(3, np.float32))]), make()
    values: Array = theta.values
    optimizer.update(theta, np.ones(3, np.float32), 0.1)
    assert theta.values is values
    assert {moment.dtype for moment in optimizer.moments.values()} <= {np.dtype(np.float32)}
    assert (values < 1).all()


def test_a_gradient_of_another_length_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"\(4,\).*\(3,\)"):
        Adam().update(Theta([Parameter(np.zeros(3))]), np.zeros(4), 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Momentum(1.0), "beta must be at least 0 and below 1, got 1.0"),
        (lambda: Momentum(-0.1), "beta"),
        (lambda: RMSprop(gamma=1.0), "gamma"),
        (lambda: RMSprop(epsilon=0.0), "epsilon must be above 0, got 0.0"),
        (lambda: AdaGrad(epsilon=-1e-8), "epsilon"),
        (lambda: Adam(beta1=1.0), "beta1"),
        (lambda: Adam(beta2=1.5), "beta2"),
        (lambda: Adam(epsilon=0.0), "epsilon"),
        (lambda: Adam(form="above"), "'outside' or 'inside' the root, got 'above'"),
        (lambda: AdamW(decay=-0.1), "decay must not be negative, got -0.1"),
    ],
)
def test_settings_are_checked(make: Callable[[], Optimizer], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_a_parameter_that_joins_later_starts_like_any_other() -> None:
    """After a thousand steps without it, its first step under Adam is still one rate long."""
    theta = Theta([Parameter(np.zeros(1)), Parameter(np.zeros(1))])
    theta.parameters[1].frozen = True
    optimizer = Adam()
    for _ in range(1000):
        optimizer.update(theta, np.ones(2), 0.01)
    theta.parameters[1].frozen = False
    optimizer.update(theta, np.ones(2), 0.01)
    assert theta.values[1] == pytest.approx(-0.01, rel=1e-6)
    assert optimizer.t == 1001
