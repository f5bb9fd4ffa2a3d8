"""What the theory says about Adam: before training (5.2.3), and around a minimum (Theorem 5.8)."""

from __future__ import annotations

import itertools
import warnings
from typing import Literal

import numpy as np
import pytest

from dragoman.errors import DragomanWarning
from dragoman.graph import Array, Parameter, Theta
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.optimization import Adam, AdamW, a_priori_conditions, curvatures, local_convergence
from tests.training.perceptrons import Perceptrons, rows


@pytest.mark.ledger("T-5.2.3-apriori")
@pytest.mark.parametrize(
    ("beta1", "beta2", "broken"),
    [
        (0.9, 0.999, []),
        (0.9, 0.98, []),
        (0.96, 0.9, ["beta1 <"]),  # sqrt(0.9) = 0.9487, 0.96^2 = 0.9216
        (0.98, 0.9, ["beta1 <", "beta1^2 <"]),  # 0.98^2 = 0.9604
        (0.5, 0.25, ["beta1 <"]),  # equality is not enough
    ],
)
def test_conditions_known_beforehand(beta1: float, beta2: float, broken: list[str]) -> None:
    found = a_priori_conditions(beta1, beta2)
    assert len(found) == len(broken)
    assert all(condition.startswith(start) for condition, start in zip(found, broken, strict=True))


@pytest.mark.ledger("T-5.2.3-apriori")
@pytest.mark.parametrize("optimizer", [Adam, AdamW])
def test_adam_warns_of_settings_the_theory_advises_against(optimizer: type[Adam]) -> None:
    with pytest.warns(DragomanWarning, match=r"beta1 < sqrt.*and beta1\^2 < sqrt.*\(5\.2\.3\)"):
        optimizer(beta1=0.99, beta2=0.9)


@pytest.mark.ledger("T-5.2.3-apriori")
@pytest.mark.parametrize("optimizer", [Adam, AdamW])
def test_the_defaults_are_silent(optimizer: type[Adam]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer()
    assert not caught


def distances(curvature: float, epsilon: float, form: Literal["inside", "outside"], steps: int = 2000) -> Array:
    """|theta| at each step of Adam on curvature theta^2 / 2, rate 0.001, from 1e-12, its bias correction long faded"""
    theta, optimizer = Theta([Parameter(np.array([1e-12]))]), Adam(epsilon=epsilon, form=form)
    optimizer.age = 10_000
    found = []
    for _ in range(steps):
        optimizer.update(theta, curvature * theta.values, 0.001)
        found.append(abs(float(theta.values[0])))
    return np.array(found)


@pytest.mark.ledger("T-5.8-thm", "T-5.8-proof")
@pytest.mark.parametrize(
    ("form", "epsilon", "threshold"),
    [("inside", 1e-8, 3.8), ("inside", 1e-4, 380.0), ("outside", 1e-3, 38.0), ("outside", 1e-8, 3.8e-4)],
)
def test_adam_converges_locally_exactly_when_the_condition_holds(
    form: Literal["inside", "outside"], epsilon: float, threshold: float
) -> None:
    below, above = (distances(share * threshold, epsilon, form) for share in (0.97, 1.03))
    assert below[-1] < 1e-30  # geometric: 18 orders of magnitude and more
    assert above.max() > 1e-10  # a hundred times as far as it began
    for share in (0.97, 1.03):
        condition = local_convergence(0.001, share * threshold, epsilon=epsilon, form=form)
        assert condition.right == pytest.approx(3.8)
        assert condition.left == pytest.approx(share * 3.8)
        assert condition.holds == (share < 1)


@pytest.mark.ledger("T-5.8-thm")
def test_the_printed_condition_does_not_cover_the_default_form() -> None:
    """E-T10: curvature 1 satisfies (5.2.2) with the usual settings, yet (5.2.1) leaves the minimum."""
    assert local_convergence(0.001, 1.0, form="inside").holds
    assert distances(1.0, 1e-8, "inside").max() < 1e-11
    assert not local_convergence(0.001, 1.0).holds
    assert distances(1.0, 1e-8, "outside").max() > 1e-4


@pytest.mark.ledger("T-5.8-thm")
def test_curvatures_of_a_quadratic() -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    hessian = rotation @ np.diag([-9.0, 0.5, 2.0, 7.0]) @ rotation.T
    found = curvatures(lambda theta: hessian @ theta, np.ones(4))
    np.testing.assert_allclose(found, [-9.0, 0.5, 2.0, 7.0], rtol=1e-7)


@pytest.mark.ledger("T-5.8-thm")
def test_curvatures_of_a_network() -> None:
    """Gradients differenced once against losses differenced twice"""
    network, rng = Perceptrons(2, 2, 1, activation="tanh", seed=1), np.random.default_rng(1)
    batch, index = rows(rng.standard_normal((5, 2)), rng.standard_normal((5, 1))), LossIndex(MeanSquaredError())
    start, h = network.theta.values.copy(), 1e-4

    def gradient(theta: Array) -> Array:
        network.theta.assign(theta)
        return index.differentiate(network, batch)[1]

    def loss(*shifts: Array) -> float:
        network.theta.assign(start + h * np.sum(shifts, axis=0))
        return index.evaluate(network, batch).index

    axes = np.eye(len(start))
    hessian = [
        (loss(u, v) - loss(u, -v) - loss(-u, v) + loss(-u, -v)) / (4 * h * h) for u, v in itertools.product(axes, axes)
    ]
    expected = np.linalg.eigvalsh(np.reshape(hessian, (len(start), len(start))))[-1]
    assert curvatures(gradient, start)[-1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.ledger("T-5.8-thm")
@pytest.mark.parametrize("eigenvalues", [[-5.0, 1.0], [-2.0, -1.0], [0.0, 1.0]])
def test_no_promise_where_there_is_no_minimum(eigenvalues: list[float]) -> None:
    """A saddle, a maximum, a flat direction: the theorem is about none of them."""
    assert not local_convergence(1e-4, np.array(eigenvalues), form="inside").holds
    assert local_convergence(1e-4, np.abs(eigenvalues) + 0.1, form="inside").holds
