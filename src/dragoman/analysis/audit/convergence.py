"""Thesis, section 5.2: when Adam converges, Theorem 5.8 and what is known beforehand."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dragoman.analysis.audit.claim import Evidence, all_hold, claim, correction, disagreement, equal, holds
from dragoman.analysis.audit.paths import BETA1, BETA2, EPSILON, point
from dragoman.graph import Array
from dragoman.operations.teaching.jacobians import numerical_jacobian
from dragoman.optimization import Adam, a_priori_conditions, local_convergence


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
        return at_threshold & all_hold(map(predicted, (0.5, 0.999, 1.001, 2.0)))

    shapes = (np.eye(1), rotation @ np.diag([0.1, 0.4, 1.0]) @ rotation.T)
    return all_hold(turns(shape, eta, eps) for shape in shapes for eta, eps in SETTINGS)


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
    shrinks = holds(bool(distances[550:].max() / distances[100:150].max() < spectral_radius(hessian, eta, eps) ** 450))
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
