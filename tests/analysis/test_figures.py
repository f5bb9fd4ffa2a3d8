"""Figures show what they say: what is drawn is checked, and that all of it can be seen and read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rcParams

from dragoman.analysis.figures import (
    activations_figure,
    architecture_figure,
    as_svg,
    attention_figure,
    distances_figure,
    embedding_figure,
    heads_figure,
    history_figure,
    positions_figure,
    save_figure,
)
from dragoman.errors import ConfigurationError, DataError, ShapeError
from dragoman.graph import Array
from dragoman.networks import preset
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid

LONG = ["¿", "Dónde", "está", "el", "electroencefalografista", "<end>", "$5", "x_1$", "ñandú", "---"]


def weights(*shape: int) -> Array:
    drawn: Array = np.random.default_rng(0).dirichlet(np.full(shape[-1], 0.3), size=shape[:-1])
    return drawn


def history(count: int) -> list[dict[str, Any]]:
    """Training goes on falling; validation is best at the sixth evaluation of ten, and best so far until then."""
    return [
        {
            "epoch": 0.5 * i,
            "step": 50 * i,
            "training_error": 5 * math.exp(-i / 4),
            "training_accuracy": 1 - 0.9 * math.exp(-i / 4),
            "validation_error": 3 + 0.05 * (i - 6) ** 2,
            "validation_accuracy": 0.6 - 0.01 * (i - 6) ** 2,
            "best": i <= 6,
        }
        for i in range(1, count + 1)
    ]


FIGURES: dict[str, Callable[[], Any]] = {
    "activations": lambda: activations_figure(("identity", "relu", "logistic", "tanh", "gelu")),
    "history": lambda: history_figure(history(10)),
    "history of one": lambda: history_figure(history(1)),
    "attention, 3 tokens": lambda: attention_figure(weights(3, 3), LONG[:3], LONG[:3], "decoder.0.cross_attention, 1"),
    "attention, 40 tokens": lambda: attention_figure(weights(40, 40), LONG * 4, LONG * 4),
    "attention, 3 of 40": lambda: attention_figure(weights(3, 40), LONG[4:7], LONG * 4),
    "attention, 40 of 3": lambda: attention_figure(
        weights(40, 3), LONG * 4, LONG[4:7], "a title wider than its figure"
    ),
    "heads, 3 tokens": lambda: heads_figure(weights(5, 3, 3), LONG[:3], LONG[4:7], "a long title " * 6),
    "heads, 40 tokens": lambda: heads_figure(weights(2, 40, 40), LONG * 4, LONG * 4),
    "embedding": lambda: embedding_figure(
        weights(10, 4), LONG, "a long title " * 12, groups=["one", "$2", "$3", *"abcdefg"]
    ),
    "positions": lambda: positions_figure(half_sinusoid(40, 64)),
    "distances": lambda: distances_figure(dict.fromkeys(("encoder", "decoder"), np.cos(np.ones((4, 33)).cumsum(1)))),
    "architecture, post": lambda: architecture_figure(preset("small", 8, 8)),
    "architecture, pre": lambda: architecture_figure(
        preset("large", 123_456, 123_456, block="pre", tied="all", positions="relative", dropout=0.1, layers=12)
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off_and_the_file_is_well_formed(name: str) -> None:
    figure = FIGURES[name]()
    svg = ElementTree.fromstring(as_svg(figure))
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= 0
    assert drawn.y0 >= 0
    assert drawn.x1 <= width
    assert drawn.y1 <= height


def test_figures_are_written_as_their_file_is_named(tmp_path: Path) -> None:
    figure = activations_figure()
    save_figure(figure, tmp_path / "a.PNG")
    save_figure(figure, str(tmp_path / "a.svg"))
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("}svg")
    for name in ("a.pdf", "a", ".png"):
        with pytest.raises(ConfigurationError, match=r"written as \.png or \.svg"):
            save_figure(figure, tmp_path / name)
    with pytest.raises(DataError, match="could not be written"):
        save_figure(figure, tmp_path / "nowhere" / "a.png")


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    before = dict(rcParams)
    for name in ("one", "two"):
        save_figure(attention_figure(weights(2, 3), LONG[:2], LONG[:3]), tmp_path / f"{name}.svg")
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert not re.search(r"<dc:date>|metadata|20\d\d-\d\d-\d\d", text)
    assert dict(rcParams) == before


@pytest.mark.ledger("T-F4")
def test_activation_graphs_are_the_functions() -> None:
    figure = activations_figure()
    identity, relu = figure.axes[0].get_lines()[:2]
    np.testing.assert_array_equal(identity.get_ydata(), identity.get_xdata())
    np.testing.assert_array_equal(relu.get_ydata(), np.maximum(0, relu.get_xdata()))
    assert identity.get_linestyle() != relu.get_linestyle()  # they coincide right of zero
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["identity", "relu"]


def curves(axes: Any) -> dict[str, tuple[list[float], list[float]]]:
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in lines}


@pytest.mark.ledger("T-F11-13")
def test_two_panels_with_two_curves_each_from_the_log() -> None:
    log = history(10)
    figure = history_figure(log)
    assert [axes.get_title() for axes in figure.axes] == ["Error", "Accuracy"]
    epochs = [line["epoch"] for line in log]
    for axes, panel in zip(figure.axes, ("error", "accuracy"), strict=True):
        drawn = curves(axes)
        assert drawn["training"] == (epochs, [line[f"training_{panel}"] for line in log])
        assert drawn["validation"] == (epochs, [line[f"validation_{panel}"] for line in log])
        assert drawn["best: epoch 3"] == ([3.0], [log[5][f"validation_{panel}"]])
        assert axes.get_xlabel() == "epoch"
    assert figure.axes[0].get_title(loc="right") == "at the best: 3"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["training", "validation", "best: epoch 3"]


def test_evaluations_without_a_number_are_passed_over() -> None:
    log = history(4)
    log[0]["validation_error"] = None
    del log[1]["validation_error"]
    log[2]["training_error"] = math.nan
    drawn = curves(history_figure(log).axes[0])
    assert drawn["validation"][0] == [1.5, 2.0]
    assert drawn["training"][0] == [0.5, 1.0, 2.0]


def test_without_validation_the_best_is_marked_on_training() -> None:
    log = [{k: v for k, v in line.items() if not k.startswith(("validation", "epoch"))} for line in history(8)]
    for axes, panel in zip(history_figure(log).axes, ("error", "accuracy"), strict=True):
        drawn = curves(axes)
        assert drawn.keys() == {"training", "best: step 300"}
        assert drawn["best: step 300"] == ([300.0], [log[5][f"training_{panel}"]])
        assert drawn["training"][0] == [50.0 * i for i in range(1, 9)]


def test_a_history_may_be_bare_but_not_empty() -> None:
    (line,) = history(1)
    line["best"] = False
    assert curves(history_figure([line]).axes[0]).keys() == {"training", "validation"}
    with pytest.raises(DataError, match="no evaluations"):
        history_figure([])


@pytest.mark.ledger("B-F7.14a", "B-F7.14b")
def test_codes_of_the_book_and_what_two_neighbours_differ_in() -> None:
    table = interleaved_sinusoid(60, 768, first=1)
    codes, difference = positions_figure(table[:, :200], t=50, first=1).axes[:2]
    (image,) = codes.get_images()
    np.testing.assert_array_equal(image.get_array(), table[:, :200].T)
    assert image.get_array().shape == (200, 60)
    assert image.get_clim() == (-1, 1)
    assert np.abs(image.get_array()).max() <= 1
    assert image.get_extent() == [0.5, 60.5, -0.5, 199.5]
    high, low = image.cmap(image.norm(1.0)), image.cmap(image.norm(-1.0))
    assert high[0] > 0.9 > 0.3 > high[2]  # yellow
    assert low[2] > low[0]  # blue
    whole = positions_figure(table, t=50, first=1).axes[1].get_lines()[-1]
    gap = np.square(whole.get_xdata())
    assert gap[:100].sum() / gap.sum() == pytest.approx(0.9056, abs=5e-5)
    np.testing.assert_array_equal(whole.get_ydata(), np.arange(768))
    assert whole.get_xdata()[0] == pytest.approx(math.sin(51) - math.sin(50))
    assert difference.get_title() == "Position 51 less position 50"


def test_distances_are_a_line_for_each_head() -> None:
    """A decoder sees nothing that comes later."""
    table = np.arange(10.0).reshape(2, 5)
    encoder, decoder = distances_figure({"encoder": table, "decoder": table}).axes
    for axes, seen in ((encoder, 5), (decoder, 3)):
        lines = axes.get_lines()[1:]
        assert [line.get_xdata().tolist() for line in lines] == 2 * [[-2, -1, 0, 1, 2][:seen]]
        assert [line.get_ydata().tolist() for line in lines] == [row[:seen].tolist() for row in table]


def test_positions_that_have_no_neighbour() -> None:
    table = half_sinusoid(5, 4)
    line = positions_figure(table).axes[1].get_lines()[-1]
    np.testing.assert_array_equal(line.get_xdata(), table[4] - table[3])
    for t in (4, -1):
        with pytest.raises(ShapeError, match=f"5 positions from 0 on has no codes for both {t} and {t + 1}"):
            positions_figure(table, t=t)
    assert positions_figure(np.zeros((2, 2))).axes[0].get_images()[0].get_clim() == (-1, 1)
