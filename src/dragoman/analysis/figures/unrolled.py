"""Recurrent networks unrolled in time (book, Figures 7.1 to 7.3, 7.5, 7.7, 7.9 and 7.10), from their built layers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.analysis.figures.diagram import Diagram, Part, Side
from dragoman.errors import ShapeError
from dragoman.layers import AttentionalDecoder, Recurrent
from dragoman.networks import EncoderDecoder

GAPS = (0.42, 0.3)


@dataclass(frozen=True)
class Ends:
    """What a step reads and what it gives, as texts; an empty one is not drawn."""

    read: str
    given: str = ""
    kind: str = ""  # the colour of what is given, where it stands in a box


def step_symbol(letter: str, t: int | str) -> str:
    """x<t> as a formula."""
    return rf"${letter}^{{\langle {t} \rangle}}$"


def recursive_diagram(recurrent: Recurrent) -> Diagram:
    """One unit that feeds itself (Figure 7.3, left)."""
    diagram = Diagram(GAPS)
    diagram.box("unit", 0, 1, _unit(recurrent, 0))
    diagram.chain(
        diagram.text("x", 0, 0, step_symbol("x", "t")), "unit", diagram.text("y", 0, 2, step_symbol(r"\hat{y}", "t"))
    )
    diagram.arrow("unit", "unit", (0.5, 1), (0.5, 1), sides=("east", "east"), at=(0.12, -0.12))
    diagram.text("h", 1, 1, step_symbol("h", "t-1"))
    return diagram


def unrolled_diagram(recurrent: Recurrent, ends: Sequence[Ends], *, named: bool = False, first: str = "") -> Diagram:
    """A unit for each step and layer, with what each step reads and gives.

    named  the states between the steps have their names
    first  what the first state is, where it is not 0
    """
    if not ends:
        raise ShapeError("a network is unrolled along at least one step")
    diagram = Diagram(GAPS)
    columns = [place_steps(diagram, recurrent, ends, named=named)]
    if first:
        state = diagram.text("first", -1, 1, first)
        diagram.arrow(state, columns[0][0])
    return diagram


def place_steps(
    diagram: Diagram, recurrent: Recurrent, ends: Sequence[Ends], column: int = 0, prefix: str = "", named: bool = False
) -> list[str]:
    """Place the steps from `column` on; returns the names of the last layer's units, one for each step."""
    wide = 2 if recurrent.backward else 1
    middles = [column + wide * t + (wide - 1) / 2 for t in range(len(ends))]
    below = []
    for t, (end, x) in enumerate(zip(ends, middles, strict=True)):
        below.append(diagram.text(f"{prefix}x{t}", x, 0, end.read) if end.read else "")
    row = 1
    for layer in range(len(recurrent.forward)):
        place = _both_ways if recurrent.backward else _one_way
        below, row = place(diagram, recurrent, layer, below, (column, row), prefix, named)
    for t, (end, x) in enumerate(zip(ends, middles, strict=True)):
        name = f"{prefix}y{t}"
        if end.given and end.kind:
            diagram.arrow(below[t], diagram.box(name, x, row, Part(end.kind, end.given)))
        elif end.given:
            diagram.arrow(below[t], diagram.text(name, x, row, end.given))
    return below


def _one_way(
    diagram: Diagram, recurrent: Recurrent, layer: int, below: list[str], at: tuple[int, int], prefix: str, named: bool
) -> tuple[list[str], int]:
    column, row = at
    units = [
        diagram.box(f"{prefix}unit {layer}.{t}", column + t, row, _unit(recurrent, layer)) for t in range(len(below))
    ]
    for read, unit in zip(below, units, strict=True):
        if read:
            diagram.arrow(read, unit)
    for t, (before, after) in enumerate(itertools.pairwise(units), start=1):
        diagram.arrow(before, after, label=step_symbol(_letter(recurrent, layer), t) if named else "")
    return units, row + 1


def _both_ways(
    diagram: Diagram, recurrent: Recurrent, layer: int, below: list[str], at: tuple[int, int], prefix: str, named: bool
) -> tuple[list[str], int]:
    """Forward units to the left of each step, backward ones above and to the right, joined side by side."""
    column, row = at
    forward, backward, joined = [], [], []
    for t in range(len(below)):
        x = column + 2 * t
        forward.append(diagram.box(f"{prefix}unit {layer}.{t}", x, row, _unit(recurrent, layer, "→")))
        backward.append(diagram.box(f"{prefix}back {layer}.{t}", x + 1, row + 1, _unit(recurrent, layer, "←")))
        joined.append(diagram.circle(f"{prefix}join {layer}.{t}", x + 0.5, row + 2, "‖", "addition"))
        if below[t]:
            diagram.dot(x + 0.5, row - 0.5)
        for unit, side in ((forward[-1], "west"), (backward[-1], "east")):
            if below[t]:
                turn = ((x + 0.5, row - 0.5), (diagram.nodes[unit].cell[0], row - 0.5))
                diagram.arrow(below[t], unit, *turn, sides=("north", "south"))
            diagram.arrow(unit, joined[-1], sides=("north", side))  # type: ignore[arg-type]
    diagram.chain(*forward)
    diagram.chain(*reversed(backward))
    return joined, row + 3


