"""The layers of a Transformer from inside (thesis, Figures 6 to 10), each with the sizes of a built layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.picture import COPY
from dragoman.graph import value_of
from dragoman.layers import CrossAttention, Embedding, Normalization, Perceptron, SelfAttention
from dragoman.layers.embedding import CONCATENATED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COPIES = 6  # heads that are drawn one behind the other
SINUSOIDS = {
    "half_sinusoid": r"sines, then cosines of $j\,/\,10000^{2k/d}$",
    "interleaved_sinusoid": r"sines and cosines of $t\,/\,10000^{2i/d}$ by turns",
}


def embedding_diagram(layer: Embedding) -> Diagram:
    """Labels, their rows of W, scaled by the root of d, and the positions that are added (Figure 6)."""
    vocabulary, depth = value_of(layer.table).shape
    diagram = Diagram(gaps=(0.5, 0.3))
    diagram.text("labels", 0, -1, r"labels $x \in X_v^{\,n \times m}$")
    diagram.box("lookup", 0, 0, Part("embedding", r"Lookup  $\phi(x; W)$", f"$W$: $v$ = {vocabulary:,} × {depth}"))
    names = ["labels", "lookup"]
    if layer.scale != 1:
        scaled = rf"$\times\sqrt{{d}}$ = $\sqrt{{{layer.depth}}}$ = {layer.scale:.4g}"
        names.append(diagram.box("scale", 0, 1, Part("addition", "Scale", scaled)))
    if layer.positions in (*SINUSOIDS, "learned"):
        if layer.position_table is None:
            positions = Part("plain", "Positional encoding  $PE$", SINUSOIDS[layer.positions])
        else:
            rows = value_of(layer.position_table).shape[0]
            positions = Part("embedding", "Positions", f"a learned table: {rows:,} × {layer.depth}")
        diagram.circle("add", 0, 2, "+", "addition")
        diagram.arrow(diagram.box("positions", 1, 2, positions), "add")
        names.append("add")
    elif layer.positions in CONCATENATED:
        text = f"{layer.position_depth} columns of their own, beside {depth}"
        names.append(diagram.box("positions", 0, 2, Part("plain", f"Positions, {layer.positions}", text)))
    elif layer.positions == "joint":
        names.append(diagram.box("positions", 0, 2, Part("embedding", "Positions, mixed", layer.joint_activation)))
    names.append(diagram.text("output", 0, 3, rf"$y \in \mathbb{{R}}^{{\,n \times m \times d}}$,  $d$ = {layer.depth}"))
    diagram.chain(*names)
    return diagram


def attention_diagram(layer: SelfAttention | CrossAttention) -> Diagram:
    """Queries, keys and values of every head; scores, mask, softmax, values, projection (Figure 7)."""
    depth = value_of(layer.projection.weights).shape[0]
    hidden, biased = depth // layer.heads, layer.projection.biases is not None
    causal = isinstance(layer, SelfAttention) and layer.causal
    copies = min(layer.heads, MOST_COPIES)
    diagram = Diagram(gaps=(0.3 + COPY * copies, 0.28 + COPY * (copies - 1)))
    diagram.text("input", 0, -1, "input  $x_I$")
    diagram.text("context", 1.5, -1, "context  $x_C$" if isinstance(layer, CrossAttention) else "context  $x_C = x_I$")
    bias = " + $b$" if biased else ""
    for column, (letter, name) in enumerate((("Q", "Query"), ("K", "Key"), ("V", "Value"))):
        text = f"$x W_{letter}${bias}: {depth} → {hidden}"
        diagram.box(letter, column, 0, Part("perceptron", f"{name}  $\\mathcal{{T}}$", text), copies=copies)
    diagram.arrow("input", "Q")
    for letter in "KV":
        diagram.arrow("context", letter, sides=("north", "south"))
    scale = rf"$K Q^\top /\,\sqrt{{{hidden}}}$" if layer.scaled else r"$K Q^\top$"
    steps = [diagram.box("scores", 0.5, 1, Part("attention", "Scores  $A$", scale), copies=copies)]
    if causal:
        mask = Part("normalization", "Causal mask", r"$-\infty$ where $j_C > j_I$")
        steps.append(diagram.box("mask", 0.5, 2, mask, copies=copies))
    softmax = Part("output", "Softmax", "weights $\\hat{A}$, sum 1")
    steps.append(diagram.box("softmax", 0.5, len(steps) + 1, softmax, copies=copies))
    top = len(steps) + 1
    steps.append(diagram.box("outputs", 0.5, top, Part("attention", "Outputs  $O = \\hat{A}^\\top V$"), copies=copies))
    for letter, at in (("Q", -0.2), ("K", 0.2)):
        diagram.arrow(letter, "scores", sides=("north", "south"), at=(0, at))
    diagram.arrow("V", "outputs", (2, top), sides=("north", "east"))
    projection = Part("perceptron", "Projection  $\\mathcal{P}$", f"{layer.heads} × {hidden} → {depth}{bias}")
    steps.append(diagram.box("projection", 0.5, top + 1, projection))
    steps.append(diagram.text("output", 0.5, top + 2, rf"$y$: $d$ = {depth} columns"))
    diagram.chain(*steps)
    diagram.bracket(["Q", "V", "outputs"], f"$h$ = {layer.heads}\nheads", "east")
    return diagram


def addition_diagram(depth: int) -> Diagram:
    """Two inputs of the same shape and their sum (Figure 8)."""
    diagram = Diagram(gaps=(0.4, 0.35))
    diagram.text("x1", 0, 0, "$x_1$", f"residual: {depth} columns")
    diagram.text("x2", 1, 0, "$x_2$", f"sub-layer: {depth} columns")
    diagram.box("add", 0.5, 1, Part("addition", "Addition  $x_1 + x_2$", "no parameters"))
    for name, at in (("x1", -0.4), ("x2", 0.4)):
        diagram.arrow(name, "add", sides=("north", "south"), at=(0, at))
    diagram.arrow("add", diagram.text("y", 0.5, 2, f"$y$: {depth} columns"))
    return diagram


def normalization_diagram(layer: Normalization) -> Diagram:
    """Mean and deviation of each row, then scale and shift (Figure 9)."""
    (depth,) = value_of(layer.gamma).shape
    inside = layer.form == "inside"
    root = r"\sqrt{\sigma^2 + \epsilon}" if inside else r"\sigma + \epsilon"
    diagram = Diagram(gaps=(0.5, 0.32))
    diagram.text("x", 0, -1, f"$x$: {depth} columns")
    diagram.box("moments", 1, 0, Part("plain", r"$\mu(x)$,  $\sigma(x)$", f"over {depth} columns"))
    normal = rf"$\hat{{x}} = (x - \mu)\,/\,({root})$" if not inside else rf"$\hat{{x}} = (x - \mu)\,/\,{root}$"
    diagram.box(
        "normalize", 0, 1, Part("normalization", f"Normalization  {normal}", rf"$\epsilon$ = {layer.epsilon:g}")
    )
    affine = f"$\\gamma$, $\\beta$: {depth} + {depth} = {layer.count():,} parameters"
    diagram.box("affine", 0, 2, Part("perceptron", r"Affine  $\hat{x} \cdot \gamma + \beta$", affine))
    diagram.chain("x", "normalize", "affine", diagram.text("y", 0, 3, f"$y$: {depth} columns"))
    diagram.arrow((0, 0), "moments", sides=(None, "west"))
    diagram.arrow("moments", "normalize", sides=("north", "east"))
    return diagram


def perceptron_diagram(layer: Perceptron) -> Diagram:
    """Combination and activation (Figure 10)."""
    weights = value_of(layer.weights)
    inputs, outputs = weights.T.shape if layer.transposed else weights.shape
    bias = " + b" if layer.biases is not None else ""
    sizes = f"$W$: {inputs} × {outputs:,}" + (f", $b$: {outputs:,}" if bias else "") + f"; {layer.count():,} parameters"
    diagram = Diagram(gaps=(0.5, 0.32))
    diagram.text("x", 0, -1, f"$x$: $d$ = {inputs} columns")
    diagram.box("combination", 0, 0, Part("perceptron", f"Combination  $C = x W{bias}$", sizes))
    diagram.box("activation", 0, 1, Part("output", "Activation  $a(C)$", layer.activation))
    diagram.text("y", 0, 2, rf"$y$: $\tilde{{d}}$ = {outputs:,} columns")
    diagram.chain("x", "combination", "activation", "y")
    return diagram


def layer_figure(layer: Any, depth: int = 0) -> Figure:
    """One layer from inside; `depth` is that of an addition, which has no layer of its own."""
    if isinstance(layer, Embedding):
        return embedding_diagram(layer).figure(f"Embedding: {layer.count():,} parameters")
    if isinstance(layer, SelfAttention | CrossAttention):
        kind = "cross-attention" if isinstance(layer, CrossAttention) else "self-attention"
        return attention_diagram(layer).figure(f"Multi-head {kind}: {layer.count():,} parameters")
    if isinstance(layer, Normalization):
        return normalization_diagram(layer).figure("Normalization layer")
    if isinstance(layer, Perceptron):
        return perceptron_diagram(layer).figure("Perceptron layer")
    return addition_diagram(depth).figure("Addition layer")
