"""The parts of a recurrent encoder-decoder, and how its decoder gets the source (book, Figures 7.9 and 7.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.analysis.figures.architecture import across, column, ends
from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.networks.encoder_decoder import RecurrentConfiguration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEARD = {
    "initial": "the last state → the first state",
    "every_step": "the last state → every step",
    "attention": "all states → attention",
}


def recurrent_figure(configuration: RecurrentConfiguration) -> Figure:
    """Encoder and decoder side by side, from the labels at the foot to the probabilities."""
    c = configuration
    columns = [_encoder(c), _decoder(c)]
    dropout = f", dropout {c.dropout:g}" if c.dropout else ""
    diagram = Diagram(gaps=(1.0, 0.28))
    for side, boxes in enumerate(columns):
        column(diagram, side, boxes)
        layer = next(row for row, part in enumerate(boxes) if part.kind == "perceptron")
        diagram.bracket([f"{side}.{layer}"], f"× L = {c.layers}", "west" if side == 0 else "east")
    looks = 1 if c.context != "initial" else next(i for i, part in enumerate(columns[1]) if part.kind == "perceptron")
    across(diagram, len(columns[0]), looks, HEARD[c.context])
    ends(diagram, ("source labels", "reference labels"), len(columns[1]), "probabilities of the next label")
    return diagram.figure(f"{c.cell.upper()} encoder-decoder{dropout}: {c.count():,} parameters")


def _encoder(c: RecurrentConfiguration) -> list[Part]:
    ways = "both directions" if c.bidirectional else "one direction"
    units = f"{c.units // 2} + {c.units // 2}" if c.bidirectional else f"{c.units}"
    order = ", from the end" if c.reversed else ""
    return [
        Part("embedding", "Source embedding", f"$v_S$ = {c.source_vocabulary:,} → $p$ = {c.depth}"),
        Part("perceptron", f"{c.cell.upper()}, {ways}{order}", f"$m$ = {units} units"),
    ]


def _decoder(c: RecurrentConfiguration) -> list[Part]:
    entry = Part("embedding", "Reference embedding", f"$v_R$ = {c.target_vocabulary:,} → $p$ = {c.depth}")
    cell = Part("perceptron", c.cell.upper(), f"$m$ = {c.units} units")
    wide = 2 * c.units if c.context == "every_step" else c.units
    output = Part("output", "Output perceptron", f"{wide} → $v_R$ = {c.target_vocabulary:,}")
    shown = {
        "initial": [],
        "every_step": [Part("addition", "Beside the last state of the source", f"{c.depth} + {c.units} columns")],
        "attention": [Part("attention", "Attention", f"{c.score.replace('_', ' ')} score, by the state before")],
    }
    return [entry, *shown[c.context], cell, output, Part("output", "Softmax")]
