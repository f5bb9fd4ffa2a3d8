"""Thesis, section 4.3, V to III: derivatives of perceptron, normalization and addition."""

from __future__ import annotations

from functools import cache

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, all_hold, claim, equal, proved
from dragoman.graph import Array, GradientReport, Tensor, backpropagate, gradient_check
from dragoman.operations import DropoutKey, activate, add, add_normalize, linear
from dragoman.operations.teaching import thesis
from dragoman.operations.teaching.jacobians import (
    centring_jacobian,
    deviation_gradient,
    numerical_jacobian,
    standardize_jacobian,
)

ACTIVATIONS = ("identity", "relu", "logistic", "tanh", "gelu")


# --- 4.3 V: perceptron ---


@cache
def _perceptron() -> dict[str, GradientReport]:
    x, weights, biases = random(2, 3, 4), random(4, 5), random(5)
    return {name: gradient_check(thesis.perceptron, x, weights, biases, activation=name) for name in ACTIVATIONS}


def _all_activations(name: str) -> Evidence:
    return all_hold(proved(report, name) for report in _perceptron().values())


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
    return all_hold(proved(gradient_check(activate, random(4, 5), activation=name)) for name in ACTIVATIONS)


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


@claim(
    "T-4.3.7-LNx",
    "T-4.3.12-13",
    title="Addition and normalization, fused, both forms",
    formula=r"y = \gamma N(x_1 + x_2) + \beta",
)
def addition_and_normalization() -> Evidence:
    arguments = random(3, 5), random(3, 5, seed=1), random(5), random(5, seed=1)
    dropout = DropoutKey(1, 1).dropout(0.3, 0)
    forms = ("inside", "outside")
    return all_hold(
        proved(gradient_check(add_normalize, *arguments, form=form, epsilon=0.1, dropout=dropout)) for form in forms
    )
