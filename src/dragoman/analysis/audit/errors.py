"""Thesis, sections 4.1 and 4.2: error functions, and the deltas of the output layer."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, claim, equal, holds, proved
from dragoman.graph import Tensor, backpropagate, gradient_check, value_of
from dragoman.operations import activate, cross_entropy, log_error, mean_squared_error, softmax

LABELS = np.array([1, 2, 0, 3, 3, 1])
WEIGHTS = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
Z3, T3 = np.array([[1.0, 2.0, 3.0]]), np.array([2])


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
    value, _ = log_error(np.array([0.8]), targets=np.ones(1))
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
    (dz,) = backpropagate(log_error(y, targets=targets)[0], [z])
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
