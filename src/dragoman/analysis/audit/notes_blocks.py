"""The notes, section 3: the blocks of a network and their derivatives."""

from __future__ import annotations

import math

import numpy as np

from dragoman.analysis.audit.claim import (
    Evidence,
    agreement,
    all_hold,
    claim,
    correction,
    disagreement,
    equal,
    holds,
    proved,
)
from dragoman.analysis.audit.notes import W2, W, affine, b, b2, dl_dy, exponential_share, jacobian, x
from dragoman.graph import Array, Tensor, Value, backpropagate, gradient_check, value_of
from dragoman.graph.gradient_check import COMPLEX_TOLERANCE
from dragoman.operations import activate, clip_values, cross_entropy, linear, mean_squared_error, softmax
from dragoman.operations.teaching.jacobians import (
    linear_jacobian_biases,
    linear_jacobian_input,
    linear_jacobian_weights,
    numerical_jacobian,
    relu_jacobian,
    softmax_jacobian,
)


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
    graph = agreement("back-propagation", found.reshape(closed.shape), closed, COMPLEX_TOLERANCE)
    numerical = gradient_check(linear, x[None, :], W, b, transposed=True)
    return equal(closed, by_jacobian) & graph & proved(numerical, name)


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
    return exponential_share(value_of(clip_values(x, limit=50)))


MAXIMUM = r"y_i = \frac{e^{x_i - \max x}}{\sum_{j=1}^{n} e^{x_j - \max x}}"


@claim("N-3.4-maxsub", title="Softmax with the maximum subtracted is exact", formula=MAXIMUM)
def maximum_subtracted() -> Evidence:
    """Also where the printed exponentials overflow"""
    exact = 1 / (1 + math.exp(-5.0))
    large = (equal(value_of(softmax(np.array([top, top - 5]))), np.array([exact, 1 - exact])) for top in (60.0, 1e4))
    return equal(value_of(softmax(x)), exponential_share(x)) & all_hold(large)


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
