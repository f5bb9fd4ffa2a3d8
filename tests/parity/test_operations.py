"""Parity with PyTorch: the same values and the same gradients, for every operation it has."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from dragoman import operations as ours
from dragoman.graph import Tensor, backpropagate
from dragoman.operations import Padding
from tests.strategies import generators, labels, loss_weights, offsets, sizes

torch.set_num_threads(1)

TOLERANCE = {np.float64: 1e-10, np.float32: 2e-4}
both_precisions = pytest.mark.parametrize("dtype", TOLERANCE)
# A gradient that is zero (one key, one class) or vanishes (a saturated slope 1 - y^2) has nothing to be relative to:
# smaller references count as this large, so that a few roundings of a number near 1 pass.
FLOOR = {np.float64: 1e-3, np.float32: 1e-2}

ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": functional.relu,
    "logistic": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
}


def assert_parity(mine, reference, arrays, dtype, seed=0):
    """Values and all gradients of sum(c * y), c random: largest difference over largest reference."""
    arrays = [x.astype(dtype) for x in arrays]
    leaves, variables = [Tensor(x) for x in arrays], [torch.tensor(x, requires_grad=True) for x in arrays]
    y, expected = mine(*leaves), reference(*variables)
    c = np.asarray(np.random.default_rng(seed).uniform(0.5, 1.5, y.shape), dtype)
    gradients = backpropagate(y, leaves, [c])
    (expected * torch.tensor(c)).sum().backward()
    pairs = {"value": (y.value, expected.detach().numpy())}
    pairs |= {f"gradient {i}": (g, v.grad.numpy()) for i, (g, v) in enumerate(zip(gradients, variables, strict=True))}
    for name, (found, wanted) in pairs.items():
        assert found.shape == wanted.shape, name
        error = np.abs(found - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), FLOOR[dtype])
        assert error <= TOLERANCE[dtype], f"{name}: {error:.1e}"


def normal(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]


def test_every_activation_is_compared():
    assert set(ACTIVATIONS) == set(ours.ACTIVATIONS)


@both_precisions
@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(rng=generators(), n=sizes(1, 6), d=sizes(1, 6), k=sizes(1, 6), biases=st.booleans(), transposed=st.booleans())
def test_linear(dtype, activation, rng, n, d, k, biases, transposed):
    def reference(x, weights, biases=None):
        c = functional.linear(x, weights if transposed else weights.T, biases)
        return ACTIVATIONS[activation](c)

    assert_parity(
        lambda *inputs: ours.linear(*inputs, activation=activation, transposed=transposed),
        reference,
        [x * d**-0.5 for x in normal(rng, (n, d), (k, d) if transposed else (d, k), *([(k,)] if biases else []))],
        dtype,
    )


@both_precisions
@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(rng=generators(), shape=st.lists(sizes(), min_size=1, max_size=3).map(tuple))
def test_activate(dtype, activation, rng, shape):
    mine = lambda x: ours.activate(x, activation=activation)  # noqa: E731
    assert_parity(mine, ACTIVATIONS[activation], normal(rng, shape), dtype)


@both_precisions
@given(rng=generators(), shape=st.lists(sizes(), min_size=1, max_size=3).map(tuple))
def test_clip_values(dtype, rng, shape):
    assert_parity(lambda x: ours.clip_values(x, limit=0.7), lambda x: x.clamp(-0.7, 0.7), normal(rng, shape), dtype)


@both_precisions
@given(data=st.data(), rng=generators(), n=sizes(1, 8), v=sizes(1, 5), d=sizes(1, 5))
def test_embed(dtype, data, rng, n, v, d):
    words, positions = data.draw(labels(n, v)), data.draw(labels(n, 3))

    def reference(table, codes):
        rows = functional.embedding(torch.tensor(words), table) * d**0.5
        return rows + functional.embedding(torch.tensor(positions), codes)

    def mine(table, codes):
        return ours.embed(table, codes, labels=words, positions=positions, scale=d**0.5)

    assert_parity(mine, reference, normal(rng, (v, d), (3, d)), dtype)


@both_precisions
@given(rng=generators(), n=sizes(1, 6), d=sizes(3, 8))
def test_layer_norm(dtype, rng, n, d):
    def reference(x, gamma, beta):
        return functional.layer_norm(x, (d,), gamma, beta, eps=1e-5)

    assert_parity(
        lambda x, gamma, beta: ours.normalize(x, gamma, beta, form="inside", epsilon=1e-5),
        reference,
        normal(rng, (n, d), (d,), (d,)),
        dtype,
    )
    assert_parity(
        lambda update, residual, gamma, beta: ours.add_normalize(update, residual, gamma, beta, epsilon=1e-5)[1],
        lambda update, residual, gamma, beta: reference(update + residual, gamma, beta),
        normal(rng, (n, d), (n, d), (d,), (d,)),
        dtype,
    )


@both_precisions
@given(rng=generators(), shape=st.lists(sizes(1, 5), min_size=1, max_size=3).map(tuple))
def test_softmax(dtype, rng, shape):
    assert_parity(ours.softmax, lambda x: torch.softmax(x, -1), normal(rng, shape), dtype)


@both_precisions
@given(data=st.data(), rng=generators(), n=sizes(1, 8), v=sizes(2, 8), smoothing=st.sampled_from((0.0, 0.1)))
def test_cross_entropy(dtype, data, rng, n, v, smoothing):
    targets, weights = data.draw(labels(n, v)), data.draw(st.one_of(st.none(), loss_weights(n)))

    def reference(logits):
        losses = functional.cross_entropy(logits, torch.tensor(targets), reduction="none", label_smoothing=smoothing)
        w = torch.ones(n, dtype=logits.dtype) if weights is None else torch.tensor(weights, dtype=logits.dtype)
        return (w * losses).sum() / w.sum()

    def mine(logits):
        return ours.cross_entropy(logits, targets=targets, weights=weights, smoothing=smoothing)[0]

    assert_parity(mine, reference, [3 * x for x in normal(rng, (n, v))], dtype)


@both_precisions
@given(rng=generators(), shape=st.lists(sizes(1, 6), min_size=1, max_size=3).map(tuple))
def test_mean_squared_error(dtype, rng, shape):
    targets = rng.standard_normal(shape).astype(dtype)
    assert_parity(
        lambda y: ours.mean_squared_error(y, targets=targets),
        lambda y: functional.mse_loss(y, torch.tensor(targets)),
        normal(rng, shape),
        dtype,
    )


@both_precisions
@given(rng=generators(), shape=st.lists(sizes(1, 6), min_size=1, max_size=3).map(tuple))
def test_log_error(dtype, rng, shape):
    targets = rng.choice((0.0, 1.0, 0.3), shape).astype(dtype)
    assert_parity(
        lambda y: ours.log_error(y, targets=targets)[0],
        lambda y: functional.binary_cross_entropy(y, torch.tensor(targets)),
        [rng.uniform(0.05, 0.95, shape)],
        dtype,
    )


@both_precisions
@given(rng=generators(), shape=st.lists(sizes(1, 6), min_size=1, max_size=3).map(tuple))
def test_logistic_log_error(dtype, rng, shape):
    targets = rng.choice((0.0, 1.0, 0.3), shape).astype(dtype)
    assert_parity(
        lambda z: ours.logistic_log_error(z, targets=targets)[0],
        lambda z: functional.binary_cross_entropy_with_logits(z, torch.tensor(targets)),
        [rng.normal(0, 10, shape)],
        dtype,
    )


def without_hits(error):
    return lambda *inputs, **options: error(*inputs, **options)[0]


@both_precisions
@given(rng=generators(), n=sizes(1, 6), k=sizes(1, 4))
def test_weighted_errors(dtype, rng, n, k):
    targets, weights = rng.choice((0.0, 1.0), (n, k)).astype(dtype), rng.uniform(0.1, 2, n).astype(dtype)
    for mine, theirs in (
        (ours.mean_squared_error, functional.mse_loss),
        (without_hits(ours.log_error), functional.binary_cross_entropy),
        (without_hits(ours.logistic_log_error), functional.binary_cross_entropy_with_logits),
    ):

        def reference(y, error=theirs):
            each = error(y, torch.tensor(targets), reduction="none").mean(dim=1)
            return (torch.tensor(weights) * each).sum() / torch.tensor(weights).sum()

        assert_parity(
            lambda y, error=mine: error(y, targets=targets, weights=weights),
            reference,
            [rng.uniform(0.05, 0.95, (n, k))],
            dtype,
        )


def padded_attention(q, k, v, bias, starts, memory, heads, causal):
    """PyTorch's own attention on padded heads, its result packed again; `bias` [h, R] or None."""
    inputs, context = Padding.of(starts), Padding.of(memory)

    def pad(rows, padding):
        full = rows.new_zeros(padding.batch * padding.length, rows.shape[1])
        full = full.index_copy(0, places(padding), rows)
        return full.reshape(padding.batch, padding.length, heads, -1).transpose(1, 2)

    def places(padding):
        valid = np.ones((padding.batch, padding.length), bool) if padding.valid is None else padding.valid
        return torch.tensor(np.flatnonzero(valid))

    allowed = torch.zeros(context.batch * context.length, dtype=torch.bool)
    allowed[places(context)] = True
    allowed = allowed.reshape(context.batch, 1, 1, context.length).expand(-1, 1, inputs.length, -1)
    if causal:
        allowed = allowed & torch.ones(inputs.length, context.length, dtype=torch.bool).tril()
    mask = allowed
    if bias is not None:
        reach = bias.shape[1] // 2
        distance = torch.arange(context.length)[None, :] - torch.arange(inputs.length)[:, None]
        mask = bias[:, distance.clip(-reach, reach) + reach].masked_fill(~allowed, -torch.inf)
    y = functional.scaled_dot_product_attention(pad(q, inputs), pad(k, context), pad(v, context), attn_mask=mask)
    return y.transpose(1, 2).reshape(inputs.batch * inputs.length, -1)[places(inputs)]


