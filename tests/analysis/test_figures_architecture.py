"""The diagram has the parts of the network it is of, in their order, with their sizes."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.analysis.figures import architecture_figure
from dragoman.analysis.figures.architecture import architecture_diagram
from dragoman.analysis.figures.picture import Picture, Rectangle
from dragoman.networks import Transformer, TransformerConfiguration, preset
from tests.analysis.drawing import assert_readable

WIDEST = {
    "relative": {},
    "concatenated_sinusoid": {},
    "one_hot": {"maximum_length": 100},
    "learned": {"maximum_length": 10_000},
    "joint": {"maximum_length": 10_000},
    "none": {},
}


Column = list[tuple[Rectangle, list[str]]]


def drawn(configuration: TransformerConfiguration) -> Picture:
    return architecture_diagram(configuration).picture()


def columns(picture: Picture) -> list[Column]:
    """Both columns from the bottom to the top: each box with what is written in it."""
    bounds = picture.bounds()
    sides: list[Column] = [[], []]
    for shape in picture.shapes:
        box, inside = shape.place, []
        for words in picture.words:
            place = words.place()
            if box.left < words.at[0] < box.right and box.bottom < words.at[1] < box.top:
                assert box.left < place.left < place.right < box.right
                assert box.bottom < place.bottom < place.top < box.top
                inside.append(words.text)
        sides[int(box.left > (bounds.left + bounds.right) / 2)].append((box, inside))
    return [sorted(side, key=lambda entry: entry[0].bottom) for side in sides]


def names(side: Column) -> list[str]:
    return [texts[0] for _, texts in side]


def heads(picture: Picture) -> list[tuple[float, float]]:
    """Where arrows end."""
    return [line.points[-1] for line in picture.lines if line.head]


def ends_at(picture: Picture, x: float, y: float) -> bool:
    return any(abs(x - a) < 0.01 and abs(y - b) < 0.01 for a, b in heads(picture))


def said(configuration: TransformerConfiguration) -> list[str]:
    return [words.text for words in drawn(configuration).words]


@pytest.mark.ledger("T-F5", "B-F7.15")
def test_post_norm_adds_and_normalizes_after_every_sublayer() -> None:
    encoder, decoder = columns(drawn(preset("medium", 8000, 8212)))
    attention, perceptrons = ["Self-attention", "Add and normalize"], ["Two perceptrons", "Add and normalize"]
    assert names(encoder) == ["Source embedding", "Positions", *attention, *perceptrons]
    causal, cross = ["Causal self-attention", "Add and normalize"], ["Cross-attention", "Add and normalize"]
    assert names(decoder) == [
        "Reference embedding", "Positions", *causal, *cross, *perceptrons, "Output perceptron", "Softmax",
    ]  # fmt: skip


@pytest.mark.ledger("T-F5")
def test_pre_norm_normalizes_before_and_at_the_end() -> None:
    encoder, decoder = columns(drawn(preset("medium", 8000, 8212, block="pre", positions="none")))
    attention, perceptrons = ["Normalize", "Self-attention", "Add"], ["Normalize", "Two perceptrons", "Add"]
    assert names(encoder) == ["Source embedding", *attention, *perceptrons, "Final normalization"]
    causal, cross = ["Normalize", "Causal self-attention", "Add"], ["Normalize", "Cross-attention", "Add"]
    assert names(decoder) == [
        "Reference embedding", *causal, *cross, *perceptrons, "Final normalization", "Output perceptron", "Softmax",
    ]  # fmt: skip


@pytest.mark.ledger("T-F5")
def test_sizes_stand_where_they_act() -> None:
    picture = drawn(preset("large", 8000, 9000))
    encoder, decoder = ({texts[0]: texts[1:] for _, texts in side} for side in columns(picture))
    assert encoder["Source embedding"] == ["$v_S$ = 8,000 → $d$ = 256"]
    assert decoder["Reference embedding"] == ["$v_R$ = 9,000 → $d$ = 256"]
    for side, name in ((encoder, "Self-attention"), (decoder, "Causal self-attention"), (decoder, "Cross-attention")):
        assert side[name] == ["$h$ = 8 heads of 32 columns"]
    assert encoder["Two perceptrons"] == decoder["Two perceptrons"] == ["$d$ = 256 → $d_p$ = 512 → 256, relu"]
    assert decoder["Output perceptron"] == ["$d$ = 256 → $v_R$ = 9,000"]
    assert said(preset("large", 8000, 9000)).count("× τ = 2") == 2
    deeper = columns(drawn(preset("small", 8, 8, hidden_layers=2)))[0]
    shown = {texts[0]: texts[1:] for _, texts in deeper}
    assert shown["Three perceptrons"] == ["$d$ = 64 → $d_p$ = 128 → $d_p$ = 128 → 64, relu"]


@pytest.mark.parametrize("block", ["post", "pre"])
def test_arrows_go_up_around_and_across(block: str) -> None:
    picture = drawn(preset("small", 8, 8, block=block))
    encoder, decoder = columns(picture)
    for side in (encoder, decoder):
        for box, _ in side:
            assert ends_at(picture, (box.left + box.right) / 2, box.bottom)
    (cross,) = [box for box, texts in decoder if texts[0] == "Cross-attention"]
    assert ends_at(picture, cross.left, (cross.bottom + cross.top) / 2)
    added = [
        (box.left if side is encoder else box.right, box)
        for side in (encoder, decoder)
        for box, texts in side
        if "Add" in texts[0]
    ]
    assert len(added) == 5
    for edge, box in added:
        assert ends_at(picture, edge, (box.bottom + box.top) / 2)
    boxes = len(encoder) + len(decoder)
    assert len(heads(picture)) == boxes + 5 + 1 + 1  # up into each, around, across, out at the top


@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_bracket_spans_what_is_repeated(block: str) -> None:
    picture = drawn(preset("small", 8, 8, block=block, layers=6))
    brackets = [line.points for line in picture.lines if line.name.startswith("bracket")]
    for points, side in zip(brackets, columns(picture), strict=True):
        low, high = min(y for _, y in points), max(y for _, y in points)
        inside = [texts[0] for box, texts in side if low <= box.bottom and box.top <= high]
        outside = ("embedding", "Positions", "Final", "Output", "Softmax")
        assert inside == [name for name in names(side) if not any(word in name for word in outside)]


@pytest.mark.parametrize("positions", WIDEST)
def test_the_widest_texts_stay_inside_their_boxes(positions: Any) -> None:
    configuration = TransformerConfiguration(
        source_vocabulary=250_000,
        target_vocabulary=250_000,
        depth=1024,
        perceptron_depth=4096,
        heads=16,
        layers=24,
        activation="identity",
        positions=positions,
        relative_reach=128,
        tied="none" if positions in ("concatenated_sinusoid", "one_hot") else "all",
        **WIDEST[positions],
    )
    encoder, _ = columns(drawn(configuration))  # which checks every box
    assert ("Positions" in names(encoder)) == (positions not in ("relative", "none"))
    told = " ".join(text for _, texts in encoder for text in texts)
    assert ("bias up to ±128" in told) == (positions == "relative")
    assert ("part of" in told) == (positions in ("concatenated_sinusoid", "one_hot"))


@pytest.mark.parametrize(("tied", "tables", "outputs"), [("none", 0, 0), ("output", 0, 1), ("all", 2, 1)])
def test_it_says_what_is_tied(tied: str, tables: int, outputs: int) -> None:
    texts = said(preset("small", 8, 8, tied=tied))
    assert sum("one table (tied)" in text for text in texts) == tables
    assert sum("tied to the table" in text for text in texts) == outputs


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({"dropout": 0.25}, "Transformer, post-norm, dropout 0.25"),
        ({"block": "pre", "layers": 3}, "Transformer, pre-norm"),
    ],
)
def test_the_title_says_the_block_the_dropout_and_the_size(settings: dict[str, Any], title: str) -> None:
    configuration = preset("small", 8, 8, **settings)
    figure = architecture_figure(configuration)
    parameters = f"{Transformer(configuration).count():,} parameters"
    assert f"{title}: {parameters}" in {text.get_text() for text in figure.axes[0].texts}
    assert_readable(figure)
