"""Thesis, chapters 1 and 3: the forward equations, each against its definition written out or its reference value."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, equal, holds, proved
from dragoman.graph import Array, gradient_check, value_of
from dragoman.operations import activate, add, attend, attention_weights, embed, linear, normalize, softmax
from dragoman.operations.positions import half_sinusoid
from dragoman.operations.teaching import thesis
from dragoman.operations.teaching.jacobians import numerical_jacobian, softmax_jacobian

X3 = np.array([[1.0, 2.0, 3.0]])


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


# --- chapter 1 ---


@claim("T-1.4-softmax", title="Softmax", formula=r"S(x)_k = \frac{e^{x_k}}{\sum_{i} e^{x_i}}")
def softmax_definition() -> Evidence:
    x = random(4, 5)
    by_definition = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return equal(value_of(softmax(x)), by_definition) & equal(
        value_of(softmax(X3)), np.array([[0.090030573, 0.244728471, 0.665240956]]), 1e-8
    )


@claim(
    "T-1.2.1-stable",
    title="Softmax, shifted by its maximum",
    formula=r"S(x)_k = \frac{e^{x_k - \max_j x_j}}{\sum_i e^{x_i - \max_j x_j}}",
)
def softmax_stable() -> Evidence:
    large = value_of(softmax(X3 * [[1, 1, 1]] + 998.0))
    return equal(large, value_of(softmax(X3))) & holds(bool(np.isfinite(value_of(softmax(X3 * 1e4))).all()))


@claim(
    "T-1.3-simplex",
    title="Softmax lands on the simplex",
    formula=r"\sum_k p_k = 1, \quad p_k \geq 0",
)
def simplex() -> Evidence:
    p, q = value_of(softmax(random(6, 4))), value_of(softmax(random(6, 4, seed=1)))
    mixed = 0.3 * p + 0.7 * q
    return equal(mixed.sum(axis=1), np.ones(6)) & holds(bool((mixed >= 0).all()))


@claim(
    "T-1.2.2-softmaxjac",
    title="Jacobian of the softmax",
    formula=r"\frac{\partial S_k}{\partial x_{\bar{k}}} = S_{\bar{k}} (\mathbf{1}_{\{\bar{k}=k\}} - S_k)",
)
def softmax_derivative() -> Evidence:
    x = random(5)
    numerical = numerical_jacobian(lambda z: value_of(softmax(z[None]))[0], x)
    return proved(gradient_check(softmax, random(3, 5))) & equal(softmax_jacobian(x), numerical)


# --- 3.2 I: embedding ---


@claim(
    "T-3.2-I-lookup",
    "T-3.2-I-scale",
    "T-3.2-I-layer",
    title="Embedding layer",
    formula=r"y = \phi(x; W) \sqrt{d} + PE",
)
def embedding_layer() -> Evidence:
    table, positions = random(7, 4), half_sinusoid(5, 4)
    labels, places = np.array([3, 0, 6, 3, 1]), np.array([0, 1, 2, 0, 1])
    y = value_of(embed(table, positions, labels=labels, positions=places, scale=2.0))
    rows = [2.0 * table[label] + positions[place] for label, place in zip(labels, places, strict=True)]
    bare = value_of(embed(table, labels=labels))
    return equal(y, np.stack(rows)) & equal(bare, np.stack([table[label] for label in labels]))


@claim(
    "T-3.2-I-PE",
    title="Positional encoding, sines then cosines",
    formula=r"PE_{j,k} = \sin(j / 10000^{2k/d}), \; k < d/2; \quad \cos(j / 10000^{2(k - d/2)/d}), \; k \geq d/2",
)
def positional_encoding() -> Evidence:
    expected = [
        [0, 0, 1, 1],
        [0.841470985, 0.009999833, 0.540302306, 0.99995],
        [0.909297427, 0.019998667, -0.416146837, 0.999800007],
    ]
    return equal(half_sinusoid(3, 4), np.array(expected), 1e-8)


@claim(
    "T-3.2-I-PElinear",
    title="A shift of position is a linear map",
    formula=r"PE_{i+k} = M_k \, PE_i",
)
def positional_shift() -> Evidence:
    table = half_sinusoid(60, 8)
    solution = np.linalg.lstsq(table[:-3], table[3:], rcond=None)[0]
    return equal(table[:-3] @ solution, table[3:], 1e-10)


# --- 3.2 II: attention ---

K3 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
V3 = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ONE = np.array([0, 3])


@claim(
    "T-3.2-II-T",
    title="Linear transformation of every head",
    formula=r"T(x; W, b)_{i,j,\tilde{k}}^{(r)} = \sum_k x_{i,j,k} W_{k,\tilde{k}}^{(r)} + b_{\tilde{k}}^{(r)}",
)
def head_transform() -> Evidence:
    x, weights, biases = random(2, 3, 4), random(4, 2, 2), random(2, 2)
    y = value_of(thesis.transform(x, weights, biases))
    expected = np.empty((2, 3, 2, 2))
    for i, j, e, r in np.ndindex(expected.shape):
        expected[i, j, e, r] = sum(x[i, j, k] * weights[k, e, r] for k in range(4)) + biases[e, r]
    return equal(y, expected)


@claim(
    "T-3.2-II-scores",
    title="Attention scores",
    formula=r"A^{(r)} = \frac{K^{(r)} Q^{(r)\top}}{\sqrt{\tilde{d}}}",
)
def attention_scores() -> Evidence:
    a = value_of(thesis.scores(K3[None, :, :, None], K3[None, :, :, None]))[0, :, :, 0]
    return equal(a, K3 @ K3.T / 1.4142135623730951)


@claim(
    "T-3.2-II-mask",
    "T-3.2-II-weights",
    "T-3.2-II-obs38",
    title="Causal mask and attention weights",
    formula=r"\hat{A}_{j_C,j_I} = S(A + M)_{j_C,j_I}, \quad M_{j_C,j_I} = -\infty \; \mathrm{if} \; j_C > j_I",
)
def causal_weights() -> Evidence:
    columns = [[1, 0, 0], [0.330238451, 0.669761549, 0], [0.248255078, 0.248255078, 0.503489843]]
    ours = attention_weights(K3, K3, offsets=ONE, heads=1, causal=True)[0, 0]
    pieces = value_of(thesis.weigh(thesis.causal_mask(thesis.scores(K3[None, :, :, None], K3[None, :, :, None]))))
    return equal(ours, np.array(columns), 1e-8) & equal(pieces[0, :, :, 0].T, ours)


@claim(
    "T-3.2-II-outputs",
    title="Attention outputs",
    formula=r"O^{(r)} = \hat{A}^{(r)\top} V^{(r)}",
)
def attention_outputs() -> Evidence:
    causal = value_of(attend(K3, K3, V3, offsets=ONE, heads=1, causal=True))
    expected = [[1, 2], [2.339523099, 3.339523099], [3.51046953, 4.51046953]]
    free = value_of(attend(K3, K3, V3, offsets=ONE, heads=1))
    return equal(causal, np.array(expected), 1e-8) & equal(free[0], np.array([3.0, 4.0]))


@claim(
    "T-3.2-II-P",
    "T-3.2-II-layer",
    title="Multi-head attention layer",
    formula=r"y(x_I, x_C) = P(M(T(x_I), T(x_C), T(x_C)))",
)
def attention_layer() -> Evidence:
    """The thesis's pieces, head by head, against one packed operation with the heads side by side."""
    x_I, x_C = random(2, 3, 4), random(2, 5, 4)
    w, b = [random(4, 2, 2, seed=s) for s in range(3)], [random(2, 2, seed=s) for s in range(3)]
    W_P, b_P = random(2, 4, 2), random(4)
    y = value_of(thesis.attention(x_I, x_C, w[0], b[0], w[1], b[1], w[2], b[2], W_P, b_P))
    q, k, v = (
        linear(x.reshape(-1, 4), weights.transpose(0, 2, 1).reshape(4, 4), biases.T.reshape(4))
        for x, weights, biases in zip((x_I, x_C, x_C), w, b, strict=True)
    )
    o = attend(q, k, v, offsets=np.array([0, 3, 6]), memory_offsets=np.array([0, 5, 10]), heads=2)
    packed = linear(o, W_P.transpose(2, 0, 1).reshape(4, 4), b_P)
    return equal(value_of(packed).reshape(2, 3, 4), y)


