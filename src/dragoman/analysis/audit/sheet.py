"""The custom-net sheet: its two networks, equation by equation.

Forward equations are held against what the network of `dragoman.networks` computed at that stage. Gradients are held
three ways: the closed form against central differences and the complex step of the sheet's own forward pass, written
out below, and against the network, back-propagated by the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dragoman.analysis.audit.claim import (
    VALUE_TOLERANCE,
    Evidence,
    claim,
    correction,
    disagreement,
    equal,
    holds,
    proved,
)
from dragoman.analysis.closed_forms import (
    class_row,
    class_token_gradients,
    class_token_paths,
    softmax_jacobian,
    two_layer_gradients,
)
from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import (
    Array,
    Backward,
    GradientReport,
    Tensor,
    Value,
    backpropagate,
    gradient_check,
    operation,
    value_of,
)
from dragoman.graph.gradient_check import compare
from dragoman.networks.custom import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    TwoLayerConfiguration,
    TwoLayerNetwork,
    standardize_samples,
)
from dragoman.operations import attention_weights, cross_entropy, softmax

TARGET, SMOOTHING = 1, 0.2  # y = 0.8 one-hot + 0.2 / K: a distribution with no zero in it


# The forward passes as the sheet writes them


def plain_softmax(x: Array) -> Array:
    e = np.exp(x)
    s: Array = e / e.sum(axis=-1, keepdims=True)
    return s


def plain_standardize(X: Array) -> Array:
    standardized: Array = (X - X.mean()) / np.sqrt(((X - X.mean()) ** 2).mean())
    return standardized


def two_layer_stages(X: Array, W1: Array, B1: Array, W2: Array, B2: Array, y: Array) -> dict[str, Array]:
    """Section 1, forward (1) to (8)"""
    pre_a1 = plain_standardize(X)  # (1)
    a1 = W1 @ pre_a1.T + B1  # (2)
    h1 = np.where(a1.real > 0, a1, 0)  # (3)
    pre_a2 = h1.flatten()  # (4)
    a2 = (W2 @ pre_a2.T).T + B2  # (5)
    h2 = a2 @ np.eye(len(a2))  # (6)
    s = plain_softmax(h2)  # (7)
    loss = -(y * np.log(s)) @ np.ones(len(s)).T  # (8)
    return {"pre_a1": pre_a1, "a1": a1, "h1": h1, "pre_a2": pre_a2, "a2": a2, "h2": h2, "s": s, "loss": loss}


def encoder_stages(
    X: Array, W1: Array, class_token: Array, W_q: Array, W_k: Array, W_v: Array, W2: Array, y: Array
) -> dict[str, Array]:
    """Section 2, forward (1) to (9), with 1_K in (9); z, s and y are rows [1, K]"""
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


# The same functions as operations: value from the forward pass, derivative from the closed form


@operation
def two_layer_loss(W1: Array, B1: Array, W2: Array, B2: Array, *, X: Array, y: Array) -> tuple[Array, Backward]:
    def backward(dloss: Array) -> tuple[Array, ...]:
        closed = two_layer_gradients(X, W1, B1, W2, B2, y)
        return tuple(closed[name] * dloss for name in ("W1", "B1", "W2", "B2"))

    return np.asarray(two_layer_stages(X, W1, B1, W2, B2, y)["loss"]), backward


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


# One sample of each, its sizes different wherever they may be


@dataclass(frozen=True)
class Example:
    """A network of the sheet with one sample and its target y [1, K] or [k], beside the sheet's own functions."""

    network: TwoLayerNetwork | ClassTokenEncoder
    X: Array
    y: Array
    total: float  # what the sheet divides its cross-entropy by
    loss: Callable[..., Value]
    stages: Callable[..., dict[str, Array]]
    closed_form: Callable[..., dict[str, Array]]

    @property
    def parameters(self) -> dict[str, Array]:
        return dict(self.network.named_arrays())

    def staged(self) -> dict[str, Array]:
        return self.stages(self.X, **self.parameters, y=self.y)

    def gradients(self) -> dict[str, Array]:
        return self.closed_form(self.X, **self.parameters, y=self.y)

    def logits(self) -> Tensor:
        logits = self.network(Batch.pack([self.X]))
        assert isinstance(logits, Tensor)
        return logits

    def recorded_error(self) -> Value:
        targets = np.array([TARGET])
        error, _ = cross_entropy(self.logits(), targets=targets, smoothing=SMOOTHING, total=self.total)
        return error

    def error(self) -> float:
        return float(self.recorded_error())

    def back_propagated(self) -> dict[str, Array]:
        """The gradient of the network by Algorithm 4.10, under the sheet's names"""
        theta = self.network.theta
        gradient = backpropagate(self.recorded_error(), theta)
        parts = [p.split(name, theta.view(gradient, p)) for name, p in self.network.named_parameters()]
        return {name: part for split in parts for name, part in split}

    def proof(self, name: str) -> Evidence:
        """The closed form of one derivative against differences, complex step and graph"""
        report = gradient_check(self.loss, *self.parameters.values(), X=self.X, y=self.y)
        numerical = [comparison for comparison in report.comparisons if comparison.name == name]
        closed, found = self.gradients()[name], self.back_propagated()[name]
        graph = compare(name, "back-propagation", found, closed, VALUE_TOLERANCE)
        return proved(GradientReport((*numerical, graph)))


