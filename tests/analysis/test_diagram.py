"""The diagram engine: where things are, and that arrows lead from side to side."""

from __future__ import annotations

import math

import pytest

from dragoman.analysis.figures import network_figure
from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.picture import Rectangle, arranged, text_size
from dragoman.analysis.figures.stack import stack_diagram
from dragoman.graph import Parameter
from dragoman.layers import Initializer
from dragoman.layers.layer import Layer
from dragoman.networks import (
    Bag,
    BagConfiguration,
    Encoder,
    EncoderConfiguration,
    LanguageModel,
    LanguageModelConfiguration,
    Network,
    Perceptrons,
    PerceptronsConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
)
from tests.analysis.drawing import assert_readable, shapes


def places(diagram: Diagram) -> dict[str, Rectangle]:
    return {shape.name: shape.place for shape in diagram.picture().shapes}


def square() -> Diagram:
    diagram = Diagram((0.5, 0.25))
    for name, column, row in (("a", 0, 0), ("b", 0, 1), ("c", 1, 0)):
        diagram.box(name, column, row, Part("plain", name * 6))
    return diagram


def test_texts_decide_how_wide_columns_are() -> None:
    diagram = square()
    before = places(diagram)
    diagram.box("b", 0, 1, Part("plain", "much longer than the others are"))
    after = places(diagram)
    assert after["a"].right - after["a"].left == after["b"].right - after["b"].left > before["a"].right
    assert after["c"].left - after["a"].right == pytest.approx(0.5)
    assert after["b"].bottom - after["a"].top == pytest.approx(0.25)
    assert after["c"].right - after["c"].left == pytest.approx(before["c"].right - before["c"].left)


def test_a_box_may_span_columns() -> None:
    diagram = square()
    diagram.box("wide", 0, 2, Part("plain", "x"), until=1)
    found = places(diagram)
    assert (found["wide"].left, found["wide"].right) == pytest.approx((found["a"].left, found["c"].right))
    diagram.arrow("c", "wide", sides=("north", "south"))
    (x, _), (end, _) = diagram.picture().lines[-1].points
    assert x == pytest.approx(end), "straight up, not to the middle"


def test_arrows_leave_and_enter_at_right_angles() -> None:
    diagram = square()
    diagram.arrow("b", "c", sides=("east", "north"))
    diagram.arrow("a", "c", sides=("east", "west"))
    diagram.arrow("a", "b", (-0.5, 0), (-0.5, 1), sides=("west", "west"), at=(0.1, -0.1))
    corner, straight, around = (line.points for line in diagram.picture().lines)
    found = places(diagram)
    assert corner[1] == pytest.approx(((found["c"].left + found["c"].right) / 2, corner[0][1]))
    assert len(straight) == 2
    assert around[0][1] == around[1][1]
    assert around[-1][1] == around[-2][1]
    assert around[1][0] == around[2][0] < found["a"].left


@pytest.mark.parametrize("outline", ["box", "circle"])
def test_a_slanted_arrow_ends_at_the_outline(outline: str) -> None:
    diagram = Diagram((1.0, 1.0))
    draw = diagram.circle if outline == "circle" else lambda n, c, r, t: diagram.box(n, c, r, Part("plain", t))
    for name, column, row in (("a", 0, 0), ("b", 1, 1)):
        draw(name, column, row, "x")
    diagram.arrow("a", "b")
    (x, y), _ = diagram.picture().lines[0].points
    place = places(diagram)["a"]
    middle, half = ((place.left + place.right) / 2, (place.bottom + place.top) / 2), (place.right - place.left) / 2
    dx, dy = abs(x - middle[0]), abs(y - middle[1])
    assert (math.hypot(dx, dy) if outline == "circle" else max(dx, dy)) == pytest.approx(half)


