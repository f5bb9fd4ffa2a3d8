"""The diagram has the parts of the network it is of, in their order, with their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch

from dragoman.analysis.figures import architecture_figure
from dragoman.networks import TransformerConfiguration, preset

WIDEST = {
    "relative": {},
    "concatenated_sinusoid": {},
    "one_hot": {"maximum_length": 100},
    "learned": {"maximum_length": 10_000},
    "joint": {"maximum_length": 10_000},
    "none": {},
}


def columns(figure: Any) -> list[list[tuple[Any, list[str]]]]:
    """Both columns from the bottom to the top: each box with what is written in it."""
    axes = figure.axes[0]
    written = [(text.get_text(), text.get_window_extent()) for text in axes.texts if text.get_text()]
    sides: list[list[tuple[Any, list[str]]]] = [[], []]
    for patch in axes.patches:
        assert isinstance(patch, FancyBboxPatch)
        box = patch.get_window_extent()
        inside = [(text, words) for text, words in written if box.contains(*_middle(words))]
        for _, words in inside:
            assert box.x0 < words.x0
            assert words.x1 < box.x1
            assert box.y0 < words.y0
            assert words.y1 < box.y1
        sides[int(box.x0 > figure.bbox.width / 2)].append((box, [text for text, _ in inside]))
    return [sorted(side, key=lambda entry: entry[0].y0) for side in sides]


def _middle(box: Any) -> tuple[float, float]:
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def names(side: list[tuple[Any, list[str]]]) -> list[str]:
    return [texts[0] for _, texts in side]


def arrow_heads(figure: Any) -> list[tuple[float, float]]:
    """Where arrows end, in pixels."""
    axes = figure.axes[0]
    ends = [text.xy for text in axes.texts if not text.get_text()]
    return [tuple(end) for end in axes.transData.transform(np.array(ends))]


def ends_at(figure: Any, x: float, y: float) -> bool:
    return any(abs(x - a) < 2 and abs(y - b) < 2 for a, b in arrow_heads(figure))


@pytest.mark.ledger("T-F5", "B-F7.15")
def test_post_norm_adds_and_normalizes_after_every_sublayer() -> None:
    encoder, decoder = columns(architecture_figure(preset("medium", 8000, 8212)))
    attention, perceptrons = ["Self-attention", "Add and normalize"], ["Two perceptrons", "Add and normalize"]
    assert names(encoder) == ["Source embedding", "Positions", *attention, *perceptrons]
    causal, cross = ["Causal self-attention", "Add and normalize"], ["Cross-attention", "Add and normalize"]
    assert names(decoder) == [
        "Reference embedding", "Positions", *causal, *cross, *perceptrons, "Output perceptron", "Softmax",
    ]  # fmt: skip


@pytest.mark.ledger("T-F5")
def test_pre_norm_normalizes_before_and_at_the_end() -> None:
    encoder, decoder = columns(architecture_figure(preset("medium", 8000, 8212, block="pre", positions="none")))
    attention, perceptrons = ["Normalize", "Self-attention", "Add"], ["Normalize", "Two perceptrons", "Add"]
    assert names(encoder) == ["Source embedding", *attention, *perceptrons, "Final normalization"]
    causal, cross = ["Normalize", "Causal self-attention", "Add"], ["Normalize", "Cross-attention", "Add"]
    assert names(decoder) == [
        "Reference embedding", *causal, *cross, *perceptrons, "Final normalization", "Output perceptron", "Softmax",
    ]  # fmt: skip


@pytest.mark.ledger("T-F5")
def test_sizes_stand_where_they_act() -> None:
    figure = architecture_figure(preset("large", 8000, 9000))
    encoder, decoder = ({texts[0]: texts[1:] for _, texts in side} for side in columns(figure))
    assert encoder["Source embedding"] == ["$v_S$ = 8,000 → $d$ = 256"]
    assert decoder["Reference embedding"] == ["$v_R$ = 9,000 → $d$ = 256"]
    for side, name in ((encoder, "Self-attention"), (decoder, "Causal self-attention"), (decoder, "Cross-attention")):
        assert side[name] == ["$h$ = 8 heads of 32 columns"]
    assert encoder["Two perceptrons"] == decoder["Two perceptrons"] == ["$d$ = 256 → $d_p$ = 512 → 256, relu"]
    assert decoder["Output perceptron"] == ["$d$ = 256 → $v_R$ = 9,000"]
    said = [text.get_text() for text in figure.axes[0].texts]
    assert said.count("× τ = 2") == 2
    deeper = columns(architecture_figure(preset("small", 8, 8, hidden_layers=2)))[0]
    shown = {texts[0]: texts[1:] for _, texts in deeper}
    assert shown["Three perceptrons"] == ["$d$ = 64 → $d_p$ = 128 → $d_p$ = 128 → 64, relu"]


@pytest.mark.parametrize("block", ["post", "pre"])
def test_arrows_go_up_around_and_across(block: str) -> None:
    figure = architecture_figure(preset("small", 8, 8, block=block))
    encoder, decoder = columns(figure)
    for side in (encoder, decoder):
        for box, _ in side:
            assert ends_at(figure, (box.x0 + box.x1) / 2, box.y0)
    (cross,) = [box for box, texts in decoder if texts[0] == "Cross-attention"]
    assert ends_at(figure, cross.x0, (cross.y0 + cross.y1) / 2)
    added = [
        (box.x0 if side is encoder else box.x1, box)
        for side in (encoder, decoder)
        for box, texts in side
        if "Add" in texts[0]
    ]
    assert len(added) == 5
    for edge, box in added:
        assert ends_at(figure, edge, (box.y0 + box.y1) / 2)
    boxes = len(encoder) + len(decoder)
    assert len(arrow_heads(figure)) == boxes + 5 + 1 + 1  # up into each, around, across, out at the top


@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_bracket_spans_what_is_repeated(block: str) -> None:
    figure = architecture_figure(preset("small", 8, 8, block=block, layers=6))
    sides = columns(figure)
    axes = figure.axes[0]
    brackets = [axes.transData.transform(line.get_xydata()) for line in axes.get_lines() if line.get_color() == "black"]
    for bracket, side in zip(brackets, sides, strict=True):
        inside = [texts[0] for box, texts in side if bracket[:, 1].min() <= box.y0 and box.y1 <= bracket[:, 1].max()]
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
    encoder, _ = columns(architecture_figure(configuration))  # which checks every box
    assert ("Positions" in names(encoder)) == (positions not in ("relative", "none"))
    told = " ".join(text for _, texts in encoder for text in texts)
    assert ("bias up to ±128" in told) == (positions == "relative")
    assert ("part of" in told) == (positions in ("concatenated_sinusoid", "one_hot"))


@pytest.mark.parametrize(("tied", "tables", "outputs"), [("none", 0, 0), ("output", 0, 1), ("all", 2, 1)])
def test_it_says_what_is_tied(tied: str, tables: int, outputs: int) -> None:
    figure = architecture_figure(preset("small", 8, 8, tied=tied))
    said = [text.get_text() for text in figure.axes[0].texts]
    assert sum("one table (tied)" in text for text in said) == tables
    assert sum("tied to the table" in text for text in said) == outputs


def test_the_title_says_the_block_and_the_dropout() -> None:
    said = {text.get_text() for text in architecture_figure(preset("small", 8, 8, dropout=0.25)).axes[0].texts}
    assert "Transformer, post-norm, dropout 0.25" in said
    said = {text.get_text() for text in architecture_figure(preset("small", 8, 8, block="pre")).axes[0].texts}
    assert "Transformer, pre-norm" in said