def two_layer() -> Example:
    """n = 4, m = 3, d = 5, k = 6"""
    rng = np.random.default_rng(3)
    network = TwoLayerNetwork(TwoLayerConfiguration(positions=4, inputs=3, depth=5, classes=6), dtype=np.float64)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    X, y = rng.standard_normal((4, 3)), target(6)
    return Example(network, X, y, 1.0, two_layer_loss, two_layer_stages, two_layer_gradients)


def encoder() -> Example:
    """n = 6, d0 = 3, d1 = d2 = 5, K = 4"""
    rng = np.random.default_rng(4)
    sizes = ClassTokenConfiguration(inputs=3, depth=5, attention_depth=5, classes=4)
    network = ClassTokenEncoder(sizes, dtype=np.float64)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    X, y = rng.standard_normal((6, 3)), target(4)[None, :]
    return Example(network, X, y, 4.0, encoder_loss, encoder_stages, class_token_gradients)


def target(classes: int) -> Array:
    y: Array = (1 - SMOOTHING) * np.eye(classes)[TARGET] + SMOOTHING / classes
    return y


def trail(output: Tensor) -> list[Array]:
    """What a network computed on the way to an output, in order, following the first input of each operation."""
    values: list[Array] = []
    tensor = output
    while isinstance(tensor, Tensor) and tensor.node is not None:
        values.insert(0, tensor.value)
        tensor = tensor.node.inputs[0]
    return values


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


# Section 1, forward


@claim(
    "C-1.0-shapes",
    title="Shapes of the two-layer net: a bias per unit and position",
    formula=r"W_1 \in \mathrm{R}^{d \times m}, B_1 \in \mathrm{R}^{d \times n}, "
    r"W_2 \in \mathrm{R}^{k \times dn}, B_2 \in \mathrm{R}^k",
)
def two_layer_shapes() -> Evidence:
    shapes = {name: array.shape for name, array in two_layer().parameters.items()}
    return holds(shapes == {"W1": (5, 3), "B1": (5, 4), "W2": (6, 20), "B2": (6,)})


@claim(
    "C-1.f1-standardise",
    title="Input standardised by one mean and one deviation",
    formula=r"\mathrm{pre}_{a_1} = \frac{X - \mathrm{E} X}{\sqrt{\mathrm{E} (X - \mathrm{E} X)^2}}",
)
def two_layer_standardized() -> Evidence:
    return standardized(two_layer())


def standardized(example: Example) -> Evidence:
    found = standardize_samples(Batch.pack([example.X]))
    moments = np.array([found.mean(), found.std()])
    return equal(found, plain_standardize(example.X)) & equal(moments, np.array([0.0, 1.0]))


@claim("C-1.f2-a1", title="First layer", formula=r"a_1 = W_1 \mathrm{pre}_{a_1}^\top + B_1")
def first_layer() -> Evidence:
    _, a1, *_ = trail(two_layer().logits())
    return equal(a1.T, two_layer().staged()["a1"])


@claim("C-1.f3-relu", title="ReLU of the first layer", formula=r"h_1 = \mathrm{ReLU}(a_1)")
def hidden_layer() -> Evidence:
    _, _, h1, *_ = trail(two_layer().logits())
    return equal(h1.T, two_layer().staged()["h1"])


@claim("C-1.f4-flatten", title="Flattened unit by unit", formula=r"\mathrm{pre}_{a_2} = \mathrm{Flatten}(h_1)")
def flattened() -> Evidence:
    *_, pre_a2, _ = trail(two_layer().logits())
    return equal(pre_a2[0], two_layer().staged()["pre_a2"])


@claim("C-1.f5-a2", title="Second layer", formula=r"a_2 = (W_2 \mathrm{pre}_{a_2}^\top)^\top + B_2")
def second_layer() -> Evidence:
    return equal(two_layer().logits().value[0], two_layer().staged()["a2"])


@claim("C-1.f6-id", title="Identity as output activation", formula=r"h_2 = a_2 I_k")
def output_activation() -> Evidence:
    stages = two_layer().staged()
    return equal(stages["h2"], stages["a2"]) & equal(two_layer().logits().value[0], stages["h2"])


@claim("C-1.f7-softmax", title="Class probabilities", formula=r"s = \mathrm{Softmax}(h_2)")
def two_layer_probabilities() -> Evidence:
    s = value_of(softmax(two_layer().logits()))
    return equal(s[0], two_layer().staged()["s"]) & equal(s.sum(axis=1), np.ones(1))


@claim("C-1.f8-loss", title="Cross-entropy, summed over classes", formula=r"L = -(y \odot \ln s) 1_k^\top")
def two_layer_cross_entropy() -> Evidence:
    """A soft target, and a hard one, of which only -ln s_t is left."""
    e, hard = two_layer(), two_layer_stages(two_layer().X, **two_layer().parameters, y=np.eye(6)[TARGET])
    of_hard, _ = cross_entropy(e.logits().value, targets=np.array([TARGET]))
    expected = np.array([e.staged()["loss"], hard["loss"], hard["loss"]])
    return equal(np.array([e.error(), float(of_hard), -np.log(hard["s"][TARGET])]), expected)


