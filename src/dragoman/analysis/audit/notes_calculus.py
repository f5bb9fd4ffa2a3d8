"""The notes, section 2: gradient descent and vector calculus."""

from __future__ import annotations

import math

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, correction, disagreement, equal, holds
from dragoman.analysis.audit.notes import W, affine, b, exponential_share, jacobian, x
from dragoman.analysis.audit.paths import point
from dragoman.graph import Array, Parameter, Theta
from dragoman.operations.teaching.jacobians import numerical_jacobian, softmax_jacobian
from dragoman.optimization import GradientDescent


def bowl(w: Array) -> float:
    """A quadratic that is steeper in one direction than in the others"""
    return float(3 * w[0] ** 2 + w[0] * w[1] + w[1] ** 2)


def bowl_gradient(w: Array) -> Array:
    return np.array([6 * w[0] + w[1], w[0] + 2 * w[1]])


@claim(
    "N-2-steepest",
    title="Straight against the gradient is steepest",
    formula=r"\min_{\lVert u \rVert = 1} u \cdot \nabla f(x) = \lVert \nabla f(x) \rVert \min_\theta \cos \theta = -\lVert \nabla f(x) \rVert, \quad \theta = 180^\circ",
)
def steepest() -> Evidence:
    """Slopes along 360 directions, measured, against norm times cosine; the least of them points backwards."""
    at, h, degrees = np.array([1.0, -2.0]), 1e-6, np.arange(360)
    gradient, angle = bowl_gradient(at), np.radians(degrees)
    length, heading = float(np.linalg.norm(gradient)), math.atan2(gradient[1], gradient[0])
    directions = np.stack((np.cos(heading + angle), np.sin(heading + angle)), axis=1)
    slopes = np.array([(bowl(at + h * u) - bowl(at - h * u)) / (2 * h) for u in directions])
    exact = equal(directions @ gradient, length * np.cos(angle))
    return exact & equal(slopes, directions @ gradient, 1e-8) & holds(degrees[slopes.argmin()] == 180)


@claim(
    "N-2-step", "N-4-gd", title="Plain gradient descent, with a small step", formula=r"w_{t+1} = w_t - \alpha \, g_t"
)
def plain_descent() -> Evidence:
    theta, w, found, expected, heights = point(1.0, -2.0), np.array([1.0, -2.0]), [], [], []
    for _ in range(50):
        GradientDescent().update(theta, bowl_gradient(theta.values), 0.1)
        w = w - 0.1 * bowl_gradient(w)
        found.append(theta.values.copy())
        expected.append(w)
        heights.append(bowl(w))
    return equal(np.array(found), np.array(expected)) & holds(bool((np.diff(heights) < 0).all()))


@claim(
    "N-2.1-jac",
    title="Jacobian: a row for each output, a column for each input",
    formula=r"\frac{dy}{dx} = \begin{bmatrix} \frac{dy_1}{dx_1} & \dots & \frac{dy_1}{dx_n} \\ \vdots & & \vdots \\ \frac{dy_m}{dx_1} & \dots & \frac{dy_m}{dx_n} \end{bmatrix} \in \mathrm{R}^{m \times n}",
)
def jacobian_layout() -> Evidence:
    """y = (x1 x2, sin x3): two rows, three columns"""
    at = np.array([2.0, 3.0, 0.5])
    closed = np.array([[3.0, 2.0, 0.0], [0.0, 0.0, math.cos(0.5)]])
    return jacobian(closed, lambda x: np.array([x[0] * x[1], np.sin(x[2])]), at)


@claim(
    "N-2.1-diff", title="A small change passes through the Jacobian", formula=r"\delta y = \frac{dy}{dx} \, \delta x"
)
def differential() -> Evidence:
    """What is left over falls with the square of the change."""
    change = np.array([0.5, -1.0, 0.3, 0.8])

    def rest(h: float) -> float:
        first_order = softmax_jacobian(x) @ (h * change)
        return float(np.abs(exponential_share(x + h * change) - exponential_share(x) - first_order).max())

    return equal(rest(1e-3) / rest(1e-4), 100.0, 0.01)


@claim(
    "N-2.1-scalar",
    title="Derivative of a scalar: one row of partials",
    formula=r"\frac{dy}{dx} = \begin{bmatrix} \frac{dy}{dx_1} & \dots & \frac{dy}{dx_n} \end{bmatrix}",
)
def scalar_derivative() -> Evidence:
    return jacobian(np.array([3.0, 2.0, 8.0]), lambda x: x[0] * x[1] + x[2] ** 2, np.array([2.0, 3.0, 4.0]))


@claim(
    "N-2.1-vec",
    title="A matrix read row by row",
    formula=r"\mathrm{vect}(x) = (x_{11}, x_{12}, \dots, x_{1n}, x_{21}, \dots, x_{mn})^\top",
)
def row_by_row() -> Evidence:
    """The order in which theta stores a matrix; folded back, it is the matrix"""
    listed, matrix = np.array([W[i, j] for i in range(3) for j in range(4)]), Parameter(W)
    theta = Theta([matrix])
    return equal(theta.values, listed) & equal(theta.view(listed, matrix), W)


@correction(
    "E-N1",
    "N-2.1-vec",
    "N-3.2-dW",
    title="vect stacks rows; the text says columns",
    printed=r"\mathrm{vect}(x) = (x_{11}, x_{21}, \dots, x_{m1}, x_{12}, \dots, x_{mn})^\top",
    corrected=r"\mathrm{vect}(x) = (x_{11}, x_{12}, \dots, x_{1n}, x_{21}, \dots, x_{mn})^\top",
)
def stacking() -> tuple[float, Evidence]:
    """dy/dW by each flattening of W against the blocks that (3.2) prints"""
    blocks = np.kron(np.eye(3), x)
    by_columns = numerical_jacobian(lambda v: affine(x, v.reshape(3, 4, order="F"), b), W.ravel(order="F"))
    by_rows = numerical_jacobian(lambda v: affine(x, v.reshape(3, 4), b), W.ravel())
    return disagreement(by_columns, blocks), equal(by_rows, blocks)


@claim(
    "N-2.1-matderiv",
    title="Derivative by a matrix, folded back to its shape",
    formula=r"\frac{dy}{dx} = \begin{bmatrix} \frac{dy}{dx_{11}} & \dots & \frac{dy}{dx_{1n}} \\ \vdots & & \vdots \\ \frac{dy}{dx_{m1}} & \dots & \frac{dy}{dx_{mn}} \end{bmatrix}",
)
def matrix_derivative() -> Evidence:
    """y = sum of W * C has derivative C: by vect(W) and folded, and by W at once"""
    C = np.arange(12.0).reshape(3, 4)
    flat = numerical_jacobian(lambda v: (v * C.ravel()).sum(), W.ravel())
    return equal(flat.reshape(3, 4), C) & jacobian(C, lambda W: (W * C).sum(), W)


@claim(
    "N-2.1-tensor",
    title="Derivative of a vector by a matrix: three indices",
    formula=r"\frac{dy_k}{dx_{ij}}, \quad y \in \mathrm{R}^k, x \in \mathrm{R}^{m \times n}",
)
def third_order() -> Evidence:
    """y = x b has dy_k/dx_ij = 1{k = i} b_j; differentiated by vect(x) and folded it is the same"""
    at, closed = W.T, np.einsum("ki,j->kij", np.eye(4), b)
    flat = numerical_jacobian(lambda v: v.reshape(4, 3) @ b, at.ravel())
    return jacobian(closed, lambda x: x @ b, at) & equal(flat.reshape(4, 4, 3), closed)
