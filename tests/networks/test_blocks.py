"""Both published block orders, written out line by line with plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_networks import RAGGED, logits_of, small_transformer, split

from dragoman.graph import Array
from dragoman.networks import Transformer

Arrays = dict[str, Array]


def parts(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(f"{prefix}."): a for name, a in arrays.items() if name.startswith(f"{prefix}.")}


def norm(x: Array, a: Arrays) -> Array:
    """LayerNorm(z) = gamma (z - mu) / sqrt(sigma^2 + eps) + beta"""
    return a["gamma"] * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) + a["beta"]


def perceptron(x: Array, a: Arrays) -> Array:
    hidden = np.maximum(x @ a["hidden.weights"] + a["hidden.biases"], 0)
    return hidden @ a["output.weights"] + a["output.biases"]


def attention(x: Array, context: Array, a: Arrays, heads: int = 2, causal: bool = False) -> Array:
    q, k, v = (
        np.stack(np.split(rows @ a[f"{part}.weights"] + a[f"{part}.biases"], heads, axis=1))
        for part, rows in (("query", x), ("key", context), ("value", context))
    )
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    if causal:
        scores[:, np.arange(len(x))[:, None] < np.arange(len(x))] = -np.inf
    weights = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    return np.concatenate(list(weights @ v), axis=1) @ a["projection.weights"] + a["projection.biases"]


def encoder_block(x: Array, a: Arrays, pre: bool) -> Array:
    sub = {name: parts(a, name) for name in ("self_attention", "perceptron")}
    norms = {name: parts(a, f"{name}_normalization") for name in sub}
    if pre:  # lecture: Y = X + MHSA(LN(X)), X' = Y + MLP(LN(Y))
        xbar = norm(x, norms["self_attention"])
        y = x + attention(xbar, xbar, sub["self_attention"])
        return y + perceptron(norm(y, norms["perceptron"]), sub["perceptron"])
    u = norm(x + attention(x, x, sub["self_attention"]), norms["self_attention"])  # book (7.31)
    return norm(u + perceptron(u, sub["perceptron"]), norms["perceptron"])


def decoder_block(x: Array, memory: Array, a: Arrays, pre: bool) -> Array:
    """The book's six steps, or the same in the lecture's order."""
    steps = {
        "self_attention": lambda z: attention(z, z, parts(a, "self_attention"), causal=True),
        "cross_attention": lambda z: attention(z, memory, parts(a, "cross_attention")),
        "perceptron": lambda z: perceptron(z, parts(a, "perceptron")),
    }
    for name, step in steps.items():
        n = parts(a, f"{name}_normalization")
        x = x + step(norm(x, n)) if pre else norm(x + step(x), n)
    return x


def embed(labels: Array, table: Array) -> Array:
    depth = table.shape[1]
    angles = np.arange(len(labels))[:, None] / 10_000.0 ** (np.arange(0, depth, 2) / depth)
    return table[labels] * np.sqrt(depth) + np.concatenate((np.sin(angles), np.cos(angles)), axis=1)


def written_out(network: Transformer, source: Array, reference: Array) -> Array:
    a, pre = dict(network.named_arrays()), network.configuration.block == "pre"
    memory = embed(source, a["source_embedding.table"])
    for i in range(network.configuration.layers):
        memory = encoder_block(memory, parts(a, f"encoder.{i}"), pre)
    memory = norm(memory, parts(a, "encoder_normalization")) if pre else memory
    x = embed(reference, a["reference_embedding.table"])
    for i in range(network.configuration.layers):
        x = decoder_block(x, memory, parts(a, f"decoder.{i}"), pre)
    x = norm(x, parts(a, "decoder_normalization")) if pre else x
    return x @ a["output.weights"] + a["output.biases"]


@pytest.mark.ledger(
    "B-7.31eq", "B-7.5-out", "B-7.5-decblock", "B-7.5-encoder", "L-43-prenorm", "L-12-iter", "T-3.2-encdec"
)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_network_is_its_blocks_written_out(block: Any, layers: int) -> None:
    network = small_transformer(block=block, layers=layers)
    assert RAGGED.source is not None
    pairs = zip(split(RAGGED.source.labels, RAGGED.source), split(RAGGED.labels, RAGGED), strict=True)
    expected = [written_out(network, source, reference) for source, reference in pairs]
    np.testing.assert_allclose(logits_of(network, RAGGED), np.concatenate(expected), atol=1e-12, rtol=1e-12)


@pytest.mark.ledger("T-F5")
def test_the_two_orders_differ() -> None:
    post, pre = small_transformer(block="post"), small_transformer(block="pre")
    shared = dict(post.named_arrays())
    for name, view in pre.named_arrays():
        view[...] = shared.get(name, view)
    assert np.abs(logits_of(post, RAGGED) - logits_of(pre, RAGGED)).max() > 0.1
