"""The two networks of the custom-net sheet: forward equations seen in the logits, gradients by two oracles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from dragoman.analysis.closed_forms import class_token_gradients, two_layer_gradients
from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Tensor, backpropagate
from dragoman.networks import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.networks.custom import standardize_samples
from dragoman.operations import cross_entropy, softmax

RNG = np.random.default_rng(7)
MATRICES = [RNG.standard_normal((4, 3)) * scale + shift for scale, shift in ((1, 0), (5, 2), (0.1, -9))]
SEQUENCES = [RNG.standard_normal((n, 3)) * 2 + 1 for n in (6, 1, 3)]
TARGETS = np.array([2, 0, 1])

Arrays = dict[str, Array]


def two_layer(n: int = 4, m: int = 3, d: int = 5, k: int = 6, **values: Array) -> TwoLayerNetwork:
    configuration = TwoLayerConfiguration(positions=n, inputs=m, depth=d, classes=k)
    return with_values(TwoLayerNetwork(configuration, dtype=np.float64), values)


def encoder(d0: int = 3, d: int = 5, k: int = 4, **values: Array) -> ClassTokenEncoder:
    configuration = ClassTokenConfiguration(inputs=d0, depth=d, attention_depth=d, classes=k)
    return with_values(ClassTokenEncoder(configuration, dtype=np.float64), values)


def with_values(network: Any, values: Arrays) -> Any:
    """Random parameters, except those given."""
    rng = np.random.default_rng(1)
    network.theta.assign(0.5 * rng.standard_normal(len(network.theta)))
    arrays = dict(network.named_arrays())
    for name, value in values.items():
        arrays[name][...] = value
    return network


def gradients(network: Any, loss: Tensor) -> Arrays:
    gradient = backpropagate(loss, network.theta)
    named = list(network.named_parameters())
    return dict(part for name, p in named for part in p.split(name, network.theta.view(gradient, p)))


def standardized(X: Array) -> Array:
    return (X - X.mean()) / X.std()


# Section 1, forward: with W2 = I and B2 = 0 the logits are the flattened hidden layer itself


def hidden_layer(X: Array, W1: Array, B1: Array) -> Array:
    (d, n), m = B1.shape, W1.shape[1]
    shown = two_layer(n, m, d, d * n, W1=W1, B1=B1, W2=np.eye(d * n), B2=np.zeros(d * n))
    return shown.plain(Batch.pack([X]))[0]


@pytest.mark.ledger("C-1.0-shapes")
def test_two_layer_shapes() -> None:
    network = two_layer(n=4, m=3, d=5, k=6)
    shapes = {name: array.shape for name, array in network.named_arrays()}
    assert shapes == {"W1": (5, 3), "B1": (5, 4), "W2": (6, 20), "B2": (6,)}
    assert network.count() == 5 * 3 + 5 * 4 + 6 * 20 + 6
    assert network(Batch.pack(MATRICES)).shape == (3, 6)


@pytest.mark.ledger("C-1.0-shapes")
@pytest.mark.parametrize("rows", [3, 5])
def test_two_layer_refuses_another_number_of_rows(rows: int) -> None:
    with pytest.raises(ShapeError, match="4 rows"):
        two_layer()(Batch.pack([MATRICES[0], np.ones((rows, 3))]))


@pytest.mark.ledger("C-1.f1-standardise", "C-2.f1-standardise")
def test_each_sample_is_standardised_as_a_whole() -> None:
    rows = standardize_samples(Batch.pack(SEQUENCES))
    for X, start, stop in zip(SEQUENCES, (0, 6, 7), (6, 7, 10), strict=True):
        sample = rows[start:stop]
        assert sample.mean() == pytest.approx(0, abs=1e-15)
        assert sample.std() == pytest.approx(1, abs=1e-15)
        np.testing.assert_allclose(sample * X.std() + X.mean(), X, rtol=0, atol=1e-14)
    assert np.abs(rows[:6].mean(axis=0)).max() > 1e-2  # one mean for the matrix, not one for each column


@pytest.mark.ledger("C-1.f1-standardise", "C-2.f1-standardise")
@pytest.mark.parametrize("network", [two_layer(), encoder()])
def test_networks_do_not_see_shift_and_scale(network: Any) -> None:
    plain, X = network.plain, MATRICES[0]
    np.testing.assert_allclose(plain(Batch.pack([3 * X - 2])), plain(Batch.pack([X])), rtol=0, atol=1e-13)
    assert np.abs(plain(Batch.pack([X * X])) - plain(Batch.pack([X]))).max() > 1e-2


@pytest.mark.ledger("C-1.f1-standardise", "C-2.f1-standardise")
@pytest.mark.parametrize("constant", [0.0, -3.5, 1 / 3, 7.7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_input_becomes_0(constant: float, dtype: type) -> None:
    rows = standardize_samples(Batch.pack([np.full((6, 3), constant, dtype), np.eye(3, dtype=dtype)]))
    np.testing.assert_array_equal(rows[:6], 0)
    assert rows[6:].std() == pytest.approx(1, abs=1e-6)


@pytest.mark.ledger("C-1.f1-standardise")
def test_whole_numbers_are_standardised_like_real_ones() -> None:
    X = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(standardize_samples(Batch.pack([X])), standardize_samples(Batch.pack([X * 1.0])))


@pytest.mark.ledger("C-1.f1-standardise")
def test_labels_are_not_a_matrix() -> None:
    with pytest.raises(ShapeError, match="rows of real numbers"):
        two_layer()(Batch.pack([[1, 2, 3, 4]]))


@pytest.mark.ledger("C-1.f2-a1")
def test_first_layer_value() -> None:
    X = np.array([[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]])  # mean 6, E (X - 6)^2 = 70 / 6
    W1, B1 = np.array([[1.0, 0.5], [-2.0, 1.0]]), np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    unit = math.sqrt(6 / 70)
    # row i of W1 times row j of X - 6: (-5, -3), (-1, 1), (3, 5)
    products = np.array([[-6.5, -0.5, 5.5], [7.0, 3.0, -1.0]])
    np.testing.assert_allclose(hidden_layer(X, W1, B1).reshape(2, 3), products * unit + B1, rtol=1e-14)


@pytest.mark.ledger("C-1.f3-relu")
def test_hidden_layer_is_clipped_at_zero() -> None:
    B1 = np.array([[-2.0, 3.0, 0.0], [0.5, -0.1, -7.0]])
    np.testing.assert_array_equal(hidden_layer(MATRICES[0][:3], np.zeros((2, 3)), B1), [0, 3, 0, 0.5, 0, 0])


@pytest.mark.ledger("C-1.f4-flatten")
def test_hidden_layer_is_flattened_row_by_row() -> None:
    B1 = np.arange(1.0, 7.0).reshape(2, 3)  # unit 1 at positions 1, 2, 3, then unit 2
    np.testing.assert_array_equal(hidden_layer(MATRICES[0][:3], np.zeros((2, 3)), B1), [1, 2, 3, 4, 5, 6])


@pytest.mark.ledger("C-1.f5-a2")
def test_second_layer_value() -> None:
    B1, W2, B2 = np.array([[1.0, 2.0]]), np.array([[3.0, 5.0], [-1.0, 4.0], [0.0, 1.0]]), np.array([0.5, 0.25, -9.0])
    network = two_layer(2, 3, 1, 3, W1=np.zeros((1, 3)), B1=B1, W2=W2, B2=B2)
    np.testing.assert_array_equal(network.plain(Batch.pack([MATRICES[0][:2]])), [[13.5, 7.25, -7.0]])


@pytest.mark.ledger("C-1.f6-id")
def test_output_activation_is_the_identity() -> None:
    B2 = np.array([-1e3, -1.0, 0.0, 0.5, 2.0, 1e3])
    network = two_layer(W2=np.zeros((6, 20)), B2=B2)
    np.testing.assert_array_equal(network.plain(Batch.pack(MATRICES)), np.tile(B2, (3, 1)))


@pytest.mark.ledger("C-1.f7-softmax", "C-1.f8-loss", "C-2.f8-softmax")
@pytest.mark.parametrize("network", [two_layer(), encoder()])
def test_probabilities_and_loss_of_the_true_class(network: Any) -> None:
    logits = network.plain(Batch.pack(MATRICES[:1]))
    s = softmax(logits)[0]
    assert s.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(s, np.exp(logits[0]) / np.exp(logits[0]).sum(), rtol=1e-13)
    loss, hits = cross_entropy(logits, targets=np.array([2]))
    assert float(loss) == pytest.approx(-math.log(s[2]), rel=1e-13)
    assert hits == (s.argmax() == 2)


@pytest.mark.ledger("C-1.composite")
def test_two_layer_in_one_expression() -> None:
    network = two_layer()
    p = dict(network.named_arrays())
    for X, logits in zip(MATRICES, network.plain(Batch.pack(MATRICES)), strict=True):
        nested = p["W2"] @ np.maximum(p["W1"] @ standardized(X).T + p["B1"], 0).flatten() + p["B2"]
        np.testing.assert_allclose(logits, nested, rtol=0, atol=1e-13)
        with pytest.raises(ValueError, match="mismatch"):
            p["W1"] @ X  # as printed


# Section 2, forward


@pytest.mark.ledger("C-2.0-shapes")
def test_encoder_shapes() -> None:
    network = encoder(d0=3, d=5, k=4)
    shapes = {name: array.shape for name, array in network.named_arrays()}
    square = {"W_q": (5, 5), "W_k": (5, 5), "W_v": (5, 5)}
    assert shapes == {"W1": (3, 5), "class_token": (5,), **square, "W2": (5, 4)}
    assert network.count() == 3 * 5 + 5 + 3 * 25 + 5 * 4
    assert network(Batch.pack(SEQUENCES)).shape == (3, 4)


@pytest.mark.ledger("C-2.0-shapes")
def test_residual_needs_equal_depths() -> None:
    with pytest.raises(ConfigurationError, match=r"depth 4 .* attention_depth 5"):
        ClassTokenConfiguration(inputs=3, depth=4, attention_depth=5, classes=4)


@pytest.mark.ledger("C-2.f2-proj", "C-2.f3-cls", "C-2.f6-residual")
def test_uniform_attention_is_a_mean_of_rows() -> None:
    """With W_q = 0 every weight is 1/(n + 1); with W_v = W2 = I what is left is the mean of the rows + the token."""
    eye, token, X = np.eye(5), np.arange(5.0), SEQUENCES[0]
    network = encoder(k=5, W_q=0 * eye, W_v=eye, W2=eye, class_token=token)
    rows = standardized(X) @ dict(network.named_arrays())["W1"]
    expected = (rows.sum(axis=0) + token) / 7 + token
    np.testing.assert_allclose(network.plain(Batch.pack([X]))[0], expected, rtol=0, atol=1e-14)


@pytest.mark.ledger("C-2.f2-proj")
def test_embedding_has_no_bias() -> None:
    """A constant sample is 0 after standardisation, hence 0 after embedding: only the class token speaks."""
    eye = np.eye(5)
    network = encoder(k=5, W_q=0 * eye, W_v=eye, W2=eye, class_token=np.arange(5.0))
    found = network.plain(Batch.pack([np.full((3, 3), 2.0)]))[0]
    np.testing.assert_allclose(found, np.arange(5.0) * (1 / 4 + 1), rtol=1e-15)


@pytest.mark.ledger("C-2.f3-cls", "C-2.f7-head")
def test_class_token_is_the_last_row_of_every_sample() -> None:
    """Without attention to values, what is classified is exactly the row the head reads."""
    token = np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    network = encoder(k=5, W_v=np.zeros((5, 5)), W2=np.eye(5), class_token=token)
    np.testing.assert_array_equal(network.plain(Batch.pack(SEQUENCES)), np.tile(token, (3, 1)))
    rows = network(Batch.pack(SEQUENCES)).node.inputs[0]
    assert rows.node.name == "take_rows"
    h2 = rows.node.inputs[0].value
    np.testing.assert_array_equal(h2[[6, 8, 12]], np.tile(token, (3, 1)))


def logits_by_loops(X: Array, p: Arrays, scale: float = 1.0) -> list[float]:
    """(1) to (7) with one number at a time."""
    mean = sum(map(float, X.flat)) / X.size
    deviation = math.sqrt(sum((float(x) - mean) ** 2 for x in X.flat) / X.size)
    rows = [[(x - mean) / deviation for x in row] for row in X.tolist()]
    rows = [times(row, p["W1"]) for row in rows] + [p["class_token"].tolist()]
    query = times(rows[-1], p["W_q"])
    scores = [scale * sum(a * b for a, b in zip(query, times(row, p["W_k"]), strict=True)) for row in rows]
    total = sum(math.exp(score) for score in scores)
    h2 = rows[-1]
    for score, row in zip(scores, rows, strict=True):
        value = times(row, p["W_v"])
        h2 = [h + math.exp(score) / total * v for h, v in zip(h2, value, strict=True)]
    return times(h2, p["W2"])


def times(row: list[float], matrix: Array) -> list[float]:
    return [sum(x * w for x, w in zip(row, column, strict=True)) for column in matrix.T.tolist()]


@pytest.mark.ledger("C-2.f1-standardise", "C-2.f2-proj", "C-2.f4-qkv", "C-2.f5-attn", "C-2.f6-residual", "C-2.f7-head")
def test_encoder_by_loops_unscaled() -> None:
    network = encoder(d=4)
    arrays = dict(network.named_arrays())
    for X, logits in zip(SEQUENCES, network.plain(Batch.pack(SEQUENCES)), strict=True):
        np.testing.assert_allclose(logits, logits_by_loops(X, arrays), rtol=0, atol=1e-13)
        scaled = np.array(logits_by_loops(X, arrays, scale=0.5))  # 1 / sqrt(d2)
        assert X.size == 3 or np.abs(logits - scaled).max() > 1e-3


@pytest.mark.ledger("C-2.f5-attn")
def test_attention_is_saturated_where_scaling_would_not() -> None:
    """The token scores 40 with itself, 0 with the others (X is constant): they weigh e^-40, scaled they would e^-20."""
    eye = np.eye(4)
    token = np.array([math.sqrt(40.0), 0, 0, 0])
    network = encoder(d=4, W_q=eye, W_k=eye, W_v=eye, W2=eye, class_token=token)
    found = network.plain(Batch.pack([np.ones((2, 3))]))[0, 0] / token[0] - 1
    assert 1 - found == pytest.approx(2 * math.exp(-40), abs=1e-15)


@pytest.mark.ledger("C-2.f4-qkv")
def test_queries_keys_and_values_have_no_bias() -> None:
    """A class token of 0 asks 0 of every row: uniform attention, whatever the three matrices are."""
    network = encoder(class_token=np.zeros(5))
    p = dict(network.named_arrays())
    expected = (standardized(SEQUENCES[0]) @ p["W1"] @ p["W_v"]).sum(axis=0) / 7 @ p["W2"]
    np.testing.assert_allclose(network.plain(Batch.pack(SEQUENCES[:1]))[0], expected, rtol=0, atol=1e-14)


@pytest.mark.ledger("C-2.f7-head")
def test_only_the_class_row_and_its_query_reach_the_loss() -> None:
    """Rows 1 to n of h2 and of Q have derivative exactly 0; all rows of K and V matter."""
    logits = encoder()(Batch.pack(SEQUENCES[:1]))
    h2 = logits.node.inputs[0].node.inputs[0]
    qkv = h2.node.inputs[0].node.inputs[0]
    assert (h2.node.name, qkv.node.name, qkv.shape) == ("add", "linear", (7, 15))
    loss, _ = cross_entropy(logits, targets=TARGETS[:1])
    dh2, dqkv = backpropagate(loss, [h2, qkv])
    dq, dk, dv = np.split(dqkv, 3, axis=1)
    np.testing.assert_array_equal(dh2[:6], 0)
    np.testing.assert_array_equal(dq[:6], 0)
    for used in (dh2[6:], dq[6:], dk, dv):
        assert np.abs(used).max(axis=1).min() > 1e-6


@pytest.mark.ledger("C-2.f9-loss")
def test_loss_is_cross_entropy_over_the_number_of_classes() -> None:
    network, y = encoder(), np.eye(4)[2]
    logits = network.plain(Batch.pack(SEQUENCES[:1]))
    whole, _ = cross_entropy(logits, targets=np.array([2]))
    share, _ = cross_entropy(logits, targets=np.array([2]), total=4)
    assert float(share) == pytest.approx(float(whole) / 4, rel=1e-15)
    sheets = class_token_gradients(SEQUENCES[0], **dict(network.named_arrays()), y=y)["loss"]
    assert float(share) == pytest.approx(float(sheets), rel=1e-14)


def composite(X: Array, p: Arrays, left_out: str) -> float:
    """The sheet's last line of section 2, forward, with or without what it does not mention; y = e_2."""
    h0 = X if "standardisation" in left_out else standardized(X)
    rows = np.vstack((h0 @ p["W1"], p["class_token"]))
    S = softmax(rows @ p["W_q"] @ (rows @ p["W_k"]).T)
    attended = S @ rows @ p["W_v"] if "residual" in left_out else S @ rows @ p["W_v"] + rows
    loss = -math.log(softmax(attended @ p["W2"])[-1, 2])
    return loss if "share" in left_out else loss / 4


