"""Which way information takes through self-attention (book, Figures 7.12 and 7.13), with a built layer's numbers."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.unrolled import step_symbol
from dragoman.errors import ShapeError
from dragoman.graph import Array, value_of
from dragoman.layers import ForwardContext, SelfAttention

HIDDEN, LATER = "0.6", "#c03030"  # what a mask hides; what comes later (red in the book)
SHOWN = 4  # heads; of more, the last one stands after an ellipsis


def attention_flow_diagram(layer: SelfAttention, x: Array, t: int) -> Diagram:
    """How u<t> comes from x<1> ... x<T>, for the first head: keys, the query, weights, values (Figure 7.12).

    x [T, d]; what comes after t is drawn in red, and dashed where a causal mask hides it.
    """
    if not 1 <= t <= len(x):
        raise ShapeError(f"{len(x)} positions have no position {t}")
    maps: list[Array] = []
    layer.without_gradient()(x, np.array([0, len(x)]), ForwardContext(maps=maps))
    weights, diagram = maps[0][0, 0, t - 1], Diagram((0.22, 0.4), equal=False)
    size = f"{x.shape[1] // layer.heads} × {x.shape[1]}"
    column, sums = 0, []
    for tau in range(1, len(x) + 1):
        later = tau > t
        style = {"colour": LATER if later else "0.2", "dashed": later and layer.causal}
        if later and layer.causal:
            style["colour"] = HIDDEN
        wide = 3 if tau == t else 2
        diagram.text(f"x{tau}", column + (wide - 1) / 2, 0, step_symbol("x", tau))
        if tau == t:
            diagram.box("q", column, 1, Part("perceptron", "$W_q$", size))
            diagram.arrow(f"x{tau}", "q", sides=("north", "south"))
            column += 1
        for name, letter, place in (("k", "$W_k$", column), ("v", "$W_v$", column + 1)):
            diagram.box(f"{name}{tau}", place, 1, Part("perceptron", letter, size))
            diagram.arrow(f"x{tau}", f"{name}{tau}", sides=("north", "south"), **style)  # type: ignore[arg-type]
        alpha = rf"$\alpha_{{{tau}}}^{{\langle {t} \rangle}}$"
        diagram.box(f"alpha{tau}", column, 2, Part("output", alpha, f"{weights[tau - 1]:.2f}"))
        diagram.circle(f"times{tau}", column + 1, 3, r"$\otimes$")
        diagram.arrow(f"k{tau}", f"alpha{tau}", **style)  # type: ignore[arg-type]
        diagram.arrow(f"v{tau}", f"times{tau}", **style)  # type: ignore[arg-type]
        diagram.arrow(f"alpha{tau}", f"times{tau}", (column, 3), sides=("north", "west"), **style)  # type: ignore[arg-type]
        sums.append((f"times{tau}", style, 0.8 + 4 * float(weights[tau - 1])))
        column += 2
    diagram.box(
        "sum", 0, 4, Part("addition", r"sum of $\alpha_\tau\, W_v\, x^{\langle \tau \rangle}$"), until=column - 1
    )
    for name, style, width in sums:
        diagram.arrow(name, "sum", sides=("north", "south"), width=width, **style)  # type: ignore[arg-type]
    diagram.arrow("sum", diagram.note("u", 0, 5, step_symbol("u", t), until=column - 1))
    _ask(diagram, len(x), t, layer.causal)
    return diagram


def _ask(diagram: Diagram, length: int, t: int, causal: bool) -> None:
    """The query goes to every weight, between keys and weights."""
    for tau in range(1, length + 1):
        later = tau > t
        turn = ((diagram.nodes["q"].cell[0], 1.5), (diagram.nodes[f"alpha{tau}"].cell[0], 1.5))
        colour = HIDDEN if later and causal else LATER if later else "0.2"
        dashed = later and causal
        diagram.arrow("q", f"alpha{tau}", *turn, sides=("north", "south"), at=(0, -0.12), colour=colour, dashed=dashed)


def heads_diagram(layer: SelfAttention, length: str = "T") -> Diagram:
    """Heads side by side over the same inputs, and the sum of what each brings (Figure 7.13)."""
    depth = value_of(layer.projection.weights).shape[0]
    width, heads = depth // layer.heads, layer.heads
    shown = list(range(1, heads + 1)) if heads <= SHOWN + 1 else [*range(1, SHOWN + 1), heads]
    diagram = Diagram((0.4, 0.38))
    columns = {head: i if head <= SHOWN else len(shown) for i, head in enumerate(shown)}
    last = max(columns.values())
    inputs = rf"$x^{{\langle 1 \rangle}}, \ldots, x^{{\langle {length} \rangle}}$"
    diagram.box("x", 0, 0, Part("plain", inputs, f"$p$ = {depth}"), until=last)
    if last >= len(shown):
        diagram.text("more", last - 1, 1, "…", f"{heads - len(shown)} more")
    for head, column in columns.items():
        h = f"{head}"
        detail = f"$W_q^{{{h}}}, W_k^{{{h}}}, W_v^{{{h}}}$: {width} × {depth}"
        diagram.box(f"head {h}", column, 1, Part("attention", f"Head {h}", detail))
        result = rf"$u^{{{h},\langle 1 \rangle}}, \ldots, u^{{{h},\langle {length} \rangle}}$"
        diagram.box(f"project {h}", column, 2, Part("perceptron", f"$W_c^{{{h}}}$", f"{depth} × {width}"))
        diagram.arrow("x", f"head {h}", sides=("north", "south"))
        diagram.arrow(f"head {h}", f"project {h}", label=result)
        diagram.arrow(f"project {h}", "sum", sides=("north", "south"))
    outputs = rf"$u^{{\langle 1 \rangle}}, \ldots, u^{{\langle {length} \rangle}}$"
    total = r"sum over heads of $W_c^h\, u^{h,\langle t \rangle}$"
    diagram.box("sum", 0, 3, Part("addition", total), until=last)
    diagram.arrow("sum", diagram.note("u", 0, 4, outputs, until=last))
    return diagram