# --- 3.2 III-VI ---


@claim("T-3.2-III", title="Addition layer", formula=r"y(x_1, x_2) = x_1 + x_2")
def addition() -> Evidence:
    return equal(value_of(add(random(3, 4), random(3, 4, seed=1))), random(3, 4) + random(3, 4, seed=1), 1e-15)


@claim(
    "T-3.2-IV-norm",
    title="Normalization, epsilon outside the root",
    formula=r"N(x)_k = \frac{x_k - \mu}{\sigma + \varepsilon}",
)
def normalization_form() -> Evidence:
    x, one, zero = np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(4), np.zeros(4)
    outside = value_of(normalize(x, one, zero, form="outside", epsilon=1e-2))
    inside = value_of(normalize(x, one, zero, form="inside", epsilon=1e-2))
    return equal(outside[0, :2], np.array([-1.329747166, -0.443249055]), 1e-8) & equal(inside[0, 0], -1.33630621, 1e-8)


@claim(
    "T-3.2-IV-affine",
    "T-3.2-IV-layer",
    title="Normalization layer",
    formula=r"y(x; \gamma, \beta)_{i,j,k} = \gamma_k N(x_{i,j})_k + \beta_k",
)
def normalization_layer() -> Evidence:
    x, gamma, beta = random(2, 3, 4), random(4), random(4, seed=1)
    pieces = value_of(thesis.normalization(x, gamma, beta, epsilon=0.1))
    fused = value_of(normalize(x.reshape(6, 4), gamma, beta, form="outside", epsilon=0.1))
    mu, sigma = x.mean(axis=2, keepdims=True), x.std(axis=2, keepdims=True)
    return equal(pieces, gamma * (x - mu) / (sigma + 0.1) + beta) & equal(fused.reshape(2, 3, 4), pieces)


