"""The custom-net sheet, section 2: the encoder with a class token, equation by equation."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, equal, holds, proved
from dragoman.analysis.audit.sheet import Example, plain_softmax, plain_standardize, standardized, target, trail
from dragoman.analysis.closed_forms import class_row, class_token_gradients, class_token_paths, softmax_jacobian
from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Backward, Tensor, backpropagate, gradient_check, operation, value_of
from dragoman.networks.custom import ClassTokenConfiguration, ClassTokenEncoder
from dragoman.operations import attention_weights, softmax


def encoder_stages(
    X: Array, W1: Array, class_token: Array, W_q: Array, W_k: Array, W_v: Array, W2: Array, y: Array
) -> dict[str, Array]:
    """Forward (1) to (9), as the sheet writes them but with 1_K in (9); z, s and y are rows [1, K]"""
    h0 = plain_standardize(X)  # (1)
    h1 = h0 @ W1  # (2)
    h_pre2 = np.concatenate((h1, class_token[None, :]))  # (3)
    Q, K, V = h_pre2 @ W_q, h_pre2 @ W_k, h_pre2 @ W_v  # (4)
    S = plain_softmax(Q @ K.T)  # (5)
    h2 = S @ V + h_pre2  # (6)
    z = h2[-1:] @ W2  # (7)
    s = plain_softmax(z)  # (8)
    classes = s.shape[1]
    loss = -1 / classes * (np.ones((1, classes)) @ (y * np.log(s)).T)[0, 0]  # (9)
    stages = {"h0": h0, "h1": h1, "h_pre2": h_pre2, "Q": Q, "K": K, "V": V}
    return {**stages, "S": S, "h2": h2, "z": z, "s": s, "loss": loss}


# The loss and its parts as operations: value from the forward pass, derivative from the closed form


@operation
def encoder_loss(
    W1: Array, class_token: Array, W_q: Array, W_k: Array, W_v: Array, W2: Array, *, X: Array, y: Array
) -> tuple[Array, Backward]:
    def backward(dloss: Array) -> tuple[Array, ...]:
        closed = class_token_gradients(X, W1, class_token, W_q, W_k, W_v, W2, y)
        return tuple(closed[name] * dloss for name in ("W1", "class_token", "W_q", "W_k", "W_v", "W2"))

    return np.asarray(encoder_stages(X, W1, class_token, W_q, W_k, W_v, W2, y)["loss"]), backward


@operation
def loss_by_path(
    residual: Array, value: Array, query: Array, key: Array, *, parameters: dict[str, Array], X: Array, y: Array
) -> tuple[Array, Backward]:
    """The encoder's loss with the class token given once for each of the four ways it is used."""
    p = parameters
    h1 = plain_standardize(X) @ p["W1"]
    V = np.concatenate((h1, value[None, :])) @ p["W_v"]
    K = np.concatenate((h1, key[None, :])) @ p["W_k"]
    h2 = plain_softmax(query @ p["W_q"] @ K.T) @ V + residual
    loss = -(y * np.log(plain_softmax(h2 @ p["W2"]))).sum() / y.size

    def backward(dloss: Array) -> tuple[Array, ...]:
        paths = class_token_paths(class_row(X, **p, y=y), p["W_q"], p["W_k"], p["W_v"])
        return tuple(paths[name] * dloss for name in ("residual", "value", "query", "key"))

    return np.asarray(loss), backward


@operation
def class_row_weights(scores: Array) -> tuple[Array, Backward]:
    """S_{n+1} = Softmax(Q_{n+1} K^T), a row [1, n + 1]"""
    S = plain_softmax(scores)

    def backward(dS: Array) -> Array:
        return dS @ softmax_jacobian(S)

    return S, backward


def encoder() -> Example:
    """One sample, its sizes different wherever they may be: n = 6, d0 = 3, d1 = d2 = 5, K = 4"""
    rng = np.random.default_rng(4)
    sizes = ClassTokenConfiguration(inputs=3, depth=5, attention_depth=5, classes=4)
    network = ClassTokenEncoder(sizes, dtype=np.float64)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    X, y = rng.standard_normal((6, 3)), target(4)[None, :]
    return Example(network, X, y, 4.0, encoder_loss, encoder_stages, class_token_gradients)


