"""Thesis, section 4.1 and chapter 5: the loss as a function of theta, and the algorithms that minimise it.

An update rule runs twice: by the optimizer, and by the printed recurrence written out for a single number.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, correction, disagreement, equal, holds, proved
from dragoman.batch import Batch
from dragoman.data import epoch
from dragoman.graph import Array, GradientReport, Parameter, Tensor, Theta
from dragoman.graph.gradient_check import DIFFERENCE_TOLERANCE, central_differences, compare
from dragoman.loss import Loss, LossIndex, Regularization
from dragoman.networks.custom import TwoLayerConfiguration, TwoLayerNetwork
from dragoman.operations.teaching.jacobians import numerical_jacobian
from dragoman.optimization import (
    Adam,
    Constant,
    GradientDescent,
    Momentum,
    Optimizer,
    Schedule,
    ThesisWarmUp,
    a_priori_conditions,
    local_convergence,
)
from dragoman.training import Stopping

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
RATE = Constant(0.1)
GRADIENTS = np.random.default_rng(5).standard_normal(40)


def point(*values: float) -> Theta:
    """A theta of plain numbers, without a network."""
    return Theta([Parameter(np.array(values, np.float64))])


def path(optimizer: Optimizer, gradients: Array, schedule: Schedule = RATE) -> Array:
    """theta after each step from 0, when step t is given gradient t: [T], or [T, p] for gradients [T, p]."""
    theta = point(*np.zeros_like(np.atleast_1d(gradients[0])))
    found = []
    for t, gradient in enumerate(gradients, start=1):
        optimizer.update(theta, np.atleast_1d(gradient), schedule(t))
        found.append(theta.values.copy())
    return np.array(found).reshape(np.shape(gradients))


def written(recurrence: Iterator[float]) -> Array:
    """theta after each step of a printed recurrence"""
    return np.fromiter(recurrence, np.float64)


def every(parts: Iterable[Evidence]) -> Evidence:
    """Evidence that all of it holds."""
    return functools.reduce(operator.and_, parts)


def differentiated(loss: Callable[[Array], float], gradient: Array, at: Array) -> Evidence:
    """A gradient against central differences over the flat theta."""
    x = Tensor(at.copy())
    reference = central_differences(lambda: loss(x.value), x)
    found = compare("theta", "central differences", gradient, reference, DIFFERENCE_TOLERANCE)
    return proved(GradientReport((found,)))


# Section 4.1: regularization and the loss index


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

    return every(settled(loss_of(index, network, batch)) for index in LOSSES)


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
    return every(map(adds, LOSSES, [np.zeros_like(theta), *of_omega]))


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
    return every(equal(path(make(), GRADIENTS), by_equation(make())) for make in algorithms)


@claim(
    "T-5.1-stop",
    title="Stops at a number of steps or at a goal of the loss",
    formula=r"t = t_{\max} \quad \text{or} \quad L(\theta_t) \le L_{\mathrm{goal}}",
)
def stopping_condition() -> Evidence:
    rule = Stopping(steps=5, loss_goal=0.1)

    def stopped(t: int, loss: float) -> bool:
        return rule.reason(t, Loss(error=loss / 2, regularization=loss / 2, hits=0.0, positions=1.0)) is not None

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


@claim(
    "T-5.3-batch",
    title="Steps in an epoch",
    formula=r"\lceil n / n_B \rceil \text{ batches of } n_B \le n \text{ samples}",
)
def steps_in_an_epoch() -> Evidence:
    found = [len(list(epoch(n, size, np.random.default_rng(0)))) for n in range(1, 30) for size in range(1, n + 1)]
    return equal(np.array(found), np.array([math.ceil(n / size) for n in range(1, 30) for size in range(1, n + 1)]))


@claim(
    "T-5.3-shuffle",
    title="Each epoch takes every sample once, in a new order",
    formula=r"B_1 \cup B_2 \cup \dots = D, \quad B_i \cap B_j = \emptyset",
)
def shuffled() -> Evidence:
    rng = np.random.default_rng(0)
    orders = [np.concatenate(list(epoch(50, 8, rng))) for _ in range(20)]
    complete = all((np.sort(order) == np.arange(50)).all() for order in orders)
    return holds(complete and len({tuple(order) for order in orders}) == 20)


@claim(
    "T-5.3-remainder",
    title="What is left over: a smaller batch, or none",
    formula=r"10 = 4 + 4 + 2 \quad \text{or} \quad 4 + 4",
)
def remainder() -> Evidence:
    kept, dropped = ([len(b) for b in epoch(10, 4, np.random.default_rng(0), keep)] for keep in (True, False))
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

    (chosen,) = epoch(6, 6, np.random.default_rng(3))
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


def averages(values: Array, beta: float) -> Array:
    """The moment recurrence solved: (1 - b) sum_tau b^(t - tau) x_tau for every t"""
    powers = np.arange(len(values))
    ages = np.subtract.outer(powers, powers)
    solved: Array = (1 - beta) * np.where(ages >= 0, beta ** np.maximum(ages, 0), 0.0) @ values
    return solved


def moments(gradients: Array) -> dict[str, Array]:
    """Adam's moments after each step"""
    optimizer, theta = Adam(), point(0.0)
    found: dict[str, list[float]] = {"m": [], "v": []}
    for gradient in gradients:
        optimizer.update(theta, np.array([gradient]), 0.1)
        for name, kept in found.items():
            kept.append(float(optimizer.moments[name][0]))
    return {name: np.array(kept) for name, kept in found.items()}


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

    return every(agrees(scale * GRADIENTS) for scale in (1.0, 1e-3, 1e-6, 1e-8))


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


