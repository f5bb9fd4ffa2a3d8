"""Both published block orders, written out line by line with plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.graph import Array
from dragoman.networks import Transformer
from tests.networks.small_networks import RAGGED, logits_of, small_transformer, split

DIVISORS = {"inside": lambda sigma, eps: np.sqrt(sigma**2 + eps), "outside": lambda sigma, eps: sigma + eps}
ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}


class WrittenOut:
    """A Transformer with the thesis's positions, one sentence pair at a time; `name` is where a layer's weights are."""

    def __init__(self, network: Transformer) -> None:
        self.a, self.c = dict(network.named_arrays()), network.configuration
        self.pre = self.c.block == "pre"

    def norm(self, name: str, x: Array) -> Array:
        mu, sigma = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
        standard = (x - mu) / DIVISORS[self.c.normalization](sigma, self.c.epsilon)
        return self.a[f"{name}.gamma"] * standard + self.a[f"{name}.beta"]

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.a[f"{name}.weights"] + self.a[f"{name}.biases"]

    def perceptron(self, name: str, x: Array) -> Array:
        return self.linear(f"{name}.output", ACTIVATIONS[self.c.activation](self.linear(f"{name}.hidden", x)))

    def attention(self, name: str, x: Array, context: Array, causal: bool = False) -> Array:
        q, k, v = (
            np.stack(np.split(self.linear(f"{name}.{part}", rows), self.c.heads, axis=1))
            for part, rows in (("query", x), ("key", context), ("value", context))
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
        if causal:
            scores[:, np.arange(len(x))[:, None] < np.arange(len(x))] = -np.inf
        weights = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
        return self.linear(f"{name}.projection", np.concatenate(list(weights @ v), axis=1))

    def encoder_block(self, name: str, x: Array) -> Array:
        first, second = f"{name}.self_attention_normalization", f"{name}.perceptron_normalization"
        if self.pre:  # lecture: Y = X + MHSA(LN(X)), X' = Y + MLP(LN(Y))
            xbar = self.norm(first, x)
            y = x + self.attention(f"{name}.self_attention", xbar, xbar)
            return y + self.perceptron(f"{name}.perceptron", self.norm(second, y))
        u = self.norm(first, x + self.attention(f"{name}.self_attention", x, x))  # book (7.31)
        return self.norm(second, u + self.perceptron(f"{name}.perceptron", u))

    def decoder_block(self, name: str, x: Array, memory: Array) -> Array:
        """The book's six steps, or the same in the lecture's order."""
        steps = {
            f"{name}.self_attention": lambda layer, z: self.attention(layer, z, z, causal=True),
            f"{name}.cross_attention": lambda layer, z: self.attention(layer, z, memory),
            f"{name}.perceptron": self.perceptron,
        }
        for layer, step in steps.items():
            norm = f"{layer}_normalization"
            x = x + step(layer, self.norm(norm, x)) if self.pre else self.norm(norm, x + step(layer, x))
        return x

    def embed(self, name: str, labels: Array) -> Array:
        d = self.c.depth
        angles = np.arange(len(labels))[:, None] / 10_000.0 ** (np.arange(0, d, 2) / d)
        return self.a[f"{name}.table"][labels] * d**0.5 + np.concatenate((np.sin(angles), np.cos(angles)), axis=1)

    def __call__(self, source: Array, reference: Array) -> Array:
        memory, x = self.embed("source_embedding", source), self.embed("reference_embedding", reference)
        for i in range(self.c.layers):
            memory = self.encoder_block(f"encoder.{i}", memory)
        memory = self.norm("encoder_normalization", memory) if self.pre else memory
        for i in range(self.c.layers):
            x = self.decoder_block(f"decoder.{i}", x, memory)
        return self.linear("output", self.norm("decoder_normalization", x) if self.pre else x)


@pytest.mark.ledger("B-7.31eq", "B-7.5-out", "B-7.5-decblock", "L-43-prenorm", "L-12-iter", "T-3.2-encdec")
@pytest.mark.parametrize("settings", [{}, {"normalization": "outside", "epsilon": 0.1, "activation": "tanh"}])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_network_is_its_blocks_written_out(block: str, layers: int, settings: dict[str, Any]) -> None:
    network = small_transformer(block=block, layers=layers, **settings)
    assert RAGGED.source is not None
    pairs = zip(split(RAGGED.source.labels, RAGGED.source), split(RAGGED.labels, RAGGED), strict=True)
    expected = [WrittenOut(network)(source, reference) for source, reference in pairs]
    np.testing.assert_allclose(logits_of(network, RAGGED), np.concatenate(expected), atol=1e-12, rtol=1e-12)


@pytest.mark.ledger("T-F5")
def test_the_two_orders_differ() -> None:
    post, pre = small_transformer(block="post"), small_transformer(block="pre")
    shared = dict(post.named_arrays())
    for name, view in pre.named_arrays():
        view[...] = shared.get(name, view)
    assert np.abs(logits_of(post, RAGGED) - logits_of(pre, RAGGED)).max() > 0.1
