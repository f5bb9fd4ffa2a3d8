"""The parts of a Transformer, and what d, d_p, h and tau do to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.analysis.figures.diagram import Diagram, Part
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
    stacks = [_encoder(c), _decoder(c)]
    columns = [_boxes(stack, c) for stack in stacks]
    dropout = f", dropout {c.dropout:g}" if c.dropout else ""
    diagram = Diagram(max(map(len, columns)), f"Transformer, {c.block}-norm{dropout}")
    for side, (stack, boxes) in enumerate(zip(stacks, columns, strict=True)):
        _draw(diagram, side, stack, boxes, c)
    looks = [part.name for part in columns[1]].index(CROSS)
    diagram.across(len(columns[0]), looks, "last encoder → every decoder")
    diagram.name_ends(("source labels", "reference labels"), len(columns[1]), "probabilities of the next label")
    return diagram.figure


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


def _draw(diagram: Diagram, side: int, stack: Stack, boxes: list[Part], c: TransformerConfiguration) -> None:
    for row, part in enumerate(boxes):
        diagram.box(side, row, part)
    first, last = len(stack.entry), len(boxes) - len(stack.end) - 1
    size = (last + 1 - first) // len(stack.sublayers)
    for row in range(first, last, size):
        diagram.skip(side, row, row + size - 1)
    diagram.bracket(side, first, last, f"× τ = {c.layers}")