# Forward


@claim(
    "C-2.0-shapes",
    title="Shapes of the encoder: the residual needs equal depths",
    formula=r"W_1 \in \mathrm{R}^{d_0 \times d_1}, \mathrm{cls} \in \mathrm{R}^{1 \times d_1}, "
    r"W_q, W_k, W_v \in \mathrm{R}^{d_1 \times d_2}, W_2 \in \mathrm{R}^{d_2 \times K}, d_1 = d_2",
)
def encoder_shapes() -> Evidence:
    shapes = {name: array.shape for name, array in encoder().parameters.items()}
    square = {"W_q": (5, 5), "W_k": (5, 5), "W_v": (5, 5)}
    try:
        ClassTokenConfiguration(inputs=3, depth=4, attention_depth=5, classes=4)
        refused = False
    except ConfigurationError:
        refused = True
    return holds(refused and shapes == {"W1": (3, 5), "class_token": (5,), **square, "W2": (5, 4)})


@claim(
    "C-2.f1-standardise",
    title="The encoder's input standardised",
    formula=r"h_0 = \frac{X - \mathrm{E} X}{\sqrt{\mathrm{E} (X - \mathrm{E} X)^2}}",
)
def encoder_standardized() -> Evidence:
    return standardized(encoder())


@claim("C-2.f2-proj", title="Tokens embedded, without bias", formula=r"h_1 = h_0 W_1")
def embedded_tokens() -> Evidence:
    h1, *_ = trail(encoder().logits())
    return equal(h1, encoder().staged()["h1"])


@claim(
    "C-2.f3-cls",
    title="Class token appended as the last row",
    formula=r"h_{\mathrm{pre}_2} = \mathrm{concat}(h_1, \mathrm{cls})",
)
def class_token_appended() -> Evidence:
    _, h_pre2, *_ = trail(encoder().logits())
    return equal(h_pre2, encoder().staged()["h_pre2"]) & equal(h_pre2[-1], encoder().parameters["class_token"])


@claim(
    "C-2.f4-qkv",
    title="Queries, keys and values, without bias",
    formula=r"Q = h_{\mathrm{pre}_2} W_q, K = h_{\mathrm{pre}_2} W_k, V = h_{\mathrm{pre}_2} W_v",
)
def queries_keys_values() -> Evidence:
    _, _, qkv, *_ = trail(encoder().logits())
    return equal(qkv, np.hstack([encoder().staged()[name] for name in "QKV"]))


@claim("C-2.f5-attn", title="Attention weights, unscaled", formula=r"S = \mathrm{Softmax}(Q K^\top)")
def unscaled_weights() -> Evidence:
    _, _, qkv, *_ = trail(encoder().logits())
    q, k, _ = np.split(qkv, 3, axis=1)
    S = attention_weights(q, k, offsets=np.array([0, 7]), heads=1, scaled=False)[0, 0]
    return equal(S, encoder().staged()["S"]) & equal(S.sum(axis=1), np.ones(7))


@claim("C-2.f6-residual", title="Residual, no norm after it", formula=r"h_2 = S V + h_{\mathrm{pre}_2}")
def residual() -> Evidence:
    *_, attended, h2, _, _ = trail(encoder().logits())
    stages = encoder().staged()
    return equal(h2, stages["h2"]) & equal(attended, stages["S"] @ stages["V"])


@claim("C-2.f7-head", title="Classified from the class row alone", formula=r"z = h_{2(n+1)} W_2")
def classified() -> Evidence:
    return equal(encoder().logits().value, encoder().staged()["z"])


@claim("C-2.f8-softmax", title="The encoder's probabilities", formula=r"s = \mathrm{Softmax}(z)")
def encoder_probabilities() -> Evidence:
    s = value_of(softmax(encoder().logits()))
    return equal(s, encoder().staged()["s"]) & equal(s.sum(axis=1), np.ones(1))


LOSS = r"L = -\frac{1}{K} 1_K (y \odot \ln s)^\top"


@claim("C-2.f9-loss", title="Cross-entropy over the number of classes, corrected", formula=LOSS)
def encoder_cross_entropy() -> Evidence:
    return equal(np.array([encoder().error()]), np.array([encoder().staged()["loss"]]))


