"""The parts of a Transformer, and what d, d_p, h and tau do to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.analysis.figures.diagram import Diagram, Part, Side
from dragoman.layers.embedding import CONCATENATED
from dragoman.networks.transformer import TransformerConfiguration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CROSS = "Cross-attention"
POSITIONS = {
    "half_sinusoid": "sines, then cosines, added",
    "interleaved_sinusoid": "sines and cosines by turns, added",
    "concatenated_sinusoid": "sinusoids in columns of their own",
    "one_hot": "one-hot, in {} columns of their own",
    "learned": "a learned table of {}, added",
    "joint": "a learned table of {}, mixed by tanh",
}


@dataclass(frozen=True)
class Stack:
    """One side of the architecture, bottom to top; only the sub-layers are repeated."""

    entry: list[Part]
    sublayers: list[Part]
    end: list[Part]


def architecture_figure(configuration: TransformerConfiguration) -> Figure:
    """Encoders and decoders side by side, from the labels at the foot to the probabilities (thesis, Figure 5).

    One encoder and one decoder are drawn, and brackets say how often they are stacked.
    """
    c = configuration
    dropout = f", dropout {c.dropout:g}" if c.dropout else ""
    return architecture_diagram(c).figure(f"Transformer, {c.block}-norm{dropout}: {c.count():,} parameters")


def architecture_diagram(configuration: TransformerConfiguration) -> Diagram:
    """The diagram of a Transformer, without its title."""
    c, diagram = configuration, Diagram(gaps=(1.0, 0.28))
    stacks = _encoder(c), _decoder(c)
    columns = [_boxes(stack, c) for stack in stacks]
    for side, (stack, boxes) in enumerate(zip(stacks, columns, strict=True)):
        names = column(diagram, side, boxes)
        first, last = len(stack.entry), len(boxes) - len(stack.end) - 1
        size = (last + 1 - first) // len(stack.sublayers)
        for row in range(first, last, size):
            skip(diagram, side, row, row + size - 1, "west" if side == 0 else "east")
        diagram.bracket(names[first : last + 1], f"× τ = {c.layers}", "west" if side == 0 else "east")
    looks = [part.name for part in columns[1]].index(CROSS)
    across(diagram, len(columns[0]), looks, "last encoder → every decoder")
    ends(diagram, ("source labels", "reference labels"), len(columns[1]), "probabilities of the next label")
    return diagram


def block_diagrams(c: TransformerConfiguration) -> tuple[Diagram, Diagram]:
    """One encoder block, and one decoder block that attends to z* (book, Figure 7.15)."""
    found = []
    for stack, entry in ((_encoder(c), "$a_{in}$"), (_decoder(c), "$a_{in}$")):
        diagram = Diagram(gaps=(0.6, 0.28))
        boxes = [part for sublayer in stack.sublayers for part in _around(c, sublayer)]
        column(diagram, 0, boxes)
        size = len(boxes) // len(stack.sublayers)
        for row in range(0, len(boxes), size):
            skip(diagram, 0, row, row + size - 1, "east")
        ends(diagram, (entry,), len(boxes), "$a_{out}$")
        names = [part.name for part in boxes]
        if CROSS in names:
            row = names.index(CROSS)
            diagram.arrow(diagram.text("z", -1, row, "$z^*$", "of the encoder"), f"0.{row}")
        found.append(diagram)
    return found[0], found[1]


def column(diagram: Diagram, side: int, boxes: list[Part]) -> list[str]:
    """Boxes from the bottom to the top, with arrows from each to the next; returns their names."""
    names = [diagram.box(f"{side}.{row}", side, row, part) for row, part in enumerate(boxes)]
    diagram.chain(*names)
    return names


def skip(diagram: Diagram, side: int, first: int, last: int, out: Side) -> None:
    """The residual connection: from below one box around to another, at an outer side."""
    beside, below = side + (0.25 + 0.1 / diagram.gaps[0]) * (-1 if out == "west" else 1), first - 0.5  # 0.2 inches
    diagram.arrow((side, below), f"{side}.{last}", (beside, below), (beside, last), sides=(None, out))


def across(diagram: Diagram, top: int, row: int, text: str) -> None:
    """From above the left column's last box into the right column's box at `row`."""
    diagram.arrow(f"0.{top - 1}", f"1.{row}", (0, top - 0.4), (0.5, top - 0.4), (0.5, row), sides=("north", "west"))
    diagram.text("across", 0, top, text)


def ends(diagram: Diagram, feet: Sequence[str], top: int, head: str) -> None:
    """What goes in at the foot of each column, and what comes out of the last one."""
    for side, foot in enumerate(feet):
        diagram.arrow(diagram.text(f"foot {side}", side, -1, foot), f"{side}.0")
    last = len(feet) - 1
    diagram.arrow(f"{last}.{top - 1}", diagram.text("head", last, top, head))


def _encoder(c: TransformerConfiguration) -> Stack:
    return Stack(
        _entry(c, "Source", "v_S", c.source_vocabulary),
        [_attention(c, "Self-attention", c.positions == "relative"), _perceptrons(c)],
        _final(c),
    )


def _decoder(c: TransformerConfiguration) -> Stack:
    attention = _attention(c, "Causal self-attention", c.positions == "relative")
    tied = "" if c.tied == "none" else ", tied to the table"
    output = Part("output", "Output perceptron", f"$d$ = {c.depth} → $v_R$ = {c.target_vocabulary:,}{tied}")
    return Stack(
        _entry(c, "Reference", "v_R", c.target_vocabulary),
        [attention, _attention(c, CROSS), _perceptrons(c)],
        [*_final(c), output, Part("output", "Softmax")],
    )


def _entry(c: TransformerConfiguration, which: str, symbol: str, vocabulary: int) -> list[Part]:
    """The embedding, and its positions where they are a step of their own."""
    tied = ", one table (tied)" if c.tied == "all" else ""
    part = "part of " if c.positions in CONCATENATED else ""
    parts = [Part("embedding", f"{which} embedding", f"${symbol}$ = {vocabulary:,} → {part}$d$ = {c.depth}{tied}")]
    if c.positions in POSITIONS:
        parts.append(Part("embedding", "Positions", POSITIONS[c.positions].format(c.maximum_length)))
    return parts


def _attention(c: TransformerConfiguration, name: str, relative: bool = False) -> Part:
    bias = f", bias up to ±{c.relative_reach}" if relative else ""
    return Part("attention", name, f"$h$ = {c.heads} heads of {c.depth // c.heads} columns{bias}")


def _perceptrons(c: TransformerConfiguration) -> Part:
    hidden = " → ".join([f"$d_p$ = {c.perceptron_depth}"] * c.hidden_layers)
    name = "Two perceptrons" if c.hidden_layers == 1 else "Three perceptrons"
    return Part("perceptron", name, f"$d$ = {c.depth} → {hidden} → {c.depth}, {c.activation}")


def _final(c: TransformerConfiguration) -> list[Part]:
    """Pre-norm never normalizes the sum it carries along, so each stack does so at its end."""
    return [Part("normalization", "Final normalization")] if c.block == "pre" else []


def _around(c: TransformerConfiguration, sublayer: Part) -> list[Part]:
    """A sub-layer with its addition and normalization, in the order of the block."""
    if c.block == "post":
        return [sublayer, Part("normalization", "Add and normalize")]
    return [Part("normalization", "Normalize"), sublayer, Part("addition", "Add")]


def _boxes(stack: Stack, c: TransformerConfiguration) -> list[Part]:
    repeated = [part for sublayer in stack.sublayers for part in _around(c, sublayer)]
    return [*stack.entry, *repeated, *stack.end]
