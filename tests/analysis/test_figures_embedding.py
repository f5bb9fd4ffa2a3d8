"""Words as points: near where their vectors are near, with names that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from dragoman.analysis.figures import embedding_figure, principal_plane
from dragoman.analysis.figures.canvas import in_lines
from dragoman.batch import Batch
from dragoman.errors import NonFiniteError, ShapeError
from dragoman.graph import Array, Parameter, Value
from dragoman.layers import ForwardContext, Initializer
from dragoman.loss import LossIndex
from dragoman.networks import Network
from dragoman.operations import embed, linear, mean_rows
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

TOPICS = [["cat", "dog", "horse", "cow"], ["red", "green", "blue", "black"], ["one", "two", "three", "four"]]
WORDS = [word for topic in TOPICS for word in topic]


class Neighbours(Network):
    """Predicts a word from the mean of the words around it; its table becomes the embedding."""

    table: Value
    output: Value

    def __init__(self) -> None:
        initial = Initializer(0)
        self.table = Parameter(initial.normal(len(WORDS), 6, 0.1))
        self.output = Parameter(initial.normal(6, len(WORDS), 0.1))
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return linear(mean_rows(embed(self.table, labels=batch.labels), offsets=batch.offsets), self.output)


@pytest.mark.ledger("T-F2")
def test_words_of_three_topics_form_three_clusters() -> None:
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
    assert plane[:, 0].var() > plane[:, 1].var()


def test_the_plane_has_a_right_side_up() -> None:
    """A direction and its opposite vary alike; the one is taken whose largest component is positive."""
    spread = np.array([[-3.0, 0], [3.0, 0], [0, -1.0], [0, 1.0]])
    for turned in (spread, spread[::-1], spread[[1, 0, 3, 2]]):
        np.testing.assert_allclose(principal_plane(turned), turned, atol=1e-12)


def test_vectors_without_a_plane() -> None:
    with pytest.raises(ShapeError, match="at least two vectors"):
        principal_plane(np.zeros((1, 4)))
    with pytest.raises(NonFiniteError, match="diverged"):
        embedding_figure(np.array([[1.0, 2], [np.nan, 0]]), ["a", "b"])
    with pytest.raises(ShapeError, match="3 vectors for 2 words"):
        embedding_figure(np.eye(3), ["a", "b"])
    with pytest.raises(ShapeError, match="3 vectors for 2 groups"):
        embedding_figure(np.eye(3), ["a", "b", "c"], groups=["x", "y"])


def clusters(spread: float, count: int) -> Array:
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.standard_normal((3, 8)) * 2, count, axis=0)
    drawn: Array = centres + spread * rng.standard_normal(centres.shape)
    return drawn


def boxes(figure: Any) -> Array:
    """What names cover on the canvas (without the lines that lead to them)."""
    return np.array([Text.get_window_extent(text).extents for text in figure.axes[0].texts])


@pytest.mark.parametrize(("spread", "count"), [(1.0, 2), (0.05, 5), (0.0, 4), (0.3, 14)])
def test_names_lie_over_no_other_name_over_no_point_and_inside(spread: float, count: int) -> None:
    names = [f"¿palabra{i}?" for i in range(3 * count)]
    figure = embedding_figure(clusters(spread, count), names)
    figure.draw_without_rendering()
    axes, covered = figure.axes[0], boxes(figure)
    assert len(covered) == len(names)
    low, high = covered[:, :2], covered[:, 2:]
    meets = (low[:, None] < high[None]).all(axis=2) & (high[:, None] > low[None]).all(axis=2)
    np.testing.assert_array_equal(meets, np.eye(len(names), dtype=bool))
    points = axes.transData.transform(np.asarray(axes.collections[0].get_offsets()))
    assert not ((points[:, None] > low) & (points[:, None] < high)).all(axis=2).any()
    frame = axes.get_window_extent().extents
    assert (low >= frame[:2]).all()
    assert (high <= frame[2:]).all()


@pytest.mark.parametrize("spread", [1.0, 0.05])
def test_a_name_is_beside_its_point_or_a_line_leads_to_it(spread: float) -> None:
    vectors = clusters(spread, 6)
    figure = embedding_figure(vectors, [f"{i}" for i in range(18)])
    figure.draw_without_rendering()
    axes, plane = figure.axes[0], principal_plane(vectors)
    ends = [axes.transData.transform(line.get_xydata()) for line in axes.get_lines()]
    points = axes.transData.transform(plane)
    for text, box in zip(axes.texts, boxes(figure), strict=True):
        point = points[int(text.get_text())]
        gap = np.linalg.norm(point - np.clip(point, box[:2], box[2:]))
        led = [end for start, end in ends if np.allclose(start, point, atol=0.5) and _touches(end, box)]
        assert gap < 12 or led


def _touches(end: Array, box: Array) -> bool:
    return bool(np.linalg.norm(end - np.clip(end, box[:2], box[2:])) < 2)


def test_the_axes_say_how_much_of_the_variance_they_show() -> None:
    flat = np.array([[-2.0, 0, 0], [2.0, 0, 0], [0, 1.0, 1.0], [0, -1.0, -1.0]])
    axes = embedding_figure(flat, list("abcd")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "first principal direction (67% of the variance)",
        "second (33%)",
    )
    assert embedding_figure(np.eye(4), list("abcd")).axes[0].get_ylabel() == "second (33%)"  # a third is not shown
    assert "(0% of" in embedding_figure(np.ones((3, 2)), list("abc")).axes[0].get_xlabel()


def test_a_title_that_fits_is_one_line() -> None:
    """Whatever its length: some divided by a width and multiplied by it again are a letter short."""
    for letters in range(3, 40):
        title = "Word vectors each of the length one  all of them"[:letters].replace("  ", " ").strip()
        for width in (5.85, 6.5):
            assert in_lines(title, width) == title
    assert "\n" in in_lines("a long title " * 12, 5.85)


def test_points_are_where_the_plane_has_them_with_one_scale_for_both_directions() -> None:
    vectors = clusters(1.0, 4)
    axes = embedding_figure(vectors, ["x"] * 12).axes[0]
    np.testing.assert_allclose(axes.collections[0].get_offsets(), principal_plane(vectors))
    (x0, y0), (x1, y1) = axes.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0)


def test_topics_have_their_colour_and_shape_in_the_legend() -> None:
    vectors = clusters(0.3, 4)
    groups = ["animals"] * 4 + ["$colours$"] * 4 + ["numbers"] * 4
    figure = embedding_figure(vectors, WORDS, groups=groups)
    figure.draw_without_rendering()
    plane = principal_plane(vectors)
    drawn = figure.axes[0].collections
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["animals", "$colours$", "numbers"]
    for number, points in enumerate(drawn):
        np.testing.assert_allclose(points.get_offsets(), plane[4 * number : 4 * number + 4])
    assert len({tuple(points.get_facecolor()[0]) for points in drawn}) == 3
    assert len({points.get_paths()[0].vertices.shape for points in drawn}) > 1
    frame, legend = figure.axes[0].get_window_extent(), figure.legends[0].get_window_extent()
    assert legend.x0 >= frame.x1  # beside the words, not over them
    assert embedding_figure(vectors, WORDS).legends == []