# Section 5.2: convergence


def adam_map(x: Array, hessian: Array, eta: float, eps: float, t: float = math.inf) -> Array:
    """T(t, x) of the proof of Theorem 5.8: (m, v, theta) after step t, epsilon inside, L = theta^T H theta / 2.

    t = inf leaves the autonomous part, without bias correction.
    """
    m, v, theta = np.split(x, 3)
    g = hessian @ theta
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    mhat, vhat = m / (1 - BETA1**t), v / (1 - BETA2**t)
    moved: Array = np.concatenate((m, v, theta - eta * mhat / np.sqrt(vhat + eps)))
    return moved


def spectral_radius(hessian: Array, eta: float, eps: float) -> float:
    """Of the autonomous part, linearised at its fixed point (0, 0, theta*): 3 x 3 for a single parameter."""
    jacobian = numerical_jacobian(lambda x: adam_map(x, hessian, eta, eps), np.zeros(3 * len(hessian)))
    return float(np.abs(np.linalg.eigvals(jacobian)).max())


SETTINGS = [(1e-3, 1e-8), (1e-2, 1e-4), (0.5, 1e-2)]  # eta, epsilon


@claim(
    "T-5.8-thm",
    title="Adam converges locally, epsilon inside the root",
    formula=r"\frac{\eta \, \max_u \lambda_u}{\sqrt{\epsilon}} (1 - \beta_1) < 2 \beta_1 + 2 \iff \rho(J_{\tilde{T}}(0, 0, \theta^*)) < 1",
)
def local_theorem() -> Evidence:
    """The spectral radius passes 1 exactly where the condition turns, for one parameter and for the largest of three."""
    rotation, _ = np.linalg.qr(np.random.default_rng(6).standard_normal((3, 3)))

    def turns(shape: Array, eta: float, eps: float) -> Evidence:
        threshold = (2 * BETA1 + 2) * math.sqrt(eps) / (eta * (1 - BETA1))

        def predicted(share: float) -> Evidence:
            radius = spectral_radius(share * threshold * shape, eta, eps)
            condition = local_convergence(eta, share * threshold, BETA1, eps, form="inside")
            return holds((radius < 1) == condition.holds == (share < 1))

        at_threshold = equal(spectral_radius(threshold * shape, eta, eps), 1.0)
        return at_threshold & every(map(predicted, (0.5, 0.999, 1.001, 2.0)))

    shapes = (np.eye(1), rotation @ np.diag([0.1, 0.4, 1.0]) @ rotation.T)
    return every(turns(shape, eta, eps) for shape in shapes for eta, eps in SETTINGS)


