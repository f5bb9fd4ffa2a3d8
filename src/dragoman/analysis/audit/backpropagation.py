"""Thesis, chapter 4: error functions and the derivative of every layer, against numbers that know no calculus."""

from __future__ import annotations

from functools import cache

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, claim, equal, holds, proved
from dragoman.batch import Batch
from dragoman.graph import Array, GradientReport, Tensor, Value, backpropagate, gradient_check, value_of
from dragoman.networks import Transformer, TransformerConfiguration
from dragoman.operations import activate, add, cross_entropy, embed, linear, log_error, mean_squared_error, softmax
from dragoman.operations.teaching import thesis
from dragoman.operations.teaching.jacobians import (
    centring_jacobian,
    deviation_gradient,
    numerical_jacobian,
    standardize_jacobian,
)

LABELS = np.array([1, 2, 0, 3, 3, 1])
WEIGHTS = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
Z3, T3 = np.array([[1.0, 2.0, 3.0]]), np.array([2])


# --- 4.1 and 4.2: error functions ---


@claim("T-4.1-MSE", title="Mean squared error", formula=r"e = \frac{1}{n} \sum_i (y_i - \hat{y}_i)^2")
def squared_error() -> Evidence:
    value = mean_squared_error(np.array([1.0, 2.0]), targets=np.zeros(2))
    return equal(value_of(value), 2.5) & proved(
        gradient_check(mean_squared_error, random(3, 4), targets=random(3, 4, seed=1))
    )


@claim(
    "T-4.1.1-log",
    title="Log error",
    formula=r"e = \frac{1}{n} \sum_i -(\hat{y}_i \log y_i + (1 - \hat{y}_i) \log(1 - y_i))",
)
def binary_error() -> Evidence:
    value = log_error(np.array([0.8]), targets=np.ones(1))
    y, targets = 0.1 + 0.8 * np.random.default_rng(0).random(6), np.array([0.0, 1.0, 0.3, 1.0, 0.0, 0.5])
    return equal(value_of(value), 0.223143551, 1e-8) & proved(gradient_check(log_error, y, targets=targets))


@claim(
    "T-4.1.1-log",
    title="Log error after the logistic function",
    formula=r"\frac{\partial e}{\partial z_i} = \frac{y_i - \hat{y}_i}{n}",
)
def binary_error_of_logistic() -> Evidence:
    z, targets = Tensor(random(6)), np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    y = activate(z, activation="logistic")
    (dz,) = backpropagate(log_error(y, targets=targets), [z])
    return equal(dz, (value_of(y) - targets) / 6)


@claim("T-4.2.1-H", title="Cross-entropy of distributions", formula=r"H(p, q) = -\sum_k p_k \log q_k")
def entropy() -> Evidence:
    half = np.array([0.5, 0.5])
    at_itself = -(half * np.log(half)).sum()
    others = [-(half * np.log([q, 1 - q])).sum() for q in (0.1, 0.4, 0.49, 0.7)]
    return equal(at_itself, np.log(2)) & holds(min(others) > at_itself)


@claim(
    "T-4.2.2-CE",
    "T-4.2.3-logsoftmax",
    title="Cross-entropy in log-softmax form",
    formula=r"e = \frac{1}{n m_R} \sum_{i,j} \left(\log \sum_s e^{\hat{z}_{i,j,s}} - \hat{z}_{i,j,t_{i,j}}\right)",
)
def log_softmax() -> Evidence:
    z = random(6, 4)
    e, _ = cross_entropy(z, targets=LABELS)
    y = value_of(softmax(z))
    by_definition = -np.log(y[np.arange(6), LABELS]).mean()
    small, _ = cross_entropy(Z3, targets=T3)
    uniform, _ = cross_entropy(np.zeros((2, 6134)), targets=np.array([0, 7]))
    return (
        equal(value_of(e), by_definition)
        & equal(value_of(small), 0.407605964, 1e-8)
        & equal(value_of(uniform), 8.721602345, 1e-9)
    )


@claim(
    "T-4.14-MLE",
    title="Least cross-entropy is most likelihood",
    formula=r"e^{-e \, n \, m_R} = \prod_{i,j} y_{i,j,t_{i,j}}",
)
def likelihood() -> Evidence:
    z = random(6, 4)
    e, _ = cross_entropy(z, targets=LABELS)
    return equal(np.exp(-6 * value_of(e)), np.prod(value_of(softmax(z))[np.arange(6), LABELS]))