@pytest.mark.ledger("C-2.composite")
def test_composite_line_leaves_three_things_out() -> None:
    network = encoder()
    p = dict(network.named_arrays())
    loss, _ = cross_entropy(network.plain(Batch.pack(SEQUENCES[:1])), targets=np.array([2]), total=4)
    assert composite(SEQUENCES[0], p, left_out="") == pytest.approx(float(loss), rel=1e-13)
    for left_out in ("standardisation", "residual", "share", "standardisation, residual, share"):
        assert abs(composite(SEQUENCES[0], p, left_out) - float(loss)) > 1e-2, left_out


@pytest.mark.ledger("C-2.composite")
def test_class_token_in_a_dense_batch() -> None:
    """[:, n + 1, :] of a batch of equal lengths, batch axis first, is the row the packed network reads."""
    network = encoder()
    p = dict(network.named_arrays())
    samples = np.array(MATRICES)
    h0 = np.array([standardized(X) for X in samples])
    rows = np.concatenate((h0 @ p["W1"], np.broadcast_to(p["class_token"], (3, 1, 5))), axis=1)
    S = softmax(rows @ p["W_q"] @ (rows @ p["W_k"]).transpose(0, 2, 1))
    h2 = S @ (rows @ p["W_v"]) + rows
    found = network.plain(Batch.pack(list(samples)))
    np.testing.assert_allclose(found, h2[:, 4, :] @ p["W2"], rtol=0, atol=1e-13)


