"""Thesis, sections 5.1 and 5.2: batches, stopping, and the algorithms that minimise the loss.

An update rule runs twice: by the optimizer, and by the printed recurrence written out for a single number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from dragoman.analysis.audit.claim import Evidence, all_hold, claim, correction, disagreement, equal, holds
from dragoman.analysis.audit.loss_index import collection, problem
from dragoman.analysis.audit.paths import BETA1, BETA2, EPSILON, GRADIENTS, averages, moments, path, point, written
from dragoman.batch import Batch
from dragoman.data.batching import Batching, plan_epoch
from dragoman.graph import Array
from dragoman.loss import Loss, LossIndex
from dragoman.optimization import Adam, Constant, GradientDescent, Momentum, Optimizer, ThesisWarmUp
from dragoman.training import Stopping

# Section 5.1: update rules, stopping, batches


@claim(
    "T-5.1-opt",
    title="An optimization algorithm adds an update at each step",
    formula=r"\theta_{t+1} = \theta_t + \Delta \theta_t",
)
def update_rule() -> Evidence:
    """What `update` did to theta is what the algorithm's own equation gives for that step."""

    def by_equation(optimizer: Optimizer) -> Array:
        theta, moments, found = np.zeros(1), [np.zeros(1) for _ in optimizer.moment_names], []
        for optimizer.age, gradient in enumerate(GRADIENTS, start=1):
            theta = theta + optimizer.delta(theta, np.array([gradient]), 0.1, *moments)
            found.append(theta[0])
        return np.array(found)

    algorithms: list[Callable[[], Optimizer]] = [GradientDescent, Momentum, Adam]
    return all_hold(equal(path(make(), GRADIENTS), by_equation(make())) for make in algorithms)


@claim(
    "T-5.1-stop",
    title="Stops at a number of steps or at a goal of the loss",
    formula=r"t = t_{\max} \quad \text{or} \quad L(\theta_t) \le L_{\mathrm{goal}}",
)
def stopping_condition() -> Evidence:
    rule = Stopping(steps=5, loss_goal=0.1)

    def stopped(t: int, loss: float) -> bool:
        reached = rule.goal(Loss(error=loss / 2, regularization=loss / 2, hits=0.0, positions=1.0))
        return (reached or rule.limit(t, epochs_done=0, seconds=0)) is not None

    return holds(stopped(5, 1.0) and stopped(2, 0.1) and not stopped(4, 0.11))


def gradient_descent(gradients: Array, eta: float = 0.1) -> Iterator[float]:
    """Example 1"""
    theta = 0.0
    for g in gradients:
        theta += -eta * g
        yield theta


def momentum(gradients: Array, eta: float = 0.1, beta: float = 0.9) -> Iterator[float]:
    """Example 2"""
    theta = update = 0.0
    for g in gradients:
        update = beta * update - eta * g
        theta += update
        yield theta


@claim("T-5.1-GD", title="Gradient descent", formula=r"\Delta \theta_t = -\eta \, \nabla_{\theta_t} L")
def descends() -> Evidence:
    theta = point(1.0)
    GradientDescent().update(theta, theta.values.copy(), 0.1)  # L = theta^2 / 2
    return equal(path(GradientDescent(), GRADIENTS), written(gradient_descent(GRADIENTS))) & equal(theta.values[0], 0.9)


@claim(
    "T-5.1-mom",
    title="Momentum",
    formula=r"\Delta \theta_t = \beta \, \Delta \theta_{t-1} - \eta \, \nabla_{\theta_t} L",
)
def has_momentum() -> Evidence:
    three = path(Momentum(0.9), np.ones(3))
    return equal(path(Momentum(0.9), GRADIENTS), written(momentum(GRADIENTS))) & equal(three[-1], -0.561)


def epoch(samples: int, size: int, number: int = 0, keep: bool = True) -> list[Array]:
    """The samples of each batch of an epoch, as training takes them."""
    one_each = np.ones((samples, 1), int)
    return list(plan_epoch(one_each, Batching(size, grouped=False, keep_remainder=keep), 0, number))


@claim(
    "T-5.3-batch",
    title="Steps in an epoch",
    formula=r"\lceil n / n_B \rceil \text{ batches of } n_B \le n \text{ samples}",
)
def steps_in_an_epoch() -> Evidence:
    found = [len(epoch(n, size)) for n in range(1, 30) for size in range(1, n + 1)]
    return equal(np.array(found), np.array([math.ceil(n / size) for n in range(1, 30) for size in range(1, n + 1)]))