@claim(
    "T-4.2.4-deltas",
    "T-A4.10-outdelta",
    title="Output deltas of the cross-entropy",
    formula=r"\Delta_{i,j,s} = \frac{1}{n m_R} \left(y_{i,j,s} - \mathbf{1}_{\{s = t_{i,j}\}}\right)",
)
def output_deltas() -> Evidence:
    z = Tensor(Z3)
    (dz,) = backpropagate(cross_entropy(z, targets=T3)[0], [z])
    return proved(gradient_check(cross_entropy, random(6, 4), targets=LABELS)) & equal(
        dz, np.array([[0.090030573, 0.244728471, -0.334759044]]), 1e-8
    )


@claim(
    "T-6.1-maskedCE",
    "T-6.1-maskeddelta",
    title="Cross-entropy with padding masked",
    formula=r"e = \frac{\sum_{i,j} \mathrm{mask}_{i,j} \, e_{i,j}}{\sum_{i,j} \mathrm{mask}_{i,j}}",
)
def masked_error() -> Evidence:
    z, real = random(6, 4), WEIGHTS > 0
    masked, _ = cross_entropy(z, targets=LABELS, weights=WEIGHTS)
    alone, _ = cross_entropy(z[real], targets=LABELS[real])
    report = gradient_check(cross_entropy, z, targets=LABELS, weights=WEIGHTS, smoothing=0.1)
    return equal(value_of(masked), value_of(alone)) & proved(report)


# --- 4.3 V: perceptron ---


@cache
def _perceptron() -> dict[str, GradientReport]:
    x, weights, biases = random(2, 3, 4), random(4, 5), random(5)
    names = ("identity", "relu", "logistic", "tanh", "gelu")
    return {name: gradient_check(thesis.perceptron, x, weights, biases, activation=name) for name in names}


def _all_activations(name: str) -> Evidence:
    first, *others = [proved(report, name) for report in _perceptron().values()]
    for evidence in others:
        first = first & evidence
    return first


@claim(
    "T-4.3.1-W",
    title="Perceptron, derivative by the weights",
    formula=r"\frac{\partial e}{\partial W_{k,\tilde{k}}} = \sum_{i,j} x_{i,j,k} \, a'(C_{i,j,\tilde{k}}) \, \Delta_{i,j,\tilde{k}}",
)
def perceptron_weights() -> Evidence:
    return _all_activations("weights")


@claim(
    "T-4.3.2-b",
    title="Perceptron, derivative by the biases",
    formula=r"\frac{\partial e}{\partial b_{\tilde{k}}} = \sum_{i,j} a'(C_{i,j,\tilde{k}}) \, \Delta_{i,j,\tilde{k}}",
)
def perceptron_biases() -> Evidence:
    return _all_activations("biases")


@claim(
    "T-4.3.3-C",
    title="Activation, derivative by the combination",
    formula=r"\frac{\partial e}{\partial C} = a'(C) \, \Delta",
)
def activation_derivative() -> Evidence:
    first, *others = [
        proved(gradient_check(activate, random(4, 5), activation=name))
        for name in ("identity", "relu", "logistic", "tanh", "gelu")
    ]
    for evidence in others:
        first = first & evidence
    return first


@claim(
    "T-4.3.4-x",
    title="Perceptron, derivative by the input",
    formula=r"\frac{\partial e}{\partial x_{i,j,k}} = \sum_{\tilde{k}} a'(C_{i,j,\tilde{k}}) \, \Delta_{i,j,\tilde{k}} \, W_{k,\tilde{k}}",
)
def perceptron_input() -> Evidence:
    return _all_activations("x")


@claim(
    "T-4.3-dId",
    "T-4.3-dReLU",
    title="Derivatives of linear and ReLU, 0 at 0",
    formula=r"Id'(c) = 1, \quad ReLU'(c) = \mathbf{1}_{\{c > 0\}}",
)
def activation_slopes() -> Evidence:
    c, one = Tensor(np.array([-1.0, 0.0, 2.0])), np.ones(3)
    (identity,) = backpropagate(activate(c, activation="identity"), [c], [one])
    (relu,) = backpropagate(activate(c, activation="relu"), [c], [one])
    return equal(identity, one, 1e-15) & equal(relu, np.array([0.0, 0.0, 1.0]), 1e-15)