@claim(
    "C-1.composite",
    title="The two-layer net in one expression",
    formula=r"L = \mathrm{CrossEntropy}(y, \mathrm{Softmax}"
    r"(W_2 \mathrm{Flatten}(\mathrm{ReLU}(W_1 \mathrm{pre}_{a_1}^\top + B_1)) + B_2))",
)
def two_layer_composite() -> Evidence:
    """Printed with W_1 X, which is neither standardised nor conformable unless n = m."""
    e, p = two_layer(), two_layer().parameters
    hidden = np.maximum(p["W1"] @ plain_standardize(e.X).T + p["B1"], 0)
    loss = -np.log(plain_softmax(p["W2"] @ hidden.flatten() + p["B2"])) @ e.y
    return equal(np.array([loss, e.error()]), np.full(2, e.staged()["loss"]))


# Section 1, backward


@claim(
    "C-1.b1-b2",
    title="Chain rule to the second layer, softmax apart and merged",
    formula=r"\frac{dL}{dW_2} = \frac{\partial L}{\partial s} \frac{\partial s}{\partial h_2} "
    r"\frac{\partial h_2}{\partial a_2} \frac{\partial a_2}{\partial W_2} = \frac{\partial L}{\partial h_2} "
    r"\frac{\partial h_2}{\partial a_2} \frac{\partial a_2}{\partial W_2}",
)
def second_layer_chain() -> Evidence:
    e, f = two_layer(), two_layer().staged()
    dL_ds, ds_dh2 = -e.y / f["s"], np.diag(f["s"]) - np.outer(f["s"], f["s"])
    dh2_da2 = np.eye(6)
    da2_dW2 = np.einsum("ki,j->kij", np.eye(6), f["pre_a2"])
    apart = np.einsum("a,ab,bc,cij->ij", dL_ds, ds_dh2, dh2_da2, da2_dW2)
    merged = np.einsum("b,bc,cij->ij", f["s"] - e.y, dh2_da2, da2_dW2)
    return equal(apart, merged) & equal(apart, e.gradients()["W2"]) & equal(apart, e.back_propagated()["W2"])


@claim(
    "C-1.b3-W2",
    title="Gradient of the second layer, for a target that totals 1",
    formula=r"\frac{dL}{dW_2} = ((s - y) \odot 1_k)^\top \mathrm{pre}_{a_2}",
)
def second_layer_gradient() -> Evidence:
    return two_layer().proof("W2")


@claim(
    "C-1.b4",
    title="Chain rule to the first layer, six factors",
    formula=r"\frac{dL}{dW_1} = \frac{\partial L}{\partial h_2} \frac{\partial h_2}{\partial a_2} "
    r"\frac{\partial a_2}{\partial \mathrm{pre}_{a_2}} \frac{\partial \mathrm{pre}_{a_2}}{\partial h_1} "
    r"\frac{\partial h_1}{\partial a_1} \frac{\partial a_1}{\partial W_1}",
)
def first_layer_chain() -> Evidence:
    e, f = two_layer(), two_layer().staged()
    d, n = f["a1"].shape
    dpre_dh1 = np.eye(d * n).reshape(d * n, d, n)
    dh1_da1 = np.einsum("ap,bq,ab->abpq", np.eye(d), np.eye(n), f["a1"] > 0)
    da1_dW1 = np.einsum("ap,bj->abpj", np.eye(d), f["pre_a1"])
    factors = (f["s"] - e.y, np.eye(6), e.parameters["W2"], dpre_dh1, dh1_da1, da1_dW1)
    chain = np.einsum("a,ab,bc,cde,defg,fgij->ij", *factors)
    return equal(chain, e.gradients()["W1"]) & equal(chain, e.back_propagated()["W1"])


@claim(
    "C-1.b5-W1",
    title="Gradient of the first layer",
    formula=r"\frac{dL}{dW_1} = ((s - y) \odot 1_k W_2)_{dn \to d \times n} \odot "
    r"\mathrm{ReLU}'(a_1) \, \mathrm{pre}_{a_1}",
)
def first_layer_gradient() -> Evidence:
    return two_layer().proof("W1")


@claim("C-1.b6-B2", title="Gradient of the second bias", formula=r"\frac{dL}{dB_2} = (s - y) \odot 1_k")
def second_bias_gradient() -> Evidence:
    return two_layer().proof("B2")


@claim(
    "C-1.b7-B1",
    title="Gradient of the first bias",
    formula=r"\frac{dL}{dB_1} = ((s - y) \odot 1_k W_2)_{dn \to d \times n} \odot \mathrm{ReLU}'(a_1)",
)
def first_bias_gradient() -> Evidence:
    return two_layer().proof("B1")


# Section 2, forward


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


# Section 2, backward: every equation is wrong as printed; the claims are of the corrected ones

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


# The printed forms of section 2, multiplied out literally


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
