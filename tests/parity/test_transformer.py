"""The whole Transformer beside the same weights in plain PyTorch: padded, masked and differentiated by autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from dragoman.batch import Batch
from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.layers import CrossAttention, ForwardContext, Initializer, SelfAttention
from dragoman.networks import Transformer, TransformerConfiguration
from dragoman.operations import cross_entropy

Weights = dict[str, torch.Tensor]
TOLERANCE = {np.float64: 1e-10, np.float32: 2e-4}
VOCABULARY = 11


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# --- the reference: nothing here comes from the package ---------------------------------------------------------------


def padded(sequences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels [B, T] filled up with 0, and which of them are real."""
    longest = max(map(len, sequences))
    labels = torch.tensor([sequence + [0] * (longest - len(sequence)) for sequence in sequences])
    return labels, torch.tensor([[j < len(sequence) for j in range(longest)] for sequence in sequences])


def attention(w: Weights, name: str, x: torch.Tensor, context: torch.Tensor, real: torch.Tensor, **o: Any) -> Any:
    batch, _, depth = x.shape

    def project(part: str, rows: torch.Tensor) -> torch.Tensor:
        y = F.linear(rows, w[f"{name}.{part}.weights"].T, w.get(f"{name}.{part}.biases"))
        return y.view(batch, -1, o["heads"], depth // o["heads"]).transpose(1, 2)

    q, k, v = project("query", x), project("key", context), project("value", context)
    scores = q @ k.transpose(2, 3) / (depth // o["heads"]) ** 0.5
    bias = w.get(f"{name}.distance_bias")
    if bias is not None:
        reach = bias.shape[1] // 2
        distance = torch.arange(k.shape[2])[None, :] - torch.arange(q.shape[2])[:, None]
        scores = scores + bias[:, distance.clamp(-reach, reach) + reach]
    scores = scores.masked_fill(~real[:, None, None, :], float("-inf"))
    if o.get("causal"):
        future = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(x.shape)
    return F.linear(y, w[f"{name}.projection.weights"].T, w.get(f"{name}.projection.biases"))


def normalized(w: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.gamma"], w[f"{name}.beta"], eps=1e-5)


def perceptron(w: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    hidden = F.relu(F.linear(x, w[f"{name}.hidden.weights"].T, w[f"{name}.hidden.biases"]))
    return F.linear(hidden, w[f"{name}.output.weights"].T, w[f"{name}.output.biases"])


def stack(w: Weights, name: str, c: TransformerConfiguration, x: torch.Tensor, steps: Any) -> torch.Tensor:
    for i in range(c.layers):
        for step, function in steps.items():
            block, norm = f"{name}.{i}.{step}", f"{name}.{i}.{step}_normalization"
            if c.block == "pre":
                x = x + function(block, normalized(w, norm, x))
            else:
                x = normalized(w, norm, x + function(block, x))
    return normalized(w, f"{name}_normalization", x) if c.block == "pre" else x


def embedded(w: Weights, name: str, c: TransformerConfiguration, labels: torch.Tensor) -> torch.Tensor:
    table = w.get(f"{name}.table", w["source_embedding.table"])
    x = F.embedding(labels, table) * c.depth**0.5
    if c.positions == "relative":
        return x
    if c.positions == "learned":
        return x + w[f"{name}.position_table"][: labels.shape[1]]
    angles = torch.arange(labels.shape[1])[:, None] / 10_000.0 ** (torch.arange(0, c.depth, 2).double() / c.depth)
    return x + torch.cat((angles.sin(), angles.cos()), dim=1).to(x.dtype)


def reference_logits(w: Weights, c: TransformerConfiguration, sources: Any, references: Any) -> torch.Tensor:
    """[N, V]: logits of the real positions."""
    source, source_real = padded(sources)
    reference, real = padded([r[:-1] for r in references])
    memory = stack(
        w,
        "encoder",
        c,
        embedded(w, "source_embedding", c, source),
        {
            "self_attention": lambda name, x: attention(w, name, x, x, source_real, heads=c.heads),
            "perceptron": lambda name, x: perceptron(w, name, x),
        },
    )
    x = stack(
        w,
        "decoder",
        c,
        embedded(w, "reference_embedding", c, reference),
        {
            "self_attention": lambda name, x: attention(w, name, x, x, real, heads=c.heads, causal=True),
            "cross_attention": lambda name, x: attention(w, name, x, memory, source_real, heads=c.heads),
            "perceptron": lambda name, x: perceptron(w, name, x),
        },
    )
    own = w.get("reference_embedding.table", w["source_embedding.table"])
    output = w["output.weights"].T if c.tied == "none" else own
    return F.linear(x, output, w["output.biases"])[real]


# --- the comparison ---------------------------------------------------------------------------------------------------


def assert_close(name: str, found: Array, expected: torch.Tensor, tolerance: float) -> None:
    """Largest difference over largest reference; the gradient of a key bias is 0 and is compared absolutely.

    What nearly cancels has the rounding errors of what it is a sum of, so no reference counts as below 1e-3.
    """
    target = expected.detach().numpy()
    assert found.shape == target.shape, name
    scale = 1.0 if "key.biases" in name else max(1e-3, np.abs(target).max())
    assert np.abs(found - target).max() <= tolerance * scale, name


def torch_weights(layer: Any) -> Weights:
    return {name: torch.tensor(np.ascontiguousarray(view), requires_grad=True) for name, view in layer.named_arrays()}


def scatter(layer: Any) -> None:
    rng = np.random.default_rng(8)
    for parameter in layer.parameters():
        parameter.value[...] += rng.normal(0, 0.2, parameter.shape)


@st.composite
def ragged_pairs(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    label = st.integers(1, VOCABULARY - 1)
    pairs = draw(
        st.lists(
            st.tuples(st.lists(label, min_size=1, max_size=6), st.lists(label, min_size=2, max_size=7)),
            min_size=1,
            max_size=4,
        )
    )
    return [source for source, _ in pairs], [reference for _, reference in pairs]


def compare(c: TransformerConfiguration, dtype: Any, sources: Any, references: Any) -> None:
    network = Transformer(c, dtype=dtype)
    scatter(network)
    batch = Batch.pairs(sources, references)
    logits = network(batch)
    loss, _ = cross_entropy(logits, targets=batch.targets, weights=batch.loss_weights)
    gradient = backpropagate(loss, network.theta)

    weights = torch_weights(network)
    expected = reference_logits(weights, c, sources, references)
    expected_loss = F.cross_entropy(expected, torch.tensor([label for r in references for label in r[1:]]))
    expected_loss.backward()

    tolerance = TOLERANCE[dtype]
    assert_close("logits", value_of(logits), expected, tolerance)
    assert_close("loss", value_of(loss), expected_loss, tolerance)
    for name, parameter in network.named_parameters():
        for part, view in parameter.split(name, network.theta.view(gradient, parameter)):
            assert_close(part, view, weights[part].grad, tolerance)


@pytest.mark.ledger("T-3.2-encdec", "T-3.2-tau", "B-7.31eq", "B-7.33eq", "L-43-prenorm")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tied", ["none", "output", "all"])
@pytest.mark.parametrize("block", ["post", "pre"])
@settings(max_examples=6)
@given(pairs=ragged_pairs(), heads=st.sampled_from([1, 2, 4]), hidden=st.integers(1, 20))
def test_loss_logits_and_every_gradient(
    block: Any, tied: Any, layers: int, dtype: Any, pairs: Any, heads: int, hidden: int
) -> None:
    c = TransformerConfiguration(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        depth=8,
        perceptron_depth=hidden,
        heads=heads,
        layers=layers,
        block=block,
        tied=tied,
    )
    compare(c, dtype, *pairs)


@pytest.mark.ledger("L-50-learnedpos")
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("positions", ["learned", "relative"])
@settings(max_examples=6)
@given(pairs=ragged_pairs(), reach=st.integers(1, 4))
def test_positions_with_parameters(positions: Any, biases: bool, pairs: Any, reach: int) -> None:
    c = TransformerConfiguration(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        depth=8,
        perceptron_depth=5,
        heads=2,
        positions=positions,
        maximum_length=6,
        relative_reach=reach,
        attention_biases=biases,
    )
    compare(c, np.float64, *pairs)


def multihead(layer: Any, heads: int) -> torch.nn.MultiheadAttention:
    """torch's own layer with our weights, which it stores transposed and one below the other."""
    a = dict(layer.named_arrays())
    theirs = torch.nn.MultiheadAttention(8, heads, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(np.vstack([a[f"{p}.weights"].T for p in ("query", "key", "value")])))
        theirs.in_proj_bias.copy_(torch.tensor(np.hstack([a[f"{p}.biases"] for p in ("query", "key", "value")])))
        theirs.out_proj.weight.copy_(torch.tensor(a["projection.weights"].T.copy()))
        theirs.out_proj.bias.copy_(torch.tensor(a["projection.biases"]))
    return theirs


def compare_multihead(layer: Any, theirs: Any, y: Any, expected: torch.Tensor, inputs: Any, theirs_inputs: Any) -> None:
    """Values, and the derivatives of sum(c * y) by the inputs and every parameter."""
    c = np.random.default_rng(3).standard_normal(y.shape)
    assert_close("output", value_of(y), expected, 1e-10)
    parameters = list(layer.named_parameters())
    gradients = backpropagate([y], [*inputs, *(parameter for _, parameter in parameters)], [c])
    (expected * torch.tensor(c)).sum().backward()
    for found, tensor in zip(gradients[: len(inputs)], theirs_inputs, strict=True):
        assert_close("input", found, tensor.grad.reshape(found.shape), 1e-10)
    found_by_name = {
        part: view
        for (name, parameter), gradient in zip(parameters, gradients[len(inputs) :], strict=True)
        for part, view in parameter.split(name, gradient)
    }
    for i, part in enumerate(("query", "key", "value")):
        rows = slice(8 * i, 8 * (i + 1))
        assert_close(part, found_by_name[f"{part}.weights"], theirs.in_proj_weight.grad[rows].T, 1e-10)
        assert_close(f"{part}.biases", found_by_name[f"{part}.biases"], theirs.in_proj_bias.grad[rows], 1e-10)
    assert_close("projection", found_by_name["projection.weights"], theirs.out_proj.weight.grad.T, 1e-10)
    assert_close("projection", found_by_name["projection.biases"], theirs.out_proj.bias.grad, 1e-10)


@pytest.mark.ledger("T-3.2-II-layer")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 4])
def test_self_attention_beside_torchs(heads: int, causal: bool) -> None:
    layer = SelfAttention(8, heads, Initializer(0, np.float64), causal=causal)
    scatter(layer)
    x = Tensor(np.random.default_rng(0).standard_normal((10, 8)))
    theirs, their_x = multihead(layer, heads), torch.tensor(x.value.reshape(2, 5, 8), requires_grad=True)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
    expected, _ = theirs(their_x, their_x, their_x, attn_mask=mask, need_weights=False)
    y = layer(x, np.array([0, 5, 10]), ForwardContext())
    compare_multihead(layer, theirs, y, expected.reshape(10, 8), [x], [their_x])


@pytest.mark.ledger("T-3.2-II-layer", "T-3.2-II-self-cross", "B-7.33eq")
@pytest.mark.parametrize("heads", [1, 4])
def test_cross_attention_beside_torchs(heads: int) -> None:
    """Two queries of three positions, memories of four and of two: torch masks what pads the second."""
    layer = CrossAttention(8, heads, Initializer(0, np.float64))
    scatter(layer)
    rng = np.random.default_rng(0)
    x, memory = Tensor(rng.standard_normal((6, 8))), Tensor(rng.standard_normal((6, 8)))
    theirs, their_x = multihead(layer, heads), torch.tensor(x.value.reshape(2, 3, 8), requires_grad=True)
    their_memory = torch.tensor(memory.value, requires_grad=True)
    long, short = their_memory[:4], torch.cat((their_memory[4:], torch.zeros(2, 8, dtype=torch.float64)))
    context = torch.stack((long, short))
    ignored = torch.tensor([[False] * 4, [False, False, True, True]])
    expected, _ = theirs(their_x, context, context, key_padding_mask=ignored, need_weights=False)
    y = layer(x, memory, np.array([0, 3, 6]), np.array([0, 4, 6]), ForwardContext())
    compare_multihead(layer, theirs, y, expected.reshape(6, 8), [x, memory], [their_x, their_memory])