@claim(
    "T-5.3-shuffle",
    title="Each epoch takes every sample once, in a new order",
    formula=r"B_1 \cup B_2 \cup \dots = D, \quad B_i \cap B_j = \emptyset",
)
def shuffled() -> Evidence:
    orders = [np.concatenate(epoch(50, 8, number)) for number in range(20)]
    complete = all((np.sort(order) == np.arange(50)).all() for order in orders)
    return holds(complete and len({tuple(order) for order in orders}) == 20)


@claim(
    "T-5.3-remainder",
    title="What is left over: a smaller batch, or none",
    formula=r"10 = 4 + 4 + 2 \quad \text{or} \quad 4 + 4",
)
def remainder() -> Evidence:
    kept, dropped = ([len(b) for b in epoch(10, 4, keep=keep)] for keep in (True, False))
    return holds(kept == [4, 4, 2] and dropped == [4, 4])


@claim(
    "T-5.4-full",
    title="A batch of all samples gives the full gradient",
    formula=r"n_B = n: \quad \nabla_\theta L_B = \nabla_\theta L_D = \frac{1}{n} \sum_{i=1}^{n} \nabla_\theta L_{\{i\}}",
)
def full_batch() -> Evidence:
    network, dataset = problem()

    def gradient(batch: Batch) -> Array:
        return LossIndex().differentiate(network, batch)[1]

    (chosen,) = epoch(6, 6, 3)
    each = [gradient(collection(np.array([i]))) for i in range(6)]
    full = gradient(dataset)
    return equal(gradient(collection(chosen)), full) & equal(np.mean(each, axis=0), full)


# Section 5.2: Adam


def adam(gradients: Array, eta: float = 0.1, eps: float = EPSILON) -> Iterator[float]:
    """Algorithm 5.5"""
    theta = m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g**2
        mhat, vhat = m / (1 - BETA1**t), v / (1 - BETA2**t)
        theta += -eta * mhat / (math.sqrt(vhat) + eps)
        yield theta


@claim("T-5.5-m", title="First moment", formula=r"m_t = \beta_1 m_{t-1} + (1 - \beta_1) \nabla_{\theta_t} L")
def first_moment() -> Evidence:
    return equal(moments(GRADIENTS)["m"], averages(GRADIENTS, BETA1))


@claim("T-5.5-v", title="Second moment", formula=r"v_t = \beta_2 v_{t-1} + (1 - \beta_2) (\nabla_{\theta_t} L)^2")
def second_moment() -> Evidence:
    return equal(moments(GRADIENTS)["v"], averages(GRADIENTS**2, BETA2))


@claim("T-5.5-init", title="Moments begin at 0", formula=r"m_0 = v_0 = 0, \quad \beta_1 = 0.9, \quad \beta_2 = 0.999")
def initial_moments() -> Evidence:
    """After one step only the new gradient is in them; the memories are the usual ones."""
    first = moments(np.array([2.0]))
    defaults = holds((Adam().beta1, Adam().beta2) == (BETA1, BETA2))
    return equal(first["m"][0], (1 - BETA1) * 2.0) & equal(first["v"][0], (1 - BETA2) * 4.0) & defaults


@claim(
    "T-5.5-bias",
    title="Bias correction",
    formula=r"\hat{m}_t = \frac{m_t}{1 - \beta_1^t}, \quad \hat{v}_t = \frac{v_t}{1 - \beta_2^t}",
)
def bias_correction() -> Evidence:
    """A constant gradient g is given back exactly, from the first step: mhat = g, vhat = g^2, each step -eta."""
    t, found = np.arange(1, 41), moments(np.full(40, 3.0))
    mhat, vhat = found["m"] / (1 - BETA1**t), found["v"] / (1 - BETA2**t)
    even = path(Adam(), np.full(40, 3.0))
    return equal(mhat, np.full(40, 3.0)) & equal(vhat, np.full(40, 9.0)) & equal(even, -0.1 * t / (1 + EPSILON / 3))


