"""Several diagrams in one figure: tasks and paradigms of sequence models, units, blocks (book, 7.1, 7.2, 7.15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.picture import arranged, render
from dragoman.analysis.figures.unrolled import Ends, place_steps, step_symbol
from dragoman.layers import Recurrent
from dragoman.networks import ConvolutionalDecoder, RecurrentEncoder, RecurrentNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def panels(diagrams: Sequence[tuple[str, Diagram]], across: int = 2, title: str = "") -> Figure:
    """Diagrams with their captions, `across` of them in a row."""
    return render(arranged([(caption, diagram.picture()) for caption, diagram in diagrams], across), title)


def classification_diagram(network: RecurrentEncoder, words: Sequence[str], classes: Sequence[str]) -> Diagram:
    """A sequence in, one distribution out: by its last state, or by pooling all of them (7.1 b)."""
    diagram = Diagram((0.42, 0.3))
    units = place_steps(diagram, network.recurrent, [Ends(word) for word in words])
    row = max(node.cell[1] for node in diagram.nodes.values()) + 1
    pooled = network.pooling is not None
    part = Part("output", f"softmax of {network.configuration.outputs} classes", ", ".join(classes))
    last = diagram.nodes[units[-1]].cell[0]
    if pooled:
        about = f"{network.configuration.pooling} of all states"
        diagram.box("pool", 0, row, Part("attention", "Pooling", about), until=last)
        for unit in units:
            diagram.arrow(unit, "pool", sides=("north", "south"))
        diagram.arrow("pool", diagram.box("classes", 0, row + 1, part, until=last))
    else:
        diagram.box("classes", max(0, last - 2), row, part, until=last)
        diagram.arrow(units[-1], "classes", sides=("north", "south"))
    return diagram


def caption_diagram(network: ConvolutionalDecoder, words: Sequence[str]) -> Diagram:
    """An image in, a sentence out: its code is the first state of the decoder (7.1 d)."""
    diagram, c = Diagram((0.42, 0.3)), network.configuration
    ends = [Ends(read, word, "output") for read, word in zip(["<start>", *words[:-1]], words, strict=True)]
    assert isinstance(network.decoder, Recurrent)
    units = place_steps(diagram, network.decoder, ends, column=2)
    layers = f"{len(c.filters)} convolutions of {c.window} × {c.window}"
    diagram.box("encoder", 0, 1, Part("perceptron", "Image encoder", layers))
    diagram.arrow(diagram.text("image", 0, 0, f"image\n{c.height} × {c.width} × {c.channels}"), "encoder")
    diagram.arrow("encoder", diagram.box("z", 1, 1, Part("context", "$z^*$", f"{c.units}")))
    diagram.arrow("z", units[0])
    return diagram


def paradigm_diagram(network: RecurrentNetwork, reads: Sequence[bool], gives: Sequence[bool]) -> Diagram:
    """Steps that read an input, give an output, or neither (7.2)."""
    ends, given = [], 0
    for t, (reading, giving) in enumerate(zip(reads, gives, strict=True), start=1):
        given += giving
        ends.append(Ends(step_symbol("x", t) if reading else "", step_symbol(r"\hat{y}", given) if giving else ""))
    diagram = Diagram((0.42, 0.3))
    place_steps(diagram, network.hidden, ends)
    return diagram
