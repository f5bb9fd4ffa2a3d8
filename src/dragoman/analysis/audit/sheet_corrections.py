"""The custom-net sheet, section 2: the equations that are wrong as printed, multiplied out literally."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dragoman.analysis.audit.claim import Evidence, correction, disagreement
from dragoman.analysis.audit.sheet_encoder import (
    ALPHA,
    CLASS_TOKEN,
    EMBEDDING,
    HEAD,
    KEYS,
    LOSS,
    QUERIES,
    SCORE_PATHS,
    VALUES,
    class_row_jacobian,
    class_token_gradient,
    embedding_gradient,
    encoder,
    encoder_cross_entropy,
    head_gradient,
    key_gradient,
    query_gradient,
    score_paths,
    value_gradient,
)
from dragoman.analysis.closed_forms import class_row, class_token_paths, softmax_jacobian
from dragoman.graph import Array


def literal(expected: Array, *forms: Callable[[], Array]) -> float:
    """How wrong an equation is when multiplied out as printed, in the best of its printed forms.

    Infinitely, if its shapes do not fit.
    """

    def error(form: Callable[[], Array]) -> float:
        try:
            return disagreement(form(), expected)
        except ValueError:  # NumPy's answer to matrices that cannot be multiplied or added
            return float("inf")

    return min(error(form) for form in forms)


@dataclass(frozen=True)
class Printed:
    """The symbols of the sheet's backward equations, with its own alpha (4); Q, S, g and delta are rows, [1, ...]."""

    h0: Array
    h_pre2: Array
    h2: Array  # h_{2(n+1)}
    Q: Array  # Q_{(n+1)}
    K: Array
    V: Array
    S: Array  # S_{(n+1)}
    delta: Array  # z - y
    g: Array  # (z - y) W_2^T
    W_q: Array
    W_k: Array
    W_v: Array

    def alpha(self) -> Array:
        """(4)"""
        alpha: Array = np.diag(self.S[0]) - self.K @ self.Q.T @ self.Q @ self.K.T
        return alpha

    def beta(self) -> Array:
        """(10)"""
        beta: Array = self.Q @ self.W_k.T + self.W_q @ self.K.T
        return beta


def printed() -> Printed:
    e, f, p = encoder(), encoder().staged(), encoder().parameters
    class_rows = {name: f[name][-1:] for name in ("h2", "Q", "S")}
    rows = {name: f[name] for name in ("h0", "h_pre2", "K", "V")}
    weights = {name: p[name] for name in ("W_q", "W_k", "W_v")}
    delta = f["z"] - e.y
    return Printed(**rows, **class_rows, **weights, delta=delta, g=delta @ p["W2"].T)


@correction(
    "E-C1",
    "C-2.b1-W2",
    title="Gradient of the head: scores for probabilities, no 1/K",
    printed=r"\frac{dL}{dW_2} = ((z - y)^\top h_{2(n+1)})^\top = h_{2(n+1)}^\top (z - y)",
    corrected=HEAD,
)
def printed_head_gradient() -> tuple[float, Evidence]:
    c, expected = printed(), encoder().gradients()["W2"]
    return literal(expected, lambda: (c.delta.T @ c.h2).T, lambda: c.h2.T @ c.delta), head_gradient()


@correction(
    "E-C2",
    "C-2.b2-Wv",
    title="Gradient of the value weights: the same two slips",
    printed=r"\frac{dL}{dW_v} = (((z - y) W_2^\top)^\top S_{(n+1)} h_{\mathrm{pre}_2})^\top "
    r"= h_{\mathrm{pre}_2}^\top S_{(n+1)}^\top (z - y) W_2^\top",
    corrected=VALUES,
)
def printed_value_gradient() -> tuple[float, Evidence]:
    c, expected = printed(), encoder().gradients()["W_v"]
    error = literal(expected, lambda: (c.g.T @ c.S @ c.h_pre2).T, lambda: c.h_pre2.T @ c.S.T @ c.g)
    return error, value_gradient()


@correction(
    "E-C3",
    "C-2.b3-alpha",
    title="Jacobian of softmax: scores for probabilities",
    printed=r"\alpha = \mathrm{diag}(S_{(n+1)}) - (Q_{(n+1)} K^\top)^\top (Q_{(n+1)} K^\top)",
    corrected=ALPHA,
)
def printed_jacobian() -> tuple[float, Evidence]:
    c, scores = printed(), printed().Q @ printed().K.T
    error = literal(softmax_jacobian(c.S), lambda: np.diag(c.S[0]) - scores.T @ scores, c.alpha)
    return error, class_row_jacobian()


