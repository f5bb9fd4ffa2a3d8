"""Figures show what they say, and what they show is computed right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.analysis.figures import activations_figure, attention_figure, embedding_figure, principal_plane
from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Parameter, Value
from dragoman.layers import Initial, Run
from dragoman.loss import LossIndex
from dragoman.networks import Network, Transformer, preset
from dragoman.operations import embed, linear, mean_rows
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

TOPICS = [["cat", "dog", "horse", "cow"], ["red", "green", "blue", "black"], ["one", "two", "three", "four"]]
WORDS = [word for topic in TOPICS for word in topic]


def saved(figure: object, path: Path) -> bytes:
    figure.savefig(path)  # type: ignore[attr-defined]
    return path.read_bytes()


@pytest.mark.ledger("T-F4")
def test_activation_graphs_are_the_functions(tmp_path: Path) -> None:
    figure = activations_figure()
    identity, relu = figure.axes[0].get_lines()[:2]
    np.testing.assert_array_equal(identity.get_ydata(), identity.get_xdata())
    np.testing.assert_array_equal(relu.get_ydata(), np.maximum(0, relu.get_xdata()))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["identity", "relu"]
    assert saved(figure, tmp_path / "activations.png").startswith(b"\x89PNG")


@pytest.mark.ledger("T-F3", "L-20-heat")
def test_attention_heat_map_of_a_network(tmp_path: Path) -> None:
    batch = Batch.pairs([[4, 5, 6]], [[2, 5, 4, 7, 3]])
    weights = Transformer(preset("small", 8, 8)).attention(batch)["decoder.0.cross_attention"][0, 0]
    figure = attention_figure(weights, ["<start>", "la", "planta", "verde"], ["the", "green", "plant"])
    image = figure.axes[0].get_images()[0]
    np.testing.assert_array_equal(image.get_array(), weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    dark, bright = image.cmap(image.norm(0.0))[:3], image.cmap(image.norm(1.0))[:3]
    assert dark == (0, 0, 0)
    assert bright == (1, 1, 1)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["the", "green", "plant"]
    assert saved(figure, tmp_path / "attention.png").startswith(b"\x89PNG")
    with pytest.raises(ShapeError, match="4 queries and 2 keys"):
        attention_figure(weights, ["a"] * 4, ["b"] * 2)


class Neighbours(Network):
    """Predicts a word from the mean of the words around it; its table becomes the embedding."""

    table: Value
    output: Value

    def __init__(self) -> None:
        initial = Initial(0)
        self.table = Parameter(initial.normal(len(WORDS), 6, 0.1))
        self.output = Parameter(initial.normal(6, len(WORDS), 0.1))
        self._bind()

    def __call__(self, batch: Batch, run: Run | None = None) -> Value:
        return linear(mean_rows(embed(self.table, labels=batch.labels), offsets=batch.offsets), self.output)


@pytest.mark.ledger("T-F2")
def test_words_of_three_topics_form_three_clusters(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    network = Neighbours()
    train(network, (_sentences(rng) for _ in range(400)), Adam(), Constant(0.02), Stopping(400), LossIndex())
    plane = principal_plane(np.asarray(network.plain.table))
    topic = np.repeat(np.arange(3), 4)
    centres = np.stack([plane[topic == t].mean(axis=0) for t in range(3)])
    nearest = np.linalg.norm(plane[:, None] - centres[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, topic)
    figure = embedding_figure(network.plain.table, WORDS)
    assert {text.get_text() for text in figure.axes[0].texts} == set(WORDS)
    assert saved(figure, tmp_path / "embedding.png").startswith(b"\x89PNG")


def _sentences(rng: np.random.Generator) -> Batch:
    """Three words of one topic around a fourth, 64 times."""
    drawn = [4 * rng.integers(3) + rng.integers(4, size=4) for _ in range(64)]
    packed = Batch.pack([words[:3] for words in drawn])
    return Batch(packed.labels, packed.offsets, targets=np.array([words[3] for words in drawn]))


def test_the_plane_keeps_what_varies_most() -> None:
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((50, 2)) @ np.array([[3.0, 0, 0, 1], [0, 2.0, 0, 0]])
    noisy: Array = flat + 1e-6 * rng.standard_normal((50, 4))
    plane = principal_plane(noisy)
    kept = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    np.testing.assert_allclose(kept, np.linalg.norm(noisy[:, None] - noisy[None], axis=2), atol=1e-4)
