"""Attention as squares: the right ones, in the right grey, with words that can be read."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dragoman.analysis.figures import attention_figure, heads_figure
from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array
from dragoman.networks import Transformer, preset

ENGLISH = ["we", "love", "deep", "learning", "<stop>"]
FRENCH = ["nous", "aimons", "l'", "apprentissage", "en", "profondeur", "<stop>"]


@pytest.fixture(scope="module")
def weights() -> Array:
    """Of a network that reads five tokens and writes seven, [h, 7, 5]."""
    batch = Batch.pairs([[4, 5, 6, 7, 3]], [[2, 4, 5, 6, 7, 8, 9, 3]])
    maps = Transformer(preset("small", 16, 16)).attention(batch)
    heads: Array = maps["decoder.0.cross_attention"][0]
    return heads


def words(labels: list[Any]) -> list[str]:
    return [label.get_text() for label in labels]


@pytest.mark.ledger("T-F3", "L-20-heat", "B-F7.11")
def test_attention_heat_map_of_a_network(weights: Array) -> None:
    figure = attention_figure(weights[0], FRENCH, ENGLISH)
    image = figure.axes[0].get_images()[0]
    assert image.get_array().shape == (7, 5)
    np.testing.assert_array_equal(image.get_array(), weights[0])
    np.testing.assert_allclose(image.get_array().sum(axis=1), 1, atol=1e-6)
    dark, bright = image.cmap(image.norm(0.0))[:3], image.cmap(image.norm(1.0))[:3]
    assert dark == (0, 0, 0)
    assert bright == (1, 1, 1)
    assert words(figure.axes[0].get_xticklabels()) == ENGLISH
    assert words(figure.axes[0].get_yticklabels()) == FRENCH
    with pytest.raises(ShapeError, match="7 queries and 2 keys"):
        attention_figure(weights[0], FRENCH, ENGLISH[:2])
    with pytest.raises(ShapeError, match="0 queries"):
        attention_figure(np.zeros((0, 2)), [], ENGLISH[:2])


@pytest.mark.parametrize(("heads", "rows", "columns"), [(1, 1, 1), (4, 2, 2), (5, 2, 3), (8, 2, 4)])
def test_every_head_has_its_panel(heads: int, rows: int, columns: int) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=(heads, 7))
    figure = heads_figure(weights, FRENCH, ENGLISH, "decoder.0")
    *panels, bar = figure.axes
    assert bar.get_ylabel() == "weight"
    grid = panels[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == (rows, columns)
    for index, (axes, expected) in enumerate(zip(panels, weights, strict=True)):
        (image,) = axes.get_images()
        np.testing.assert_array_equal(image.get_array(), expected)
        assert image.get_clim() == (0, 1)
        assert axes.get_title() == f"head {index + 1}"
        assert words(axes.get_yticklabels()) == (FRENCH if index % columns == 0 else [])
        assert words(axes.get_xticklabels()) == (ENGLISH if index + columns >= heads else [])


def test_heads_of_another_shape() -> None:
    for shape in ((7, 5), (2, 5, 7), (0, 7, 5)):
        with pytest.raises(ShapeError, match=r"heads of shape .* for 7 queries and 5 keys"):
            heads_figure(np.zeros(shape), FRENCH, ENGLISH)


@pytest.mark.parametrize(("draw", "count"), [(attention_figure, 3), (attention_figure, 40), (heads_figure, 40)])
def test_words_have_room_beside_each_other(draw: Any, count: int) -> None:
    """A square is at least as high and as wide as a line of its word, measured across the line."""
    tokens = [("¿Áy", "¿Ñ?", "electroencefalografista")[i % 3] for i in range(count)]
    shape = (count, count) if draw is attention_figure else (2, count, count)
    figure = draw(np.full(shape, 0.5), tokens, tokens)
    figure.draw_without_rendering()
    axes = figure.axes[-2]
    cell = axes.get_window_extent().width / count
    assert cell == pytest.approx(axes.get_window_extent().height / count, rel=0.02)
    (label,) = axes.get_xticklabels()[:1]
    size = label.get_fontsize() * figure.dpi / 72
    assert label.get_fontsize() >= 7
    assert cell >= size
    assert cell * math.sin(math.radians(label.get_rotation())) >= size
    rows = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    assert all(below.y1 <= above.y0 + 2 for above, below in itertools.pairwise(rows))


def test_dollars_in_words_are_dollars() -> None:
    """matplotlib would read "$5 and $6" as a formula."""
    tokens = ["$5", "\\frac$", "a_b$ $"]
    figure = attention_figure(np.eye(3), tokens, tokens, "from $5 to $6")
    figure.draw_without_rendering()
    labels = [*figure.axes[0].get_xticklabels(), *figure.axes[0].get_yticklabels(), figure.axes[0].title]
    assert not any(label.get_parse_math() for label in labels)