@correction(
    "E-C4",
    "C-2.b6-Wk",
    title="Gradient of the key weights: shapes do not fit",
    printed=r"\frac{dL}{dW_k} = h_{\mathrm{pre}_2}^\top Q_{(n+1)}^\top ((z - y) W_2^\top)^\top V^\top \alpha",
    corrected=KEYS,
)
def printed_key_gradient() -> tuple[float, Evidence]:
    c, expected = printed(), encoder().gradients()["W_k"]
    error = literal(
        expected,
        lambda: ((c.g.T @ c.V.T @ c.alpha()).T @ c.Q @ c.h_pre2).T,
        lambda: c.h_pre2.T @ c.Q.T @ c.g.T @ c.V.T @ c.alpha(),
    )
    return error, key_gradient()


@correction(
    "E-C5",
    "C-2.b8-Wq",
    title="Gradient of the query weights: shapes do not fit",
    printed=r"\frac{dL}{dW_q} = h_{\mathrm{pre}_2(n+1)}^\top ((z - y) W_2^\top)^\top V^\top \alpha K",
    corrected=QUERIES,
)
def printed_query_gradient() -> tuple[float, Evidence]:
    c, h_c, expected = printed(), printed().h_pre2[-1:], encoder().gradients()["W_q"]
    error = literal(
        expected, lambda: ((c.g.T @ c.V.T @ c.alpha() @ c.K).T @ h_c).T, lambda: h_c.T @ c.g.T @ c.V.T @ c.alpha() @ c.K
    )
    return error, query_gradient()


@correction(
    "E-C6",
    "C-2.b10-beta",
    title="Beta adds a row to a matrix of another shape",
    printed=r"\beta = Q_{(n+1)} W_k^\top + W_q K^\top",
    corrected=SCORE_PATHS,
)
def printed_beta() -> tuple[float, Evidence]:
    e, p = encoder(), encoder().parameters
    paths = class_token_paths(class_row(e.X, **p, y=e.y), p["W_q"], p["W_k"], p["W_v"])
    return literal(paths["query"] + paths["key"], printed().beta), score_paths()


@correction(
    "E-C7",
    "C-2.b11-cls",
    title="Gradient of the class token: shapes do not fit",
    printed=r"\frac{dL}{d\mathrm{cls}} = (((z - y) W_2^\top)^\top "
    r"(S_{(n+1)} W_v + \alpha \beta V + 1))^\top",
    corrected=CLASS_TOKEN,
)
def printed_class_token_gradient() -> tuple[float, Evidence]:
    c, expected = printed(), encoder().gradients()["class_token"]
    error = literal(expected, lambda: (c.g.T @ (c.S @ c.W_v + c.alpha() @ c.beta() @ c.V + 1)).T)
    return error, class_token_gradient()


@correction(
    "E-C8",
    "C-2.b12-W1",
    title="Gradient of the embedding: shapes do not fit",
    printed=r"\frac{dL}{dW_1} = (((z - y) W_2^\top)^\top "
    r"(S_{(n+1)} W_v h_0 + \alpha \beta h_0 V + h_0))^\top",
    corrected=EMBEDDING,
)
def printed_embedding_gradient() -> tuple[float, Evidence]:
    c, expected = printed(), encoder().gradients()["W1"]
    error = literal(expected, lambda: (c.g.T @ (c.S @ c.W_v @ c.h0 + c.alpha() @ c.beta() @ c.h0 @ c.V + c.h0)).T)
    return error, embedding_gradient()


@correction(
    "E-C10",
    "C-2.f9-loss",
    title="Loss of the encoder: as many ones as classes, not depths",
    printed=r"L = -\frac{1}{K} 1_{d_2} (y \odot \ln s)^\top",
    corrected=LOSS,
)
def printed_loss() -> tuple[float, Evidence]:
    e, s = encoder(), encoder().staged()["s"]
    error = literal(e.staged()["loss"], lambda: -1 / 4 * np.ones((1, 5)) @ (e.y * np.log(s)).T)
    return error, encoder_cross_entropy()