@claim("T-4.3-perc", title="Perceptron layer, fused", formula=r"y = a(x W + b)")
def perceptron_fused() -> Evidence:
    return proved(gradient_check(linear, random(6, 4), random(4, 5), random(5), activation="relu"))


# --- 4.3 IV: normalization ---


@cache
def _normalization() -> GradientReport:
    """epsilon is large, so that sigma and sigma + epsilon cannot be confused."""
    return gradient_check(thesis.normalization, random(2, 3, 5), random(5), random(5, seed=1), epsilon=0.1)


@claim(
    "T-4.3.5-gamma",
    title="Normalization, derivative by gamma",
    formula=r"\frac{\partial e}{\partial \gamma_k} = \sum_{i,j} \hat{x}_{i,j,k} \, \Delta_{i,j,k}",
)
def normalization_gamma() -> Evidence:
    return proved(_normalization(), "gamma")


@claim(
    "T-4.3.6-beta",
    title="Normalization, derivative by beta",
    formula=r"\frac{\partial e}{\partial \beta_k} = \sum_{i,j} \Delta_{i,j,k}",
)
def normalization_beta() -> Evidence:
    return proved(_normalization(), "beta")


@claim(
    "T-4.3.7-LNx",
    title="Normalization, derivative by the input",
    formula=r"\frac{\partial e}{\partial x_k} = \frac{\gamma_k \Delta_k}{\sigma + \varepsilon}"
    r" - \frac{\sum_l \gamma_l \Delta_l}{d (\sigma + \varepsilon)}"
    r" - \frac{\hat{x}_k \sum_l \hat{x}_l \gamma_l \Delta_l}{d \, \sigma}",
)
def normalization_input() -> Evidence:
    return proved(_normalization(), "x")


@claim(
    "T-4.3.9-11",
    title="Derivatives of centring and deviation",
    formula=r"\frac{\partial (x - \mu)_k}{\partial x_{\bar{k}}} = \mathbf{1}_{\{k = \bar{k}\}} - \frac{1}{d}, \quad"
    r"\frac{\partial \sigma}{\partial x_{\bar{k}}} = \frac{x_{\bar{k}} - \mu}{d \, \sigma}",
)
def normalization_chain() -> Evidence:
    def sigma(x: Array) -> Array:
        centred = x - x.mean()
        deviation: Array = np.sqrt((centred * centred).mean())
        return deviation

    x = random(5)
    return (
        equal(centring_jacobian(5), numerical_jacobian(lambda z: z - z.mean(), x))
        & equal(deviation_gradient(x), numerical_jacobian(sigma, x))
        & equal(standardize_jacobian(x, 0.1), numerical_jacobian(lambda z: (z - z.mean()) / (sigma(z) + 0.1), x))
    )


# --- 4.3 III: addition ---


@claim(
    "T-4.3.12-13",
    title="Addition, derivatives by both inputs",
    formula=r"\frac{\partial e}{\partial x_1} = \frac{\partial e}{\partial x_2} = \Delta",
)
def addition_inputs() -> Evidence:
    return proved(gradient_check(add, random(3, 4), random(3, 4, seed=1)))


# --- 4.3 II: attention ---


@cache
def _attention(causal: bool) -> GradientReport:
    x_I, x_C = random(2, 3, 4), random(2, 3 if causal else 5, 4, seed=1)
    return gradient_check(thesis.attention, x_I, x_C, *_attention_parameters(), causal=causal)


def _attention_parameters() -> list[Array]:
    """W_Q, b_Q, W_K, b_K, W_V, b_V, W_P, b_P of two heads"""
    parts: list[Array] = []
    for s in range(3):
        parts += [random(4, 2, 2, seed=s), random(2, 2, seed=s)]
    return [*parts, random(2, 4, 2), random(4)]


def _both_attentions(name: str) -> Evidence:
    return proved(_attention(False), name) & proved(_attention(True), name)


def _attention_claim(identifier: str, argument: str, title: str, formula: str) -> None:
    claim(identifier, title=title, formula=formula)(lambda: _both_attentions(argument))