@claim(
    "T-3.2-V-comb",
    "T-3.2-V-act",
    "T-3.2-V-layer",
    title="Perceptron layer",
    formula=r"y(x; W, b)_{\tilde{k}} = a\left(\sum_k x_k W_{k,\tilde{k}} + b_{\tilde{k}}\right)",
)
def perceptron_layer() -> Evidence:
    x, weights, biases = random(2, 3, 4), random(4, 5), random(5)
    fused = value_of(linear(x.reshape(6, 4), weights, biases, activation="relu")).reshape(2, 3, 5)
    pieces = value_of(thesis.perceptron(x, weights, biases, activation="relu"))
    return equal(pieces, np.maximum(0, x @ weights + biases)) & equal(fused, pieces)


@claim("T-3.2-V-linear", "T-3.2-V-relu", title="Linear and ReLU", formula=r"Id(x) = x, \quad ReLU(x) = \max(0, x)")
def activations() -> Evidence:
    x = np.array([-1.0, 0.0, 2.0])
    return equal(value_of(activate(x, activation="identity")), x, 1e-15) & equal(
        value_of(activate(x, activation="relu")), np.array([0.0, 0.0, 2.0]), 1e-15
    )


@claim("T-3.2-VI", title="Softmax normalization of every position", formula=r"y_{i,j} = S(z_{i,j})")
def softmax_normalization() -> Evidence:
    y = value_of(softmax(random(6, 9) * 50))
    return equal(y.sum(axis=1), np.ones(6))


@claim("T-3.14-logistic", title="Logistic function", formula=r"f(z) = \frac{1}{1 + e^{-z}}")
def logistic() -> Evidence:
    z = random(9)
    y = value_of(activate(z, activation="logistic"))
    two = value_of(softmax(np.stack((z, np.zeros(9)), axis=1)))[:, 0]
    return equal(y, 1 / (1 + np.exp(-z))) & equal(y, two)