@claim(
    "C-2.composite",
    title="Class token at index n + 1 of every sample, completed",
    formula=r"L = \frac{1}{K} \mathrm{CrossEntropy}(y, \mathrm{Softmax}(h_2[:, n+1, :] W_2))",
)
def encoder_composite() -> Evidence:
    """Two samples at once. As printed the line leaves out the standardisation, the residual and 1/K."""
    e, samples = encoder(), [encoder().X, encoder().X[::-1] ** 2]
    logits = e.network(Batch.pack(samples))
    assert isinstance(logits, Tensor)
    dense = trail(logits)[4].reshape(2, 7, 5)
    alone = [e.stages(X, **e.parameters, y=e.y)["z"][0] for X in samples]
    return equal(logits.value, np.array(alone)) & equal(logits.value, dense[:, 6, :] @ e.parameters["W2"])


# Backward: every equation is wrong as printed; the claims are of the corrected ones

HEAD = r"\frac{dL}{dW_2} = \frac{1}{K} h_{2(n+1)}^\top (s - y)"
VALUES = r"\frac{dL}{dW_v} = h_{\mathrm{pre}_2}^\top S_{(n+1)}^\top g, g = \frac{1}{K} (s - y) W_2^\top"
ALPHA = r"\alpha = \mathrm{diag}(S_{(n+1)}) - S_{(n+1)}^\top S_{(n+1)}"
KEYS = r"\frac{dL}{dW_k} = h_{\mathrm{pre}_2}^\top u^\top Q_{(n+1)}, u = g V^\top \alpha"
QUERIES = r"\frac{dL}{dW_q} = h_{\mathrm{pre}_2(n+1)}^\top u K"
SCORE_PATHS = r"u K W_q^\top + u_{n+1} Q_{(n+1)} W_k^\top"
CLASS_TOKEN = r"\frac{dL}{d\mathrm{cls}} = g + S_{n+1,n+1} g W_v^\top + " + SCORE_PATHS
EMBEDDING = r"\frac{dL}{dW_1} = h_0^\top (S_{1:n}^\top g W_v^\top + u_{1:n}^\top Q_{(n+1)} W_k^\top)"


@claim("C-2.b1-W2", title="Gradient of the head, corrected", formula=HEAD)
def head_gradient() -> Evidence:
    return encoder().proof("W2")


@claim("C-2.b2-Wv", title="Gradient of the value weights, corrected", formula=VALUES)
def value_gradient() -> Evidence:
    return encoder().proof("W_v")


@claim("C-2.b3-alpha", title="Jacobian of the class row's weights, corrected", formula=ALPHA)
def class_row_jacobian() -> Evidence:
    """The closed form against differences and complex step, and against the graph's softmax, row by row."""
    stages = encoder().staged()
    scores = stages["Q"][-1:] @ stages["K"].T
    row = Tensor(scores)
    graph = [backpropagate(softmax(row), [row], [unit[None, :]])[0][0] for unit in np.eye(7)]
    alpha = softmax_jacobian(stages["S"][-1:])
    return proved(gradient_check(class_row_weights, scores)) & equal(np.array(graph), alpha)


@claim("C-2.b6-Wk", title="Gradient of the key weights, corrected", formula=KEYS)
def key_gradient() -> Evidence:
    return encoder().proof("W_k")


@claim("C-2.b8-Wq", title="Gradient of the query weights, corrected", formula=QUERIES)
def query_gradient() -> Evidence:
    return encoder().proof("W_q")


@claim("C-2.b10-beta", title="Class token through the scores: two paths, not one", formula=SCORE_PATHS)
def score_paths() -> Evidence:
    """Each way from the class token to the loss alone, with the token held fixed in the three others."""
    e = encoder()
    token = e.parameters["class_token"]
    return proved(gradient_check(loss_by_path, token, token, token, token, parameters=e.parameters, X=e.X, y=e.y))


@claim("C-2.b11-cls", title="Gradient of the class token, corrected", formula=CLASS_TOKEN)
def class_token_gradient() -> Evidence:
    return encoder().proof("class_token")


@claim("C-2.b12-W1", title="Gradient of the embedding, corrected", formula=EMBEDDING)
def embedding_gradient() -> Evidence:
    return encoder().proof("W1")