for _letter, _input, _weights_id, _biases_id in (
    ("Q", "I", "T-4.3.14-WQ", "T-4.3.15-bQ"),
    ("K", "C", "T-4.3.16-WK", "T-4.3.17-bK"),
    ("V", "C", "T-4.3.18-WV", "T-4.3.19-bV"),
):
    _attention_claim(
        _weights_id,
        f"W_{_letter}",
        f"Attention, derivative by W_{_letter}",
        rf"\frac{{\partial e}}{{\partial W_{_letter}}} = \sum_{{i,j}} x_{_input} \frac{{\partial e}}{{\partial {_letter}}}",
    )
    _attention_claim(
        _biases_id,
        f"b_{_letter}",
        f"Attention, derivative by b_{_letter}" + (" (always 0)" if _letter == "K" else ""),
        rf"\frac{{\partial e}}{{\partial b_{_letter}}} = \sum_{{i,j}} \frac{{\partial e}}{{\partial {_letter}}}"
        + (" = 0" if _letter == "K" else ""),
    )
_attention_claim(
    "T-4.3.20-WP",
    "W_P",
    "Attention, derivative by W_P",
    r"\frac{\partial e}{\partial W_P} = \sum_{i,j_I} O_{i,j_I} \Delta_{i,j_I}",
)
_attention_claim(
    "T-4.3.21-bP",
    "b_P",
    "Attention, derivative by b_P",
    r"\frac{\partial e}{\partial b_P} = \sum_{i,j_I} \Delta_{i,j_I}",
)
_attention_claim(
    "T-4.3.27-xI",
    "x_I",
    "Attention, derivative by the input",
    r"\frac{\partial e}{\partial x_I} = \sum_{\tilde{k},r} \frac{\partial e}{\partial Q_{\tilde{k}}^{(r)}} W_{Q,k,\tilde{k}}^{(r)}",
)
_attention_claim(
    "T-4.3.28-xC",
    "x_C",
    "Attention, derivative by the context",
    r"\frac{\partial e}{\partial x_C} = \sum_{\tilde{k},r} \frac{\partial e}{\partial K_{\tilde{k}}^{(r)}} W_{K,k,\tilde{k}}^{(r)}"
    r" + \frac{\partial e}{\partial V_{\tilde{k}}^{(r)}} W_{V,k,\tilde{k}}^{(r)}",
)


@claim(
    "T-4.3-dO",
    title="Attention, derivative by the outputs O",
    formula=r"\frac{\partial e}{\partial O_{\tilde{k}}} = \sum_k \Delta_k W_{P,\tilde{k},k}",
)
def attention_outputs() -> Evidence:
    return proved(gradient_check(thesis.project, random(2, 3, 2, 2), random(2, 4, 2), random(4)))


@claim(
    "T-4.3.22-dV",
    "T-4.3-dAhat",
    title="Attention, derivatives by V and by the weights",
    formula=r"\frac{\partial e}{\partial V_{j_C}} = \sum_{j_I} \hat{A}_{j_C,j_I} \frac{\partial e}{\partial O_{j_I}}, \quad"
    r"\frac{\partial e}{\partial \hat{A}_{j_C,j_I}} = \sum_{\tilde{k}} V_{j_C,\tilde{k}} \frac{\partial e}{\partial O_{j_I,\tilde{k}}}",
)
def attention_values() -> Evidence:
    return proved(gradient_check(thesis.combine, random(2, 5, 3, 2), random(2, 5, 2, 2)))


@claim(
    "T-4.3-dA",
    "T-4.3-maskgrad",
    title="Attention, derivative by the scores",
    formula=r"\frac{\partial e}{\partial A} = \hat{A} \left(\frac{\partial e}{\partial \hat{A}}"
    r" - \sum_{j_C} \hat{A} \frac{\partial e}{\partial \hat{A}}\right)",
)
def attention_scores() -> Evidence:
    def masked(a: Value) -> Value:
        return thesis.weigh(thesis.causal_mask(a))

    a = Tensor(random(2, 3, 3, 2))
    (da,) = backpropagate(masked(a), [a], [random(2, 3, 3, 2, seed=1)])
    below = np.tril(np.ones((3, 3), bool), -1)
    return (
        proved(gradient_check(thesis.weigh, random(2, 5, 3, 2)))
        & proved(gradient_check(masked, random(2, 3, 3, 2)))
        & holds(bool((da[:, below] == 0).all()))
        & equal(da.sum(axis=1), np.zeros((2, 3, 2)))
    )


