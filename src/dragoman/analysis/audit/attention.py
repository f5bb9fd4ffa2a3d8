"""Thesis, section 4.3, II and I: derivatives of attention and of the embedding."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, all_hold, claim, equal, holds, proved
from dragoman.graph import Array, GradientReport, Tensor, Value, backpropagate, gradient_check
from dragoman.operations import attend_cross, attend_self, embed
from dragoman.operations.teaching import thesis
from dragoman.operations.teaching.jacobians import numerical_jacobian

# --- 4.3 II: attention ---


@cache
def _attention(causal: bool) -> GradientReport:
    x_I, x_C = random(2, 3, 4), random(2, 3 if causal else 5, 4, seed=1)
    return gradient_check(thesis.attention, x_I, x_C, *attention_parameters(), causal=causal)


def attention_parameters() -> list[Array]:
    """W_Q, b_Q, W_K, b_K, W_V, b_V, W_P, b_P of two heads"""
    parts: list[Array] = []
    for s in range(3):
        parts += [random(4, 2, 2, seed=s), random(2, 2, seed=s)]
    return [*parts, random(2, 4, 2), random(4)]


def _derivative_by(argument: str) -> Evidence:
    return proved(_attention(False), argument) & proved(_attention(True), argument)


for _identifier, _argument, _title, _derivative in (
    ("T-4.3.14-WQ", "W_Q", "W_Q", r"\sum_{i,j} x_I \frac{\partial e}{\partial Q}"),
    ("T-4.3.15-bQ", "b_Q", "b_Q", r"\sum_{i,j} \frac{\partial e}{\partial Q}"),
    ("T-4.3.16-WK", "W_K", "W_K", r"\sum_{i,j} x_C \frac{\partial e}{\partial K}"),
    ("T-4.3.17-bK", "b_K", "b_K (always 0)", r"\sum_{i,j} \frac{\partial e}{\partial K} = 0"),
    ("T-4.3.18-WV", "W_V", "W_V", r"\sum_{i,j} x_C \frac{\partial e}{\partial V}"),
    ("T-4.3.19-bV", "b_V", "b_V", r"\sum_{i,j} \frac{\partial e}{\partial V}"),
    ("T-4.3.20-WP", "W_P", "W_P", r"\sum_{i,j_I} O_{i,j_I} \Delta_{i,j_I}"),
    ("T-4.3.21-bP", "b_P", "b_P", r"\sum_{i,j_I} \Delta_{i,j_I}"),
    (
        "T-4.3.27-xI",
        "x_I",
        "the input",
        r"\sum_{\tilde{k},r} \frac{\partial e}{\partial Q_{\tilde{k}}^{(r)}} W_{Q,k,\tilde{k}}^{(r)}",
    ),
    (
        "T-4.3.28-xC",
        "x_C",
        "the context",
        r"\sum_{\tilde{k},r} \frac{\partial e}{\partial K_{\tilde{k}}^{(r)}} W_{K,k,\tilde{k}}^{(r)}"
        r" + \frac{\partial e}{\partial V_{\tilde{k}}^{(r)}} W_{V,k,\tilde{k}}^{(r)}",
    ),
):
    claim(
        _identifier,
        title=f"Attention, derivative by {_title}",
        formula=rf"\frac{{\partial e}}{{\partial {_argument}}} = {_derivative}",
    )(partial(_derivative_by, _argument))


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


@claim(
    "T-L27",
    title="Attention as training runs it, packed and ragged",
    formula=r"O = S\left(\frac{Q K^\top}{\sqrt{\tilde{d}}} + M\right) V",
)
def attention_packed() -> Evidence:
    """h = 1, 2, 4 heads, sequences of several lengths and an empty one, self and cross, causal and not."""
    offsets, memory = np.array([0, 3, 3, 7]), np.array([0, 2, 5, 6])
    checks = [gradient_check(attend_self, random(7, 12), offsets=offsets, heads=h, causal=h > 1) for h in (1, 2, 4)]
    checks.append(
        gradient_check(
            attend_cross, random(7, 4), random(6, 8), offsets=offsets, memory_offsets=memory, heads=2, scaled=False
        )
    )
    return all_hold(map(proved, checks))


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