@st.composite
def batches(draw):
    """Ragged sequences, each with something to look at (PyTorch gives NaN otherwise), and the number of heads."""
    starts = draw(offsets(low=1, high=6))
    memory = draw(st.one_of(st.just(starts), offsets(count=len(starts) - 1, low=1, high=6)))
    return starts, memory, draw(st.sampled_from((1, 2, 4)))


@both_precisions
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("distances", [0, 5])
@given(rng=generators(), batch=batches(), width=sizes(1, 3), value_width=sizes(1, 3))
def test_attend(dtype, causal, distances, rng, batch, width, value_width):
    starts, memory, heads = batch
    d, e = heads * width, heads * value_width
    shapes = [(starts[-1], d), (memory[-1], d), (memory[-1], e), *([(heads, distances)] if distances else [])]
    assert_parity(
        lambda *x: ours.attend(*x, offsets=starts, memory_offsets=memory, heads=heads, causal=causal),
        lambda q, k, v, bias=None: padded_attention(q, k, v, bias, starts, memory, heads, causal),
        normal(rng, *shapes),
        dtype,
    )


@both_precisions
@given(rng=generators(), batch=batches())
def test_attend_self_and_cross(dtype, rng, batch):
    starts, memory, heads = batch
    assert_parity(
        lambda qkv: ours.attend_self(qkv, offsets=starts, heads=heads, causal=True),
        lambda qkv: padded_attention(*qkv.chunk(3, dim=1), None, starts, starts, heads, True),
        normal(rng, (starts[-1], 12)),
        dtype,
    )
    assert_parity(
        lambda q, kv: ours.attend_cross(q, kv, offsets=starts, memory_offsets=memory, heads=heads),
        lambda q, kv: padded_attention(q, *kv.chunk(2, dim=1), None, starts, memory, heads, False),
        normal(rng, (starts[-1], 4), (memory[-1], 8)),
        dtype,
    )


@both_precisions
@given(rng=generators(), starts=offsets(low=1, high=5), d=sizes(1, 4))
def test_pooling(dtype, rng, starts, d):
    def each(function):
        return lambda x, *rest: torch.stack([function(rows, *rest) for rows in x.split(np.diff(starts).tolist())])

    def attended(rows, query):
        return (rows @ query).softmax(dim=0) @ rows

    x, query = normal(rng, (starts[-1], d), (d,))
    assert_parity(lambda x: ours.mean_rows(x, offsets=starts), each(lambda rows: rows.mean(dim=0)), [x], dtype)
    assert_parity(lambda x: ours.max_rows(x, offsets=starts), each(lambda rows: rows.max(dim=0).values), [x], dtype)
    assert_parity(lambda x, q: ours.attention_pool(x, q, offsets=starts), each(attended), [x, query], dtype)