# Backward: the graph against the closed forms, summed over a batch, and against torch


@pytest.mark.ledger("C-1.b1-b2", "C-1.b3-W2", "C-1.b4", "C-1.b5-W1", "C-1.b6-B2", "C-1.b7-B1")
def test_two_layer_gradient_is_the_mean_of_closed_forms() -> None:
    network = two_layer()
    p = dict(network.named_arrays())
    loss, _ = cross_entropy(network(Batch.pack(MATRICES)), targets=TARGETS)
    found = gradients(network, loss)
    single = [two_layer_gradients(X, **p, y=np.eye(6)[t]) for X, t in zip(MATRICES, TARGETS, strict=True)]
    assert float(loss) == pytest.approx(np.mean([g["loss"] for g in single]), rel=1e-14)
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, np.mean([g[name] for g in single], axis=0), rtol=0, atol=1e-14)


@pytest.mark.ledger("C-2.b1-W2", "C-2.b2-Wv", "C-2.b3-alpha", "C-2.b6-Wk", "C-2.b8-Wq", "C-2.b11-cls", "C-2.b12-W1")
def test_encoder_gradient_is_the_mean_of_closed_forms() -> None:
    network = encoder()
    p = dict(network.named_arrays())
    loss, _ = cross_entropy(network(Batch.pack(SEQUENCES)), targets=TARGETS, total=3 * 4)
    found = gradients(network, loss)
    single = [class_token_gradients(X, **p, y=np.eye(4)[t]) for X, t in zip(SEQUENCES, TARGETS, strict=True)]
    assert float(loss) == pytest.approx(np.mean([g["loss"] for g in single]), rel=1e-14)
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, np.mean([g[name] for g in single], axis=0), rtol=0, atol=1e-14)


