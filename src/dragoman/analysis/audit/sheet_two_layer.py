"""The custom-net sheet, section 1: the two-layer network, equation by equation."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.claim import Evidence, claim, equal, holds
from dragoman.analysis.audit.sheet import (
    TARGET,
    Example,
    plain_softmax,
    plain_standardize,
    standardized,
    target,
    trail,
)
from dragoman.analysis.closed_forms import two_layer_gradients
from dragoman.graph import Array, Backward, operation, value_of
from dragoman.networks.custom import TwoLayerConfiguration, TwoLayerNetwork
from dragoman.operations import cross_entropy, softmax


def two_layer_stages(X: Array, W1: Array, B1: Array, W2: Array, B2: Array, y: Array) -> dict[str, Array]:
    """Forward (1) to (8), as the sheet writes them"""
    pre_a1 = plain_standardize(X)  # (1)
    a1 = W1 @ pre_a1.T + B1  # (2)
    h1 = np.where(a1.real > 0, a1, 0)  # (3)
    pre_a2 = h1.flatten()  # (4)
    a2 = (W2 @ pre_a2.T).T + B2  # (5)
    h2 = a2 @ np.eye(len(a2))  # (6)
    s = plain_softmax(h2)  # (7)
    loss = -(y * np.log(s)) @ np.ones(len(s)).T  # (8)
    return {"pre_a1": pre_a1, "a1": a1, "h1": h1, "pre_a2": pre_a2, "a2": a2, "h2": h2, "s": s, "loss": loss}


@operation
def two_layer_loss(W1: Array, B1: Array, W2: Array, B2: Array, *, X: Array, y: Array) -> tuple[Array, Backward]:
    """(8) as an operation: value from the forward pass, derivative from the closed form"""

    def backward(dloss: Array) -> tuple[Array, ...]:
        closed = two_layer_gradients(X, W1, B1, W2, B2, y)
        return tuple(closed[name] * dloss for name in ("W1", "B1", "W2", "B2"))

    return np.asarray(two_layer_stages(X, W1, B1, W2, B2, y)["loss"]), backward


def two_layer() -> Example:
    """One sample, its sizes different wherever they may be: n = 4, m = 3, d = 5, k = 6"""
    rng = np.random.default_rng(3)
    network = TwoLayerNetwork(TwoLayerConfiguration(positions=4, inputs=3, depth=5, classes=6), dtype=np.float64)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    X, y = rng.standard_normal((4, 3)), target(6)
    return Example(network, X, y, 1.0, two_layer_loss, two_layer_stages, two_layer_gradients)


# Forward


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


# Backward


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
