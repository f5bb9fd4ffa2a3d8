"""Any network as a column of its layers, read from the built network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dragoman.analysis.figures.architecture import POSITIONS, architecture_figure, ends, skip
from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.recurrent import recurrent_figure
from dragoman.graph import Parameter, value_of
from dragoman.layers import CrossAttention, Embedding, FeedForward, Normalization, Perceptron, Recurrent, SelfAttention
from dragoman.layers.embedding import Positioned, RowEmbedding
from dragoman.layers.layer import Layer
from dragoman.layers.pooling import Pooling
from dragoman.networks import EncoderDecoder, Network, Transformer
from dragoman.networks.blocks import Block
from dragoman.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def network_figure(network: Network) -> Figure:
    """The architecture of any network: two columns of an encoder-decoder, one column of others."""
    if isinstance(network, Transformer):
        return architecture_figure(network.configuration)
    if isinstance(network, EncoderDecoder):
        return recurrent_figure(network.configuration)
    name = " ".join(_words(type(network).__name__))
    return stack_diagram(network).figure(f"{name}: {network.count():,} parameters")


def stack_diagram(network: Network) -> Diagram:
    """The layers in the order in which they were built; blocks that repeat are drawn once, with their number."""
    diagram, boxes = Diagram(gaps=(1.0, 0.28)), _Column()
    for name, attribute in vars(network).items():
        if isinstance(attribute, Parameter):
            boxes.add(Part("embedding", _title(name), " × ".join(f"{n:,}" for n in attribute.value.shape)))
        elif isinstance(attribute, Layer):
            boxes.add(describe(name, attribute))
        elif isinstance(attribute, tuple) and attribute and all(isinstance(item, Layer) for item in attribute):
            boxes.add_list(name, attribute)
    names = [diagram.box(f"0.{row}", 0, row, part) for row, part in enumerate(boxes.parts)]
    diagram.chain(*names)
    for first, last in boxes.skips:
        skip(diagram, 0, first, last, "east")
    for first, last, text in boxes.brackets:
        diagram.bracket(names[first : last + 1], text, "west")
    labels = any(isinstance(layer, Embedding) for layer in vars(network).values())
    ends(diagram, ("labels" if labels else "$x$",), len(names), "$y$")
    return diagram


class _Column:
    """Boxes from the bottom to the top, residual connections around them, and what is repeated."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.skips: list[tuple[int, int]] = []
        self.brackets: list[tuple[int, int, str]] = []

    def add(self, part: Part | None) -> None:
        if part is not None:
            self.parts.append(part)

    def add_list(self, name: str, layers: tuple[Any, ...]) -> None:
        if not isinstance(layers[0], Block):
            for i, layer in enumerate(layers):
                self.add(describe(f"{name} {i + 1}", layer))
            return
        first, block = len(self.parts), layers[0]
        for part_name, layer in vars(block).items():
            if isinstance(layer, Layer) and not isinstance(layer, Normalization):
                self._around(describe(part_name, layer), block.pre)
        self.brackets.append((first, len(self.parts) - 1, f"× {len(layers)}"))

    def _around(self, part: Part | None, pre: bool) -> None:
        """A sub-layer with its addition and normalization, in the order of the block."""
        start = len(self.parts)
        if pre:
            self.add(Part("normalization", "Normalize"))
        self.add(part)
        self.add(Part("addition", "Add") if pre else Part("normalization", "Add and normalize"))
        self.skips.append((start, len(self.parts) - 1))


def describe(name: str, layer: Any) -> Part | None:
    """What a box says about a layer; None for one that does nothing."""
    if isinstance(layer, Positioned):
        return _embedding(layer)
    if isinstance(layer, SelfAttention | CrossAttention):
        depth = value_of(layer.projection.weights).shape[0]
        kind = "Cross-attention" if isinstance(layer, CrossAttention) else "Self-attention"
        kind = "Causal self-attention" if getattr(layer, "causal", False) else kind
        return Part("attention", kind, f"$h$ = {layer.heads} heads of {depth // layer.heads} columns")
    if isinstance(layer, FeedForward):
        inner, depth = value_of(layer.hidden.weights).shape[1], value_of(layer.output.weights).shape[1]
        return Part("perceptron", "Perceptrons", f"{depth} → {inner} → {depth}, {layer.hidden.activation}")
    if isinstance(layer, Perceptron):
        weights = value_of(layer.weights)
        inputs, outputs = weights.T.shape if layer.transposed else weights.shape
        kind = "output" if name == "output" else "perceptron"
        tied = ", tied to the table" if layer.transposed else ""
        return Part(kind, _title(name), f"{inputs:,} → {outputs:,}, {layer.activation}{tied}")
    if isinstance(layer, Normalization):
        return Part("normalization", "Final normalization", f"{len(value_of(layer.gamma)):,} columns")
    if isinstance(layer, Recurrent):
        return _recurrent(layer)
    if isinstance(layer, Pooling):
        return None if layer.kind == "none" else Part("attention", "Pooling", layer.kind.replace("_", " "))
    kind = " ".join(_words(type(layer).__name__))
    about = "" if kind == _title(name) else f"{kind}, "
    return Part("plain", _title(name), f"{about}{layer.count():,} parameters")


def _embedding(layer: Positioned) -> Part:
    table = value_of(layer.weights if isinstance(layer, RowEmbedding) else layer.table)  # type: ignore[attr-defined]
    placed = POSITIONS.get(layer.positions, layer.positions)
    rows = 0 if layer.position_table is None else len(value_of(layer.position_table))
    placed = "" if layer.positions == "none" else f"\npositions: {placed.format(rows or layer.position_depth)}"
    return Part("embedding", "Embedding", f"{table.shape[0]:,} → {layer.depth}{placed}")


def _recurrent(layer: Recurrent) -> Part:
    cells, both = layer.forward, bool(layer.backward)
    ways = "both directions" if both else "one direction"
    units = f"{cells[0].units} + {cells[0].units}" if both else f"{cells[0].units}"
    return Part("state", f"{cells[0].kind.upper()}, {ways}", f"$m$ = {units} units, {counted(len(cells), 'layer')}")


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _words(name: str) -> list[str]:
    """The words of a class's name: LanguageModel is a language model."""
    first, *rest = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])", name) or [name]
    return [first, *(word.lower() for word in rest)]