def torch_parameters(network: Any) -> dict[str, torch.Tensor]:
    arrays = network.named_arrays()
    return {name: torch.tensor(np.ascontiguousarray(array), requires_grad=True) for name, array in arrays}


def torch_standardized(X: Array) -> torch.Tensor:
    x = torch.tensor(X)
    return (x - x.mean()) / x.std(correction=0)


def torch_two_layer(X: Array, p: dict[str, torch.Tensor]) -> torch.Tensor:
    h1 = functional.relu(functional.linear(torch_standardized(X), p["W1"]).T + p["B1"])
    return functional.linear(h1.flatten(), p["W2"], p["B2"])


def torch_encoder(X: Array, p: dict[str, torch.Tensor]) -> torch.Tensor:
    rows = torch.cat((torch_standardized(X) @ p["W1"], p["class_token"][None, :]))
    q, k, v = (rows @ p[name] for name in ("W_q", "W_k", "W_v"))
    attended = functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=1.0)[0]
    return (attended + rows)[-1] @ p["W2"]


@pytest.mark.ledger("C-1.b3-W2", "C-1.b5-W1", "C-1.b6-B2", "C-1.b7-B1")
@pytest.mark.ledger("C-2.b1-W2", "C-2.b2-Wv", "C-2.b6-Wk", "C-2.b8-Wq", "C-2.b11-cls", "C-2.b12-W1")
@pytest.mark.parametrize(
    ("network", "samples", "reference", "share"),
    [(two_layer(), MATRICES, torch_two_layer, 1), (encoder(), SEQUENCES, torch_encoder, 4)],
)
def test_gradients_agree_with_torch(network: Any, samples: list[Array], reference: Any, share: int) -> None:
    parameters = torch_parameters(network)
    logits = torch.stack([reference(X, parameters) for X in samples])
    expected = functional.cross_entropy(logits, torch.tensor(TARGETS)) / share
    expected.backward()

    found = network(Batch.pack(samples))
    np.testing.assert_allclose(found.value, logits.detach().numpy(), rtol=0, atol=1e-10)
    loss, _ = cross_entropy(found, targets=TARGETS, total=3 * share)
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-10)
    for name, gradient in gradients(network, loss).items():
        torchs = parameters[name].grad
        assert torchs is not None
        assert torchs.abs().max() > 1e-4, name
        np.testing.assert_allclose(gradient, torchs.numpy(), rtol=0, atol=1e-10, err_msg=name)