@claim(
    "T-4.3.25-dQ",
    "T-4.3.26-dK",
    title="Attention, derivatives by Q and K",
    formula=r"\frac{\partial e}{\partial Q_{j_I}} = \tilde{d}^{-1/2} \sum_{j_C} \frac{\partial e}{\partial A_{j_C,j_I}} K_{j_C}, \quad"
    r"\frac{\partial e}{\partial K_{j_C}} = \tilde{d}^{-1/2} \sum_{j_I} \frac{\partial e}{\partial A_{j_C,j_I}} Q_{j_I}",
)
def attention_queries_keys() -> Evidence:
    return proved(gradient_check(thesis.scores, random(2, 5, 2, 2), random(2, 3, 2, 2)))


@claim(
    "T-4.3.23-24",
    title="Linear transformation, its two Jacobians",
    formula=r"\frac{\partial T_{\tilde{k}}}{\partial W_{\bar{k},\bar{\tilde{k}}}} = x_{\bar{k}} \mathbf{1}_{\{\tilde{k} = \bar{\tilde{k}}\}}, \quad"
    r"\frac{\partial T_{\tilde{k}}}{\partial b_{\bar{\tilde{k}}}} = \mathbf{1}_{\{\tilde{k} = \bar{\tilde{k}}\}}",
)
def transform_jacobians() -> Evidence:
    x, weights, biases = random(3), random(3, 2), random(2)
    by_weights = numerical_jacobian(lambda w: x @ w + biases, weights)
    by_biases = numerical_jacobian(lambda b: x @ weights + b, biases)
    report = gradient_check(thesis.transform, random(2, 3, 4), random(4, 2, 2), random(2, 2))
    return equal(by_weights, np.einsum("a,bc->bac", x, np.eye(2))) & equal(by_biases, np.eye(2)) & proved(report)


# --- 4.3 I: embedding ---


@claim(
    "T-4.3.29-emb",
    title="Embedding, derivative by the table",
    formula=r"\frac{\partial e}{\partial W_s} = \sqrt{d} \sum_{i,j} \mathbf{1}_{\{s = x_{i,j}\}} \Delta_{i,j}",
)
def embedding_table() -> Evidence:
    labels = np.array([3, 0, 6, 3, 1, 3])
    table = Tensor(random(7, 4))
    (dtable,) = backpropagate(embed(table, labels=labels, scale=2.0), [table], [random(6, 4)])
    unused = [s for s in range(7) if s not in labels]
    return proved(gradient_check(embed, random(7, 4), labels=labels, scale=2.0)) & holds(
        bool((dtable[unused] == 0).all())
    )


# --- Algorithm 4.10 and the whole network ---


@claim(
    "T-A4.10-step1",
    title="The deltas of several consumers add up",
    formula=r"\Delta^{(q)} = \sum_{\bar{q}} \frac{\partial e}{\partial x^{(\bar{q})}}",
)
def several_consumers() -> Evidence:
    """Self-attention with a residual: x is input, context and addend at once."""
    parameters = _attention_parameters()

    def block(x: Value) -> Value:
        return add(x, thesis.attention(x, x, *parameters))

    return proved(gradient_check(block, random(2, 3, 4)))


class _WholeNetwork:
    """The error of a small Transformer as a function of all of its parameters."""

    def __init__(self) -> None:
        configuration = TransformerConfiguration(
            source_vocabulary=6,
            reference_vocabulary=7,
            depth=4,
            perceptron_depth=5,
            heads=2,
            layers=2,
            normalization="outside",
            epsilon=0.01,
        )
        self.network = Transformer(configuration, seed=3, dtype=np.float64)
        self.named_parameters = self.network.named_parameters
        self.batch = Batch.pairs([[4, 5, 4], [5]], [[2, 4, 6, 3], [2, 5, 3]])

    def __call__(self) -> Value:
        logits = self.network(self.batch)
        return cross_entropy(logits, targets=self.batch.targets, weights=self.batch.loss_weights)[0]


@claim(
    "T-A4.10-step2",
    "T-A4.10-step3",
    "T-3.2-tau",
    "T-3.2-encdec",
    title="The whole Transformer, two encoders, two decoders",
    formula=r"\frac{\partial e}{\partial \theta^{(q)}} = \frac{\partial y^{(q)}}{\partial \theta^{(q)}} \cdot \Delta^{(q)},"
    r" \quad q = l, l-1, \dots, 1",
)
def whole_network() -> Evidence:
    return proved(gradient_check(_WholeNetwork()))
