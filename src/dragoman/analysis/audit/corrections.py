"""Equations of the thesis and the lecture that fail as printed, beside the form that holds.

The reference is always the complex step of the forward equation, which knows nothing of the derivation.
"""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, correction, disagreement, equal
from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.operations import attend, normalize
from dragoman.operations.positions import half_sinusoid
from dragoman.operations.teaching import thesis
from dragoman.operations.teaching.jacobians import numerical_jacobian

EPSILON = 0.1  # large, so that sigma and sigma + epsilon differ visibly


def _normalized(x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    xhat: Array = centred / (np.sqrt((centred * centred).mean(axis=1, keepdims=True)) + EPSILON)
    return xhat


@correction(
    "E-T1",
    "T-L25",
    "T-4.3.7-LNx",
    title="Listing 25: third term of the normalization derivative",
    printed=r"- \frac{\hat{x}_k \sum_l \hat{x}_l \gamma_l \Delta_l}{d \, (\sigma + \varepsilon)}",
    corrected=r"- \frac{\hat{x}_k \sum_l \hat{x}_l \gamma_l \Delta_l}{d \, \sigma}",
)
def listing_25() -> tuple[float, Evidence]:
    x, gamma, delta = random(3, 5), random(5), random(3, 5, seed=1)
    exact = numerical_jacobian(lambda z: (delta * gamma * _normalized(z)).sum(), x)
    sigma = x.std(axis=1, keepdims=True)
    xhat, g = _normalized(x), gamma * delta
    first = (g - g.mean(axis=1, keepdims=True)) / (sigma + EPSILON)
    third = xhat * (xhat * g).mean(axis=1, keepdims=True)
    tensor = Tensor(x)
    y = normalize(tensor, gamma, np.zeros(5), form="outside", epsilon=EPSILON)
    (ours,) = backpropagate(y, [tensor], [delta])
    return disagreement(first - third / (sigma + EPSILON), exact), equal(first - third / sigma, exact) & equal(
        ours, exact
    )


@correction(
    "E-T3",
    "T-4.3.5-gamma",
    title="Proof of Proposition 4.20: derivative by gamma",
    printed=r"\frac{\partial A_k}{\partial \gamma_k} = x_k",
    corrected=r"\frac{\partial A_k}{\partial \gamma_k} = \hat{x}_k",
)
def proposition_20() -> tuple[float, Evidence]:
    x, delta = random(3, 5), random(3, 5, seed=1)
    exact = numerical_jacobian(lambda gamma: (delta * gamma * _normalized(x)).sum(), random(5))
    return disagreement((x * delta).sum(axis=0), exact), equal((_normalized(x) * delta).sum(axis=0), exact)


@correction(
    "E-T4",
    "T-3.2-I-PE",
    "T-3.2-I-PElinear",
    title="Positional encoding, counted from 1 as printed",
    printed=r"\sin(j / 10000^{2k/d}), \; 1 \leq k < d/2; \quad \cos(j / 10000^{2(k - d/2)/d}), \; d/2 \leq k \leq d",
    corrected=r"\sin(j / 10000^{2k/d}), \; 0 \leq k < d/2; \quad \cos(j / 10000^{2(k - d/2)/d}), \; d/2 \leq k < d",
)
def positions_from_one() -> tuple[float, Evidence]:
    """Its promise is that PE_{j+1} is a linear function of PE_j: the residual of the best linear map."""
    d, j = 8, np.arange(1, 61)[:, None]
    k = np.arange(1, d + 1)[None, :]
    printed = np.where(k < d / 2, np.sin(j / 10000 ** (2 * k / d)), np.cos(j / 10000 ** (2 * (k - d / 2) / d)))
    return _shift_residual(printed), equal(_shift_residual(half_sinusoid(60, d)), 0.0)


def _shift_residual(table: Array) -> float:
    best = np.linalg.lstsq(table[:-1], table[1:], rcond=None)[0]
    return float(np.abs(table[:-1] @ best - table[1:]).max())


@correction(
    "E-T5",
    "T-4.3.22-dV",
    title="(4.3.22): derivative by the values",
    printed=r"\sum_{j_I} \hat{A}_{i,j_C,\tilde{k}} \frac{\partial e}{\partial O_{i,j_I,\tilde{k}}}",
    corrected=r"\sum_{j_I} \hat{A}_{i,j_C,j_I} \frac{\partial e}{\partial O_{i,j_I,\tilde{k}}}",
)
def values_index() -> tuple[float, Evidence]:
    """As many input positions as hidden columns, or the printed index could not even be read."""
    weights, values, delta = random(2, 5, 3, 1), random(2, 5, 3, 1, seed=1), random(2, 3, 3, 1, seed=2)
    exact = numerical_jacobian(lambda v: (delta * value_of(thesis.combine(weights, v))).sum(), values)
    printed = np.einsum("icer,iqer->icer", weights, delta)
    corrected = np.einsum("icqr,iqer->icer", weights, delta)
    return disagreement(printed, exact), equal(corrected, exact)


def _transposed_weights(contexts: int) -> tuple[float, Evidence]:
    """de/dx = sum dT W: contexts = 1 for the queries (4.3.27), 2 for keys and values (4.3.28). One head, d~ = d."""
    d = 3
    weights = [random(d, d, 1, seed=s) for s in range(contexts)]
    deltas = [random(2, 4, d, 1, seed=s) for s in range(contexts)]
    x, biases = random(2, 4, d, seed=9), np.zeros((d, 1))

    def forward(z: Array) -> Array:
        terms = [delta * value_of(thesis.transform(z, w, biases)) for w, delta in zip(weights, deltas, strict=True)]
        return np.asarray(sum(term.sum() for term in terms))

    def summed(contraction: str) -> Array:
        parts = [np.einsum(contraction, delta, w) for w, delta in zip(weights, deltas, strict=True)]
        total: Array = np.sum(parts, axis=0)
        return total

    exact = numerical_jacobian(forward, x)
    return disagreement(summed("ijer,ekr->ijk"), exact), equal(summed("ijer,ker->ijk"), exact)


@correction(
    "E-T6",
    "T-4.3.27-xI",
    title="(4.3.27): derivative by the input of attention",
    printed=r"\sum_{\tilde{k},r} \frac{\partial e}{\partial Q_{\tilde{k}}^{(r)}} W_{Q,\tilde{k},k}^{(r)}",
    corrected=r"\sum_{\tilde{k},r} \frac{\partial e}{\partial Q_{\tilde{k}}^{(r)}} W_{Q,k,\tilde{k}}^{(r)}",
)
def input_index() -> tuple[float, Evidence]:
    return _transposed_weights(1)


@correction(
    "E-T6",
    "T-4.3.28-xC",
    title="(4.3.28): derivative by the context of attention",
    printed=r"\sum_{\tilde{k},r} \frac{\partial e}{\partial K_{\tilde{k}}^{(r)}} W_{K,\tilde{k},k}^{(r)}"
    r" + \frac{\partial e}{\partial V_{\tilde{k}}^{(r)}} W_{V,\tilde{k},k}^{(r)}",
    corrected=r"\sum_{\tilde{k},r} \frac{\partial e}{\partial K_{\tilde{k}}^{(r)}} W_{K,k,\tilde{k}}^{(r)}"
    r" + \frac{\partial e}{\partial V_{\tilde{k}}^{(r)}} W_{V,k,\tilde{k}}^{(r)}",
)
def context_index() -> tuple[float, Evidence]:
    return _transposed_weights(2)


@correction(
    "E-L2",
    "L-24-scaled",
    title="Lecture: what the scores are divided by",
    printed=r"\frac{x_n^\top U_k^\top U_q x_{n'}}{\sqrt{D}}",
    corrected=r"\frac{x_n^\top U_k^\top U_q x_{n'}}{\sqrt{K}}",
)
def score_scale() -> tuple[float, Evidence]:
    """The promise is scores of deviation about 1 for projections of deviation 1; and what `attend` divides by."""
    K, D, N = 16, 256, 400
    q, k = random(N, K), random(N, K, seed=1)
    raw = q @ k.T
    values = random(N, K, seed=2)
    e = np.exp(raw / np.sqrt(K))
    ours = value_of(attend(q, k, values, offsets=np.array([0, N]), heads=1))
    evidence = equal((raw / np.sqrt(K)).std(), 1.0, 0.05) & equal(ours, e / e.sum(axis=1, keepdims=True) @ values)
    return abs(float((raw / np.sqrt(D)).std()) - 1), evidence
