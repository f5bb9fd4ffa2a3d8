"""The notes, section 4: gradient descent and its variants.

An update rule runs twice: by the optimizer, and by the printed recurrence written out for a single number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, equal, holds
from dragoman.analysis.audit.notes import W, affine, b, x
from dragoman.analysis.audit.paths import GRADIENTS, averages, moments, path, point, written
from dragoman.graph import Array, Tensor, backpropagate
from dragoman.operations import linear, mean_squared_error
from dragoman.optimization import AdaGrad, Adam, Constant, GradientDescent, Momentum, RMSprop

ETA = 0.1


@claim("N-4-g", title="Gradient of each weight and bias", formula=r"g_t = \frac{dL}{dw} \text{ or } \frac{dL}{db}")
def gradients() -> Evidence:
    """One step moves weights and biases by minus the rate times their own derivatives."""
    layer = {"weights": Tensor(W), "biases": Tensor(b)}
    target = np.zeros((1, 3))
    error = mean_squared_error(linear(x[None, :], *layer.values(), transposed=True), targets=target)
    dW, db = backpropagate(error, list(layer.values()))
    theta = point(*W.ravel(), *b)
    GradientDescent().update(theta, np.concatenate((dW.ravel(), db)), ETA)
    y = affine(x, W, b)
    moved = np.concatenate(((W - ETA * np.outer(2 / 3 * y, x)).ravel(), b - ETA * 2 / 3 * y))
    return equal(theta.values, moved)


def momentum(gradients: Array, rho: float = 0.9) -> Iterator[float]:
    """4.1"""
    w = v = 0.0
    for g in gradients:
        v = rho * v + ETA * g
        w = w - v
        yield w


def adagrad(gradients: Array, eps: float = 1e-8) -> Iterator[float]:
    """4.2"""
    w = G = 0.0
    for g in gradients:
        G = G + g * g
        w = w - ETA / math.sqrt(G + eps) * g
        yield w


def rmsprop(gradients: Array, gamma: float = 0.9, eps: float = 1e-8) -> Iterator[float]:
    """4.3"""
    w = E = 0.0
    for g in gradients:
        E = gamma * E + (1 - gamma) * g**2
        w = w - ETA / math.sqrt(E + eps) * g
        yield w


def adam(gradients: Array, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> Iterator[float]:
    """4.4"""
    w = m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * (g * g)
        w = w - ETA / math.sqrt(v / (1 - beta2**t) + eps) * (m / (1 - beta1**t))
        yield w


@claim(
    "N-4.1-mom",
    title="Momentum, as a velocity",
    formula=r"v_{t+1} = \rho v_t + \eta g_t, \quad w_{t+1} = w_t - v_{t+1}",
)
def velocity() -> Evidence:
    """Under a constant gradient the velocity tends to eta g / (1 - rho)."""
    even = path(Momentum(0.9), np.ones(400))
    return (
        equal(path(Momentum(0.9), GRADIENTS), written(momentum(GRADIENTS)))
        & equal(even[2], -0.561)
        & equal(even[-2] - even[-1], ETA / (1 - 0.9))
    )


@claim(
    "N-4.2-adagrad",
    title="AdaGrad, epsilon inside the root",
    formula=r"G_t = G_{t-1} + g_t \odot g_t, \quad w_{t+1} = w_t - \frac{\eta}{\sqrt{G_t + \epsilon}} \odot g_t",
)
def adagrad_update() -> Evidence:
    three = path(AdaGrad(), np.ones(3), Constant(1.0))[-1]
    first = path(AdaGrad(), np.array([1e-4]), Constant(1.0))[0]
    return (
        equal(path(AdaGrad(), GRADIENTS), written(adagrad(GRADIENTS)))
        & equal(three, -2.284457, 1e-6)
        & equal(first, -0.7071068, 1e-6)
    )


@claim(
    "N-4.2-rate",
    title="AdaGrad's rate only falls",
    formula=r"\frac{\eta}{\sqrt{\sum_{\tau=1}^{t} g_{\tau,i}^2 + \epsilon}}",
)
def adagrad_rate() -> Evidence:
    """The rate in use is what a step was, over its gradient."""
    steps = np.diff(path(AdaGrad(), GRADIENTS), prepend=0.0)
    rates = -steps / GRADIENTS
    return equal(rates, ETA / np.sqrt(np.cumsum(GRADIENTS**2) + 1e-8)) & holds(bool((np.diff(rates) < 0).all()))


@claim(
    "N-4.3-rms",
    title="RMSprop, epsilon inside the root",
    formula=r"E[g^2]_t = \gamma E[g^2]_{t-1} + (1 - \gamma) g_t^2, \quad w_{t+1} = w_t - \frac{\eta}{\sqrt{E[g^2]_t + \epsilon}} g_t",
)
def rmsprop_update() -> Evidence:
    two = path(RMSprop(0.9), np.ones(2), Constant(1.0))[-1]
    first = path(RMSprop(0.9), np.array([1e-6]), Constant(1.0))[0]
    return (
        equal(path(RMSprop(0.9), GRADIENTS), written(rmsprop(GRADIENTS)))
        & equal(path(RMSprop(0.99), GRADIENTS), written(rmsprop(GRADIENTS, gamma=0.99)))
        & equal(two, -5.456435, 1e-6)
        & equal(first, -0.00999995, 1e-6)
    )


@claim(
    "N-4.3-why",
    title="RMSprop goes on where AdaGrad stalls",
    formula=r"g_t = g: \quad \frac{\eta \, g}{\sqrt{E[g^2]_t}} \to \eta, \quad \frac{\eta \, g}{\sqrt{G_t}} = \frac{\eta}{\sqrt{t}} \to 0",
)
def forgets() -> Evidence:
    even = np.ones(400)
    rms, ada = (-np.diff(path(optimizer, even)) for optimizer in (RMSprop(0.9), AdaGrad()))
    return equal(rms[-1], ETA, 1e-7) & equal(ada[-1], ETA / 20, 1e-7)


@claim("N-4.4-m", title="Adam's mean of gradients", formula=r"m_t = \beta_1 m_{t-1} + (1 - \beta_1) g_t")
def notes_first_moment() -> Evidence:
    return equal(moments(GRADIENTS)["m"], averages(GRADIENTS, 0.9))


@claim("N-4.4-v", title="Adam's mean of squares", formula=r"v_t = \beta_2 v_{t-1} + (1 - \beta_2) (g_t \odot g_t)")
def notes_second_moment() -> Evidence:
    return equal(moments(GRADIENTS)["v"], averages(GRADIENTS * GRADIENTS, 0.999))


@claim(
    "N-4.4-bias",
    title="Adam's bias towards 0, corrected",
    formula=r"\hat{m}_t = \frac{m_t}{1 - \beta_1^t}, \quad \hat{v}_t = \frac{v_t}{1 - \beta_2^t}",
)
def notes_bias() -> Evidence:
    """Under a constant gradient both estimates are right from the first step on, so every step is the same."""
    even = path(Adam(form="inside"), np.full(50, 2.0))
    return equal(even, -ETA * np.arange(1, 51) * 2 / math.sqrt(4 + 1e-8))


@claim(
    "N-4.4-adam",
    title="Adam, epsilon inside the root",
    formula=r"w_t = w_{t-1} - \frac{\eta}{\sqrt{\hat{v}_t + \epsilon}} \hat{m}_t",
)
def notes_adam() -> Evidence:
    """For a small gradient the two forms of Adam are far apart."""
    small = np.array([1e-6])
    inside = path(Adam(form="inside"), small, Constant(1.0))[0]
    outside = path(Adam(form="outside"), small, Constant(1.0))[0]
    return (
        equal(path(Adam(form="inside"), GRADIENTS), written(adam(GRADIENTS)))
        & equal(path(Adam(form="inside"), 1e-4 * GRADIENTS), written(adam(1e-4 * GRADIENTS)))
        & equal(inside, -0.0099995, 1e-6)
        & equal(outside, -0.990099, 1e-6)
    )