@claim(
    "T-5.2.1-adam",
    title="Adam, epsilon outside the root",
    formula=r"\Delta \theta_t = -\eta \frac{\hat{m}_t}{\sqrt{\hat{v}_t} + \epsilon}",
)
def adam_update() -> Evidence:
    first = path(Adam(), np.array([1e-6]), Constant(1.0))[0]
    return (
        equal(path(Adam(), GRADIENTS), written(adam(GRADIENTS)))
        & equal(path(Adam(), 1e-6 * GRADIENTS), written(adam(1e-6 * GRADIENTS)))
        & equal(first, -0.990099, 1e-6)
    )


@claim(
    "T-5.6",
    title="Large gradients scaled down, parameter by parameter",
    formula=r"\Delta \theta_t(c \, g_1, \dots, c \, g_t) = \Delta \theta_t(g_1, \dots, g_t) \quad \text{as } \epsilon \to 0",
)
def scale_free() -> Evidence:
    scales = np.array([1e-3, 1.0, 1e3])
    together = path(Adam(epsilon=1e-300), GRADIENTS[:, None] * scales)
    return equal(together, np.repeat(path(Adam(epsilon=1e-300), GRADIENTS)[:, None], 3, axis=1))


@claim("T-5.2-warmup", title="Warm-up", formula=r"\eta_t = \eta_0 \min(t^{-0.5}, t \, t_w^{-1.5})")
def warm_up() -> Evidence:
    steps = range(1, 16001)
    rates = np.array([ThesisWarmUp(0.001, 4000)(t) for t in steps])
    printed = np.array([0.001 * min(t**-0.5, t * 4000**-1.5) for t in steps])
    reference = equal(rates[[0, 3999, 15999]] / [3.9528e-9, 1.5811e-5, 7.9057e-6], np.ones(3), 1e-4)
    return equal(rates / printed, np.ones(16000)) & reference & holds(rates.argmax() == 3999)


def listing(gradients: Array, rate: float, *, custom: bool, corrected: bool) -> Iterator[float]:
    """Listing 29, line by line; `corrected` puts epsilon sqrt(1 - b2^t) for epsilon"""
    theta = gradient_decay = square_decay = 0.0
    iteration = step = 1
    for gradient in gradients:
        bias_correction = math.sqrt(1 - BETA2**iteration) / (1 - BETA1**iteration)
        gradient_decay = gradient * (1 - BETA1) + gradient_decay * BETA1
        square_decay = gradient**2 * (1 - BETA2) + square_decay * BETA2
        epsilon = EPSILON * math.sqrt(1 - BETA2**iteration) if corrected else EPSILON
        learning_rate = rate
        if custom:
            learning_rate = rate * min(step**-0.5, step * 4000**-1.5)
            step += 1
        theta -= learning_rate * bias_correction * gradient_decay / (math.sqrt(square_decay) + epsilon)
        iteration += 1
        yield theta


@claim(
    "T-L29",
    title="Listing 29, with its epsilon scaled, is (5.2.1)",
    formula=r"\eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m_t}{\sqrt{v_t} + \epsilon \sqrt{1 - \beta_2^t}} = \eta \frac{\hat{m}_t}{\sqrt{\hat{v}_t} + \epsilon}",
)
def listing_corrected() -> Evidence:

    def agrees(gradients: Array) -> Evidence:
        fixed = written(listing(gradients, 0.1, custom=False, corrected=True))
        custom = written(listing(gradients, 0.001, custom=True, corrected=True))
        warmed = path(Adam(), gradients, ThesisWarmUp(0.001, 4000))
        return equal(path(Adam(), gradients), fixed) & equal(warmed / custom, np.ones_like(custom))

    return all_hold(agrees(scale * GRADIENTS) for scale in (1.0, 1e-3, 1e-6, 1e-8))


@correction(
    "E-T9",
    "T-L29",
    title="Listing 29 is not (5.2.1): another epsilon",
    printed=r"\eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m_t}{\sqrt{v_t} + \epsilon}",
    corrected=r"\eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m_t}{\sqrt{v_t} + \epsilon \sqrt{1 - \beta_2^t}}",
)
def listing_as_printed() -> tuple[float, Evidence]:
    """Gradients of 1e-6, where epsilon counts"""
    gradients = 1e-6 * GRADIENTS
    printed = written(listing(gradients, 0.1, custom=False, corrected=False))
    return disagreement(printed, written(adam(gradients))), listing_corrected()
