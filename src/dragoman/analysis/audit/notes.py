"""The notes: vector calculus (2), the blocks of a network with their derivatives (3), gradient descent (4).

The notes write one sample as a column, y = W x + b; the operations take it as a row, x W^T + b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, correction, disagreement, equal, holds, proved
from dragoman.analysis.audit.optimization import GRADIENTS, averages, moments, path, point, written
from dragoman.graph import (
    Array,
    GradientReport,
    Parameter,
    Tensor,
    Theta,
    Value,
    backpropagate,
    gradient_check,
    value_of,
)
from dragoman.graph.gradient_check import COMPLEX_TOLERANCE, compare
from dragoman.operations import activate, cross_entropy, linear, mean_squared_error, softmax
from dragoman.operations.teaching.jacobians import (
    linear_jacobian_biases,
    linear_jacobian_input,
    linear_jacobian_weights,
    numerical_jacobian,
    relu_jacobian,
    softmax_jacobian,
)
from dragoman.optimization import AdaGrad, Adam, Constant, GradientDescent, Momentum, RMSprop

RNG = np.random.default_rng(8)
x, W, b = RNG.standard_normal(4), RNG.standard_normal((3, 4)), RNG.standard_normal(3)  # n = 4, m = 3
W2, b2 = RNG.standard_normal((2, 3)), RNG.standard_normal(2)
dl_dy = RNG.standard_normal(3)


def jacobian(closed: Array, function: Callable[[Array], Array], at: Array) -> Evidence:
    """A printed Jacobian, all its entries, against the complex step of the function it belongs to."""
    found = compare("Jacobian", "complex step", closed, numerical_jacobian(function, at), COMPLEX_TOLERANCE)
    return proved(GradientReport((found,)))


def affine(x: Array, W: Array, b: Array) -> Array:
    """(3.1), one row at a time: y_i = x_1 w_i1 + ... + x_n w_in + b_i"""
    return np.array([sum(x[j] * W[i, j] for j in range(len(x))) + b[i] for i in range(len(b))])


def exponential_share(x: Array) -> Array:
    """Softmax as the notes print it"""
    y: Array = np.exp(x) / np.exp(x).sum()
    return y


# Section 2: gradient descent and vector calculus


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


# Section 3: blocks


def network(x: Value, W1: Value, b1: Value, W2: Value, b2: Value) -> Value:
    """W2 g(W1 x + b1) + b2, x a row"""
    hidden = activate(linear(x, W1, b1, transposed=True), activation="tanh")
    return linear(hidden, W2, b2, transposed=True)


@claim(
    "N-3.1-chain",
    "N-2-backprop",
    title="Chain rule through two layers",
    formula=r"y = W^{(2)} g(W^{(1)} x + b^{(1)}) + b^{(2)}, \quad \frac{dL(x)}{dx} = \frac{dg(f(x))}{df(x)} \frac{df(x)}{dx}",
)
def chain_rule() -> Evidence:
    """Three Jacobians multiplied against the function as a whole, and back-propagation by all five inputs"""
    slope = np.diag(1 - np.tanh(affine(x, W, b)) ** 2)
    whole = jacobian(W2 @ slope @ W, lambda x: affine(np.tanh(affine(x, W, b)), W2, b2), x)
    return whole & proved(gradient_check(network, x[None, :], W, b, W2, b2))


@claim("N-3.2-linear", title="Linear layer (3.1)", formula=r"y = W x + b, \quad W \in \mathrm{R}^{m \times n}")
def linear_layer() -> Evidence:
    return equal(value_of(linear(x[None, :], W, b, transposed=True))[0], affine(x, W, b))


@claim(
    "N-3.2-dW",
    title="Linear layer by its weights (3.2)",
    formula=r"\frac{dy}{dW} = \begin{bmatrix} x^\top & 0 & \dots & 0 \\ 0 & x^\top & \dots & 0 \\ \vdots & & & \vdots \\ 0 & 0 & \dots & x^\top \end{bmatrix}_{m \times mn}",
)
def by_weights() -> Evidence:
    """As a tensor m x m x n, and unfolded row by row into the printed m x mn"""
    blocks = np.kron(np.eye(3), x)
    closed = linear_jacobian_weights(x, 3)
    return jacobian(closed, lambda W: affine(x, W, b), W) & equal(closed.reshape(3, 12), blocks)


@claim("N-3.3eq-db", title="Linear layer by its bias (3.3)", formula=r"\frac{dy}{db} = I_m")
def by_bias() -> Evidence:
    return jacobian(linear_jacobian_biases(3), lambda b: affine(x, W, b), b)


@claim("N-3.4eq-dx", title="Linear layer by its input (3.4)", formula=r"\frac{dy}{dx} = W")
def by_input() -> Evidence:
    return jacobian(linear_jacobian_input(W), lambda x: affine(x, W, b), x)


def linear_gradient(name: str, closed: Array, by_jacobian: Array) -> Evidence:
    """A chain-rule gradient against the Jacobian product, back-propagation, differences and complex step."""
    inputs = {"x": Tensor(x[None, :]), "weights": Tensor(W), "biases": Tensor(b)}
    y = linear(*inputs.values(), transposed=True)
    (found,) = backpropagate([y], [inputs[name]], [dl_dy[None, :]])
    graph = compare(name, "back-propagation", found.reshape(closed.shape), closed, COMPLEX_TOLERANCE)
    numerical = gradient_check(linear, x[None, :], W, b, transposed=True)
    return equal(closed, by_jacobian) & proved(GradientReport((graph,))) & proved(numerical, name)


@claim("N-3.2-dldW", title="Gradient of the weights", formula=r"\frac{dl}{dW} = \frac{dl}{dy} x^\top")
def weight_gradient() -> Evidence:
    product = np.tensordot(dl_dy, linear_jacobian_weights(x, 3), axes=1)
    return linear_gradient("weights", np.outer(dl_dy, x), product)


@claim("N-3.2-dldb", title="Gradient of the bias", formula=r"\frac{dl}{db} = \frac{dl}{dy}")
def bias_gradient() -> Evidence:
    return linear_gradient("biases", dl_dy, dl_dy @ linear_jacobian_biases(3))


@claim(
    "N-3.2-dldx",
    title="Gradient handed to the layer before",
    formula=r"\frac{dl}{dx} = ((\frac{dl}{dy})^\top W)^\top = W^\top \frac{dl}{dy}",
)
def input_gradient() -> Evidence:
    return linear_gradient("x", W.T @ dl_dy, dl_dy @ linear_jacobian_input(W))


@claim(
    "N-3.3-relu",
    title="ReLU",
    formula=r"y = \begin{cases} x, & \text{if } x \ge 0 \\ 0, & \text{else} \end{cases}",
)
def rectifier() -> Evidence:
    signs = np.array([-1.0, 0.0, 2.0, -0.3, 0.7])
    printed = np.array([value if value >= 0 else 0.0 for value in signs])
    return equal(value_of(activate(signs, activation="relu")), printed)


@claim(
    "N-3.3-drelu",
    title="Derivative of ReLU, 0 where the notes leave it undefined",
    formula=r"\frac{dy}{dx} = \begin{cases} 1, & \text{if } x > 0 \\ \text{undefined}, & x = 0 \\ 0, & \text{else} \end{cases}",
)
def rectifier_derivative() -> Evidence:
    """Off the kink by differences; at it, the slopes from both sides differ and back-propagation takes the left one."""
    away = proved(gradient_check(activate, np.array([-1.0, 2.0, -0.3]), activation="relu"))
    diagonal = jacobian(
        relu_jacobian(np.array([-1.0, 2.0])), lambda x: np.where(x.real > 0, x, 0), np.array([-1.0, 2.0])
    )
    kink = Tensor(np.zeros(1))
    (at_zero,) = backpropagate([activate(kink, activation="relu")], [kink], [np.ones(1)])
    return away & diagonal & equal(at_zero, np.zeros(1)) & equal(relu_jacobian(np.zeros(1)), np.zeros((1, 1)))


@claim("N-3.4-softmax", title="Softmax", formula=r"y_i = \frac{e^{x_i}}{\sum_{j=1}^{n} e^{x_j}}")
def soft_maximum() -> Evidence:
    reference = equal(value_of(softmax(np.array([1.0, 2.0, 3.0]))), np.array([0.0900306, 0.2447285, 0.6652410]), 1e-6)
    return equal(value_of(softmax(x)), exponential_share(x)) & reference


def clipped(x: Array) -> Array:
    """Softmax of inputs clipped to [-50, 50]"""
    return exponential_share(np.clip(x, -50, 50))


MAXIMUM = r"y_i = \frac{e^{x_i - \max x}}{\sum_{j=1}^{n} e^{x_j - \max x}}"


@claim("N-3.4-maxsub", title="Softmax with the maximum subtracted is exact", formula=MAXIMUM)
def maximum_subtracted() -> Evidence:
    """Also where the printed exponentials overflow"""
    exact = 1 / (1 + math.exp(-5.0))
    evidence = equal(value_of(softmax(x)), exponential_share(x))
    for large in (60.0, 1e4):
        evidence &= equal(value_of(softmax(np.array([large, large - 5]))), np.array([exact, 1 - exact]))
    return evidence


@correction(
    "E-N2",
    "N-3.4-clip",
    title="Clipping to [-50, 50] is not softmax beyond 50",
    printed=r"y = \mathrm{softmax}(\min(\max(x, -50), 50))",
    corrected=MAXIMUM,
)
def clipping() -> tuple[float, Evidence]:
    """A condition: within the bounds the two agree. At (60, 55) clipping says (0.5, 0.5)."""
    outside, within = np.array([60.0, 55.0]), np.array([49.0, -50.0, 48.0])
    agree = equal(clipped(within), value_of(softmax(within)))
    return disagreement(clipped(outside), value_of(softmax(outside))), maximum_subtracted() & agree


@claim(
    "N-3.4.1",
    title="Jacobian of softmax, dense (3.4.1)",
    formula=r"\frac{dy}{dx} = \begin{bmatrix} y_1 (1 - y_1) & -y_1 y_2 & \dots & -y_1 y_n \\ \vdots & \vdots & & \vdots \\ -y_n y_1 & -y_n y_2 & \dots & y_n (1 - y_n) \end{bmatrix}",
)
def softmax_dense() -> Evidence:
    y = exponential_share(x)
    entries = [[y[i] * (1 - y[i]) if i == j else -y[i] * y[j] for j in range(4)] for i in range(4)]
    closed = softmax_jacobian(x)
    dense = holds(bool((closed != 0).all()))
    return equal(closed, np.array(entries)) & jacobian(closed, exponential_share, x) & dense


@claim("N-3.4.2", title="Softmax by its own score (3.4.2)", formula=r"\frac{dy_i}{dx_i} = y_i (1 - y_i)")
def softmax_diagonal() -> Evidence:
    y = exponential_share(x)
    closed = np.diag(softmax_jacobian(x))
    return equal(closed, y * (1 - y)) & equal(closed, np.diag(numerical_jacobian(exponential_share, x)))


@claim("N-3.4.3", title="Softmax by another score (3.4.3)", formula=r"\frac{dy_i}{dx_j} = -y_i y_j, \quad i \ne j")
def softmax_off_diagonal() -> Evidence:
    """Symmetric, and a common shift of the scores changes nothing: rows total 0"""
    y, found, off = exponential_share(x), numerical_jacobian(exponential_share, x), ~np.eye(4, dtype=bool)
    closed = softmax_jacobian(x)
    laws = equal(closed, closed.T) & equal(closed.sum(axis=1), np.zeros(4))
    return equal(found[off], -np.outer(y, y)[off]) & laws


@claim(
    "N-3.4-chain",
    title="Gradient through softmax",
    formula=r"\frac{dl}{dx} = \left(\frac{dl}{dy}\right)^\top \frac{dy}{dx}",
)
def softmax_chain() -> Evidence:
    upstream, scores = np.array([0.3, -1.0, 2.0, 0.5]), Tensor(x)
    (found,) = backpropagate([softmax(scores)], [scores], [upstream])
    return equal(found, upstream @ softmax_jacobian(x)) & proved(gradient_check(softmax, x))


A, TRUTH = np.array([0.0, 0.0, 1.0, 0.0]), 2


def entropy(A: Array, P: Array) -> Array:
    """L = -sum A_i log P_i"""
    L: Array = -(A * np.log(P)).sum()
    return L


@claim("N-3.5-CE", title="Cross-entropy", formula=r"L = -\sum_{i=1}^{n} A_i \log P_i")
def notes_cross_entropy() -> Evidence:
    """From scores, as training computes it; and for a truth that is not one-hot"""
    hard, _ = cross_entropy(x[None, :], targets=np.array([TRUTH]))
    soft, _ = cross_entropy(x[None, :], targets=np.array([TRUTH]), smoothing=0.2)
    P = exponential_share(x)
    return equal(value_of(hard), entropy(A, P)) & equal(value_of(soft), entropy(0.8 * A + 0.05, P))


@claim("N-3.5-sparse", title="One true class: its entry is enough", formula=r"L = -\log P_t, \quad A_i = 1_{\{i = t\}}")
def sparse_truth() -> Evidence:
    P = exponential_share(x)
    picked, _ = cross_entropy(x[None, :], targets=np.array([TRUTH]))
    return equal(value_of(picked), entropy(A, P)) & equal(entropy(A, P), -math.log(P[TRUTH]))


@claim(
    "N-3.5-MLE",
    title="Least cross-entropy is greatest likelihood",
    formula=r"e^{-L} = \prod_{i} P_i^{A_i} = p(y | x)",
)
def likelihood() -> Evidence:
    """Three samples: the likelihoods multiply, the losses add"""
    scores, truths = np.random.default_rng(9).standard_normal((3, 4)), np.array([0, 3, 3])
    L, _ = cross_entropy(scores, targets=truths, total=1.0)
    product = math.prod(exponential_share(row)[t] for row, t in zip(scores, truths, strict=True))
    return equal(np.exp(-value_of(L)), product)


@claim(
    "N-3.5-dCE",
    title="Derivative of cross-entropy; with softmax, P - A",
    formula=r"\frac{dL}{dP} = \begin{bmatrix} -\frac{A_1}{P_1} & \dots & -\frac{A_n}{P_n} \end{bmatrix}, \quad \frac{dL}{dP} \frac{dP}{dx} = P - A",
)
def entropy_derivative() -> Evidence:
    P, soft = exponential_share(x), np.array([0.1, 0.2, 0.6, 0.1])
    scores = Tensor(x[None, :])
    error, _ = cross_entropy(scores, targets=np.array([TRUTH]))
    (found,) = backpropagate(error, [scores])
    joined = equal(-A / P @ softmax_jacobian(x), P - A) & equal(found[0], P - A)
    return joined & jacobian(-soft / P, lambda P: entropy(soft, P), P)


@claim("N-3.6-MSE", title="Mean squared error", formula=r"L = \frac{1}{n} \sum_{i=1}^{n} (P_i - A_i)^2")
def squared_error() -> Evidence:
    """The sign of the difference is free."""
    reference = mean_squared_error(np.array([1.0, 2.0]), targets=np.zeros(2))
    printed = sum((p - a) ** 2 for p, a in zip(x, A, strict=True)) / 4
    turned = mean_squared_error(A, targets=x)
    found = value_of(mean_squared_error(x, targets=A))
    return equal(value_of(reference), 2.5) & equal(found, printed) & equal(value_of(turned), printed)


@claim("N-3.6-dMSE", title="Derivative of mean squared error", formula=r"\frac{dL}{dP} = \frac{2}{n} (P - A)")
def squared_error_derivative() -> Evidence:
    P = Tensor(x)
    (found,) = backpropagate(mean_squared_error(P, targets=A), [P])
    return equal(found, 2 / 4 * (x - A)) & proved(gradient_check(mean_squared_error, x, targets=A))


# Section 4: gradient descent


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