@claim(
    "T-5.8-proof",
    title="Adam is an autonomous map and a part that dies out",
    formula=r"T(t, x) = \tilde{T}(x) + \Phi(t, x), \quad \lVert \Phi(t, x) \rVert \le C \beta^t \lVert x - x^* \rVert, \quad \beta = \max(\beta_1, \beta_2, \beta_1^2)",
)
def local_proof() -> Evidence:
    """T is what the optimizer does, x* = 0 stays, (m, v, theta) shrinks geometrically.

    C = eta / sqrt(eps) (1 / (1 - b1) + 1 / (1 - b2)) will do for lambda <= 1, as the new m is no longer than x - x*.
    """
    eta, eps, hessian = 1e-3, 1e-8, np.array([[1.0]])
    optimizer, theta = Adam(BETA1, BETA2, eps, form="inside"), point(1e-6)
    C = eta / math.sqrt(eps) * (1 / (1 - BETA1) + 1 / (1 - BETA2))
    x, states, found, within = np.array([0.0, 0.0, 1e-6]), [], [], []
    for t in range(1, 601):
        autonomous, moved = adam_map(x, hessian, eta, eps), adam_map(x, hessian, eta, eps, t)
        within.append(np.linalg.norm(moved - autonomous) <= C * max(BETA1, BETA2, BETA1**2) ** t * np.linalg.norm(x))
        optimizer.update(theta, hessian @ theta.values, eta)
        found.append(np.array([*optimizer.moments.values(), theta.values]).ravel())
        states.append(x := moved)
    distances = np.linalg.norm(states, axis=1)
    same = equal(np.array(found) / distances[:, None], np.array(states) / distances[:, None])
    stays = holds(not adam_map(np.zeros(3), hessian, eta, eps).any())
    shrinks = holds(distances[550:].max() / distances[100:150].max() < spectral_radius(hessian, eta, eps) ** 450)
    return same & stays & holds(all(within)) & shrinks


@claim(
    "T-5.2.3-apriori",
    title="Conditions known beforehand",
    formula=r"\beta_1 < \sqrt{\beta_2}, \quad \beta_1^2 < \sqrt{\beta_2}",
)
def known_beforehand() -> Evidence:
    """Five hundred pairs, and the usual one"""
    pairs = np.random.default_rng(7).uniform(0, 1, (500, 2))
    agree = all(len(a_priori_conditions(b1, b2)) == int(b1**2 >= b2) + int(b1**4 >= b2) for b1, b2 in pairs)
    return holds(agree and not a_priori_conditions(BETA1, BETA2))


def strays(curvatures: Array, epsilon: float, form: Literal["outside", "inside"] = "outside") -> list[bool]:
    """Whether Adam, rate 0.001, leaves the minimum of lambda theta^2 / 2, for each lambda, when put down beside it.

    It starts 1e-12 away, at a step where the bias correction has faded; whoever gets 1000 times as far has left.
    """
    optimizer, theta = Adam(BETA1, BETA2, epsilon, form), point(*np.full(len(curvatures), 1e-12))
    optimizer.age = 10_000
    furthest = np.zeros(len(curvatures))
    for _ in range(3000):
        optimizer.update(theta, curvatures * theta.values, 0.001)
        furthest = np.maximum(furthest, np.abs(theta.values))
    left: list[bool] = (furthest > 1e-9).tolist()
    return left


@correction(
    "E-T10",
    "T-5.8-thm",
    "T-5.2.1-adam",
    title="Theorem 5.8 does not cover (5.2.1)",
    printed=r"\frac{\eta \, \max_u \lambda_u}{\sqrt{\epsilon}} (1 - \beta_1) < 2 \beta_1 + 2",
    corrected=r"\frac{\eta \, \max_u \lambda_u}{\epsilon} (1 - \beta_1) < 2 \beta_1 + 2",
)
def theorem_outside() -> tuple[float, Evidence]:
    """The curvature at which (5.2.1) stops converging, found by running it with epsilon 0.001: printed 1202, true 38.

    With the usual epsilon, curvature 1 satisfies the printed condition; the form inside stays, (5.2.1) leaves.
    """
    eta, eps = 0.001, 1e-3
    curvatures = np.array([1.0, 37.0, 37.99, 38.01, 39.0, 100.0, 1000.0])
    left = strays(curvatures, eps)
    turn = (curvatures[left].min() + curvatures[np.logical_not(left)].max()) / 2
    predicted = [not local_convergence(eta, c, BETA1, eps, form="outside").holds for c in curvatures]
    one = np.ones(1)
    usual = local_convergence(eta, 1.0, BETA1, EPSILON, form="inside").holds
    usual &= strays(one, EPSILON, "outside") == [True] and strays(one, EPSILON, "inside") == [False]
    printed = (2 * BETA1 + 2) * math.sqrt(eps) / (eta * (1 - BETA1))
    return disagreement(np.array(printed), turn), equal(turn, 38.0) & holds(left == predicted) & holds(usual)