def test_the_check_sees_texts_that_run_into_boxes_and_each_other() -> None:
    """The judge of all figures, judged."""
    diagram = square()
    assert_readable(diagram.figure("title"))
    diagram.note("over", 0.5, 0, "this runs into both boxes")
    with pytest.raises(AssertionError, match=r"overlaps|runs into"):
        assert_readable(diagram.figure())
    tight = Diagram((0.01, 0.01))
    tight.text("a", 0, 0, "words")
    tight.note("b", 0, 0, "other words")
    with pytest.raises(AssertionError, match="overlaps"):
        assert_readable(tight.figure())


def test_panels_stand_apart_over_their_captions() -> None:
    sheet = arranged([(f"({letter})", square().picture()) for letter in "abc"], across=2)
    lefts = [shape.place.left for shape in sheet.shapes if shape.name == "a"]
    tops = [shape.place.bottom for shape in sheet.shapes if shape.name == "a"]
    assert lefts[0] == pytest.approx(lefts[2])
    assert lefts[0] < lefts[1]
    assert tops[0] == pytest.approx(tops[1])
    assert tops[0] > tops[2]
    captions = {words.text: words.at for words in sheet.words if words.text.startswith("(")}
    assert captions["(a)"][1] < tops[0]


def test_a_text_is_as_wide_as_it_is_drawn() -> None:
    diagram = Diagram()
    formula = r"$\hat{y}^{\langle t \rangle}$ and words"
    for row, text in enumerate(("plain words", formula, r"5 \$ a piece", "two\nlines")):
        diagram.text(f"{row}", 0, row, text)
    figure = diagram.figure()
    for text in figure.axes[0].texts:
        drawn = text.get_window_extent().width / figure.dpi
        assert text_size(text.get_text(), 9.5)[0] == pytest.approx(drawn, abs=0.04)


# Any network


def language_model(layers: int, block: str = "pre") -> LanguageModel:
    sizes = {"depth": 8, "heads": 2, "perceptron_depth": 16, "vocabulary": 9}
    return LanguageModel(LanguageModelConfiguration(layers=layers, block=block, **sizes))  # type: ignore[arg-type]


@pytest.mark.parametrize("layers", [2, 3])
def test_the_number_of_blocks_is_the_networks(layers: int) -> None:
    diagram = stack_diagram(language_model(layers))
    assert diagram.groups[0].text == f"× {layers}"
    names = [node.part.name for node in diagram.nodes.values() if node.outline == "box"]
    block = ["Normalize", "Causal self-attention", "Add", "Normalize", "Perceptrons", "Add"]
    assert names == ["Embedding", *block, "Final normalization", "Output"]
    post = [node.part.name for node in stack_diagram(language_model(layers, "post")).nodes.values()]
    assert "Final normalization" not in post
    assert post.count("Add and normalize") == 2


class Unknown(Layer):
    def __init__(self) -> None:
        self.filters = Parameter(Initializer(0).ones(3, 3))


class HomeMade(Network):
    """A network with a kind of layer that the figures have never heard of."""

    def __init__(self) -> None:
        self.class_token = Parameter(Initializer(0).ones(4))
        self.convolution = Unknown()
        self._bind()

    def __call__(self, batch, run=None):  # type: ignore[no-untyped-def]
        raise NotImplementedError


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (lambda: Encoder(EncoderConfiguration(vocabulary=9, outputs=3, pooling="class_token")), ["Class token"]),
        (lambda: Bag(BagConfiguration(vocabulary=9, outputs=3, buckets=5)), ["Votes"]),
        (lambda: RecurrentEncoder(RecurrentEncoderConfiguration(cell="gru", inputs=4, outputs=3)), ["Embedding"]),
        (lambda: Perceptrons(PerceptronsConfiguration(depths=(2, 8, 1))), ["Layers 1", "Layers 2"]),
        (HomeMade, ["Class token", "Convolution"]),
    ],
)  # fmt: skip
def test_every_network_can_be_drawn(network, expected) -> None:  # type: ignore[no-untyped-def]
    built = network()
    figure = network_figure(built)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert set(expected) <= set(texts)
    assert any(f"{built.count():,} parameters" in text for text in texts)
    assert len(shapes(figure, "box")) >= len(expected)
    assert_readable(figure)