def _unit(recurrent: Recurrent, layer: int, direction: str = "") -> Part:
    cell = recurrent.forward[layer]
    return Part("state", f"{cell.kind.upper()} {direction}".strip(), f"$m$ = {cell.units}")


def _letter(recurrent: Recurrent, layer: int) -> str:
    return f"h_{{[{layer + 1}]}}" if len(recurrent.forward) > 1 else "h"


def translation_diagram(network: EncoderDecoder, source: Sequence[str], written: Sequence[str]) -> Diagram:
    """Encoder and decoder unrolled: how the decoder gets the source, and reads what it wrote (7.1 c, 7.9, 7.10)."""
    c, diagram = network.configuration, Diagram((0.4, 0.34))
    read = list(reversed(source)) if c.reversed else list(source)
    encoder = place_steps(diagram, network.encoder, [Ends(word) for word in read], prefix="encoder ")
    wide = len(read) * (2 if network.encoder.backward else 1)
    ends = [Ends(before, word, "output") for before, word in zip(["<start>", *written[:-1]], written, strict=True)]
    if isinstance(network.decoder, AttentionalDecoder):
        return _with_attention(diagram, network.decoder, encoder, ends, wide)
    column = wide + 1
    decoder = place_steps(diagram, network.decoder, ends, column=column, prefix="decoder ")
    top = len(network.decoder.forward) + 1
    _feed_back(diagram, range(column, column + len(ends)), top)
    diagram.box("z", wide, 1, Part("context", "$z^*$", f"{c.units}"))
    diagram.arrow(f"encoder unit {len(network.encoder.forward) - 1}.{len(read) - 1}", "z", sides=("east", "west"))
    diagram.arrow("z", "decoder unit 0.0")
    if c.context == "every_step":
        for side, row, names in (("south", 0.5, "unit 0."), ("north", top - 0.5, "y")):
            for t in range(len(decoder)):
                turn = ((wide, row), (column + t, row))
                enter: Side = "south"
                diagram.arrow("z", f"decoder {names}{t}", *turn, sides=(side, enter), at=(0, 0.14))  # type: ignore[arg-type]
    return diagram


def _feed_back(diagram: Diagram, columns: Sequence[int], top: int) -> None:
    """Dashed arrows from what each step wrote to what the next one reads."""
    for t, column in enumerate(columns[1:], start=1):
        path = ((column - 0.5, top), (column - 0.5, 0))
        sides: tuple[Side, Side] = ("east", "west")
        diagram.arrow(f"decoder y{t - 1}", f"decoder x{t}", *path, sides=sides, dashed=True, colour="0.45")


def _with_attention(
    diagram: Diagram, decoder: AttentionalDecoder, encoder: Sequence[str], ends: Sequence[Ends], wide: int
) -> Diagram:
    """The decoder above, with an attention between that sees all rows of the encoder (Figure 7.10)."""
    base = int(max(node.cell[1] for node in diagram.nodes.values())) + 1
    right = max(wide, 2 * len(ends)) - 1
    score = decoder.attention.score.replace("_", " ")
    diagram.box("attention", 0, base, Part("attention", "Attention", f"{score} score"), until=right)
    for name in encoder:
        diagram.arrow(name, "attention", sides=("north", "south"))
    cells = decoder.cells.forward
    for t, end in enumerate(ends):
        x = 2 * t + 0.5
        for layer, cell in enumerate(cells):
            part = Part("state", cell.kind.upper(), f"$m$ = {cell.units}")
            diagram.box(f"decoder unit {layer}.{t}", x, base + 1 + layer, part)
        diagram.box(f"decoder y{t}", x, base + 1 + len(cells), Part("output", end.given))
        diagram.chain(*(f"decoder unit {layer}.{t}" for layer in range(len(cells))), f"decoder y{t}")
        diagram.arrow("attention", f"decoder unit 0.{t}", sides=("north", "south"))
        if t:
            for layer in range(len(cells)):
                diagram.arrow(f"decoder unit {layer}.{t - 1}", f"decoder unit {layer}.{t}")
            path = ((x - 1, base + 1 + len(cells)), (x - 1, base + 1))
            sides: tuple[Side, Side] = ("east", "west")
            name = f"decoder unit 0.{t}"
            diagram.arrow(f"decoder y{t - 1}", name, *path, sides=sides, at=(0, 0.12), dashed=True, colour="0.45")
            query = ((x - 1.35, base + len(cells)), (x - 1.35, base + 0.5))
            last = f"decoder unit {len(cells) - 1}.{t - 1}"
            diagram.arrow(last, "attention", *query, sides=("east", "north"), at=(-0.12, 0))
    return diagram
