"""The units of recurrent networks from inside (book, Figures 7.4 and 7.8), with the sizes of a built cell."""

from __future__ import annotations

from typing import Any

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.unrolled import step_symbol
from dragoman.errors import ConfigurationError
from dragoman.graph import value_of
from dragoman.layers import Cell, Perceptron
from dragoman.layers.recurrent import BLOCKS

NAMES = {  # of the blocks of weights, and their activations: gates are logistic, internal states tanh
    "forget": ("$g_f$", "gate"),
    "input": ("$g_i$", "gate"),
    "output": ("$g_o$", "gate"),
    "memory": (r"$\tilde{c}$", "state"),
    "reset": ("$g_r$", "gate"),
    "update": ("$g_u$", "gate"),
    "state": (r"$\tilde{h}$", "state"),
}
X, H, C, Y = (step_symbol(letter, "t") for letter in ("x", "h", "c", r"\hat{y}"))
H_BEFORE, C_BEFORE = (step_symbol(letter, "t-1") for letter in ("h", "c"))


def rnn_diagram(cell: Cell, output: Perceptron) -> Diagram:
    """Products, sums and activations of (7.2) (Figure 7.4)."""
    if cell.kind != "rnn":
        raise ConfigurationError(f"this is the unit of an RNN, not of '{cell.kind}'")
    (p, m), q = value_of(cell.weights).shape, value_of(output.weights).shape[1]
    d = Diagram(gaps=(0.36, 0.34))
    d.text("before", 0, 2, H_BEFORE)
    d.circle("times hh", 1, 2, r"$\otimes$")
    d.circle("plus h", 2, 2, r"$\oplus$")
    d.box("S h", 3, 2, Part("state", "$S_h$", cell.activation))
    d.text("h", 5, 2, H)
    d.chain("before", "times hh", "plus h", "S h", "h")
    d.arrow(d.text("W hh", 1, 3, "$W_{hh}$", f"{m} × {m}"), "times hh")
    d.arrow(d.text("b h", 2, 3, "$b_h$", f"{m}"), "plus h")
    d.circle("times hx", 2, 1, r"$\otimes$")
    d.chain(d.text("x", 2, 0, X), "times hx", "plus h")
    d.arrow(d.text("W hx", 1, 1, "$W_{hx}$", f"{m} × {p}"), "times hx")
    d.circle("times yh", 4, 3, r"$\otimes$")
    d.circle("plus y", 4, 4, r"$\oplus$")
    d.box("S y", 4, 5, Part("output", "$S_y$", output.activation))
    d.dot(4, 2)
    d.arrow((4, 2), "times yh")
    d.chain("times yh", "plus y", "S y", d.text("y", 4, 6, Y))
    d.arrow(d.text("W yh", 3, 3, "$W_{yh}$", f"{q} × {m}"), "times yh")
    d.arrow(d.text("b y", 3, 4, "$b_y$", f"{q}"), "plus y")
    d.frame(["W hh", "W hx", "S y", "S h", "times yh"], "unit")
    return d


def lstm_diagram(cell: Cell) -> Diagram:
    """Three gates around the cell state c (Figure 7.8 a)."""
    d = Diagram(gaps=(0.4, 0.3))
    order = ("forget", "input", "memory", "output")
    for column, name in enumerate(order, start=1):
        _block(d, name, column, 1)
    d.text("c before", 0, 3, C_BEFORE)
    d.text("h before", 0, 0, H_BEFORE)
    d.circle("keep", 1, 3, r"$\otimes$")
    d.circle("write", 3, 2, r"$\otimes$")
    d.circle("add", 3, 3, r"$\oplus$")
    d.box("tanh", 5, 2, Part("plain", "tanh"))
    d.circle("show", 5, 1, r"$\otimes$")
    d.chain("c before", "keep", "add", d.text("c", 6, 3, C))
    d.dot(5, 3)
    d.arrow((5, 3), "tanh")
    d.chain("tanh", "show")
    d.arrow("show", d.text("h", 6, 0, H), (5, 0), sides=("south", "west"))
    _bus(d, "h before", order, 0, -0.1)
    _bus(d, d.text("x", 1, -2, X), order, -1, 0.1)
    d.arrow("forget", "keep")
    d.arrow("input", "write", (2, 2), sides=("north", "west"))
    d.chain("memory", "write", "add")
    d.arrow("output", "show")
    _frame(d, cell)
    return d


def gru_diagram(cell: Cell) -> Diagram:
    """Two gates around the hidden state h (Figure 7.8 b)."""
    d = Diagram(gaps=(0.5, 0.3))
    for column, name in enumerate(BLOCKS["gru"], start=1):
        _block(d, name, column, 1)
    d.text("h before", 0, 4, H_BEFORE)
    d.circle("reset h", 1, 2, r"$\otimes$")
    d.circle("rest", 2, 3, "1−")
    d.circle("keep", 2, 4, r"$\otimes$")
    d.circle("write", 3, 3, r"$\otimes$")
    d.circle("add", 3, 4, r"$\oplus$")
    d.chain("h before", "keep", "add", d.text("h", 4, 4, H))
    d.dot(1, 4)
    d.arrow((1, 4), "reset h")
    d.chain("reset", "reset h")
    d.arrow("reset h", "state", (2.5, 2), (2.5, 1), sides=("east", "west"))
    d.chain("update", "rest", "keep")
    d.dot(2, 2.5)
    d.arrow((2, 2.5), "write", (2.5, 2.5), (2.5, 3), sides=(None, "west"))
    d.chain("state", "write", "add")
    d.dot(0.5, 4)
    d.arrow((0.5, 4), (1, 0), (0.5, 0), at=(0, -0.1), head=False)
    _bus(d, (1, 0), ("reset", "update"), 0, -0.1)
    _bus(d, d.text("x", 1, -2, X), ("reset", "update", "state"), -1, 0.1)
    _frame(d, cell)
    return d


def _block(d: Diagram, name: str, column: int, row: int) -> str:
    """One block of weights: its gate or internal state, and the activation."""
    text, kind = NAMES[name]
    return d.box(name, column, row, Part(kind, text, "logistic" if kind == "gate" else "tanh"))


def _bus(d: Diagram, start: str | tuple[float, float], names: tuple[str, ...], row: int, shift: float) -> None:
    """A line from `start` along a row, with an arrow up into each block, `shift` inches beside its middle."""
    columns = [d.nodes[name].cell[0] for name in names]
    d.arrow(start, (columns[0], row), sides=("north" if row < 0 else None, None), at=(shift, shift), head=False)
    d.arrow((columns[0], row), (columns[-1], row), at=(shift, shift), head=False)
    for column, name in zip(columns, names, strict=True):
        d.arrow((column, row), name, sides=(None, "south"), at=(shift, shift))
        if column != columns[-1]:
            d.dot(column, row, shift)


def _frame(d: Diagram, cell: Cell) -> None:
    """All but what goes in and out, and how large it is."""
    inside: list[Any] = [name for name, node in d.nodes.items() if node.outline is not None]
    inside += [(0.5, 0), *((column, -1) for column in (1, 2, 3))]
    d.frame(inside, f"{cell.kind.upper()}, $\\tilde{{m}}$ = {cell.units}")
