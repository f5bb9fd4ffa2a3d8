"""Thesis, section 4.1: regularization and the loss as a function of theta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dragoman.analysis.audit.claim import Evidence, agreement, all_hold, claim, equal, holds
from dragoman.analysis.audit.paths import GRADIENTS, point
from dragoman.batch import Batch
from dragoman.graph import Array, Tensor
from dragoman.graph.gradient_check import DIFFERENCE_TOLERANCE, central_differences
from dragoman.loss import LossIndex, Regularization
from dragoman.networks.custom import TwoLayerConfiguration, TwoLayerNetwork


def differentiated(loss: Callable[[Array], float], gradient: Array, at: Array) -> Evidence:
    """A gradient against central differences over the flat theta."""
    x = Tensor(at.copy())
    reference = central_differences(lambda: loss(x.value), x)
    return agreement("central differences", gradient, reference, DIFFERENCE_TOLERANCE)


def regularized(norm: Regularization, at: Array) -> tuple[float, Array]:
    """omega and its gradient"""
    gradient = np.zeros_like(at)
    norm.add_gradient(point(*at), gradient)
    return norm.value(point(*at)), gradient


def regularization_claim(norm: Regularization, at: Array, value: float, gradient: Array) -> Evidence:
    """Printed value and gradient, differences of the one against the other, and the choice made at 0."""
    found, slope = regularized(norm, at)
    at_zero = regularized(norm, np.zeros_like(at))
    by_differences = differentiated(lambda theta: norm.value(point(*theta)), slope, at)
    chosen = holds(at_zero[0] == 0 and not at_zero[1].any())
    return equal(found, value) & equal(slope, gradient) & by_differences & chosen


@claim(
    "T-4.1-L1",
    title="L1 regularization; its gradient is set to 0 at 0",
    formula=r"\omega(\theta) = \lVert \theta \rVert_1 = \sum_{u=1}^{p} |\theta_u|, \quad \frac{\partial \omega}{\partial \theta_u} = \mathrm{sign}(\theta_u)",
)
def l1() -> Evidence:
    return regularization_claim(Regularization("l1"), np.array([3.0, -4.0]), 7.0, np.array([1.0, -1.0]))


@claim(
    "T-4.1-L2",
    title="L2 regularization, not squared; gradient 0 at 0",
    formula=r"\omega(\theta) = \lVert \theta \rVert_2 = \sqrt{\sum_{u=1}^{p} \theta_u^2}, \quad \nabla \omega = \frac{\theta}{\lVert \theta \rVert_2}",
)
def l2() -> Evidence:
    _, slope = regularized(Regularization("l2"), GRADIENTS)
    reference = regularization_claim(Regularization("l2"), np.array([3.0, 4.0]), 5.0, np.array([0.6, 0.8]))
    return reference & equal(float(np.linalg.norm(slope)), 1.0)


def problem() -> tuple[TwoLayerNetwork, Batch]:
    """Six samples with their classes, and a network with theta away from 0"""
    rng = np.random.default_rng(1)
    network = TwoLayerNetwork(TwoLayerConfiguration(positions=2, inputs=3, depth=3, classes=4), dtype=np.float64)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    return network, collection(np.arange(6))


def collection(chosen: Array) -> Batch:
    """The chosen ones of the six samples"""
    rng = np.random.default_rng(2)
    X, classes = rng.standard_normal((6, 2, 3)), rng.integers(0, 4, 6)
    packed = Batch.pack(list(X[chosen]))
    return Batch(packed.labels, packed.offsets, classes[chosen])


NORMS: tuple[Literal["l1", "l2"], ...] = ("l1", "l2")
LOSSES = [LossIndex(), *(LossIndex(regularization=Regularization(norm, 0.3)) for norm in NORMS)]


@claim(
    "T-4.5-loss",
    title="Loss index: error plus regularization",
    formula=r"\mathcal{L}_{x,\hat{y}}[y_\theta] = E_{x,\hat{y}}[y_\theta] + \Omega[y_\theta]",
)
def loss_index() -> Evidence:
    network, batch = problem()
    theta, alone = network.theta.values, LossIndex().evaluate(network, batch)
    none, l1, l2 = (index.evaluate(network, batch).index for index in LOSSES)
    return (
        equal(none, alone.error)
        & equal(l1 - alone.error, 0.3 * np.abs(theta).sum())
        & equal(l2 - alone.error, 0.3 * np.sqrt((theta**2).sum()))
    )


@claim(
    "T-4.1.2-lossfn",
    title="Loss as a function of theta alone",
    formula=r"L(\theta) = e(y(x; \theta), \hat{y}) + \omega(\theta)",
)
def loss_function() -> Evidence:
    """With x and yhat fixed, theta decides: moved, the loss moves; put back, it is the same number again."""
    network, batch = problem()
    theta = network.theta.values.copy()

    def settled(L: Callable[[Array], float]) -> Evidence:
        there, elsewhere, again = L(theta), L(2 * theta), L(theta)
        return holds(again == there != elsewhere)

    return all_hold(settled(loss_of(index, network, batch)) for index in LOSSES)


def loss_of(index: LossIndex, network: TwoLayerNetwork, batch: Batch) -> Callable[[Array], float]:
    """L(theta)"""

    def L(theta: Array) -> float:
        network.theta.assign(theta)
        return index.evaluate(network, batch).index

    return L


@claim(
    "T-4.1-grad",
    title="Gradients of error and regularization add",
    formula=r"\nabla_\theta L = \nabla_\theta e + \nabla_\theta \omega",
)
def loss_gradient() -> Evidence:
    network, batch = problem()
    theta = network.theta.values.copy()
    _, of_error = LossIndex().differentiate(network, batch)

    def adds(index: LossIndex, omega: Array) -> Evidence:
        network.theta.assign(theta)
        _, gradient = index.differentiate(network, batch)
        sum_of_both = equal(gradient, of_error + omega)
        return sum_of_both & differentiated(loss_of(index, network, batch), gradient, theta)

    of_omega = [regularized(Regularization(norm, 0.3), theta)[1] for norm in NORMS]
    return all_hold(map(adds, LOSSES, [np.zeros_like(theta), *of_omega]))
