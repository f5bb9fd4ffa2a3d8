"""Back-propagation through time with its numbers (book, Figure 7.6), and a prediction unrolled (Figure 7.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.unrolled import Ends, place_steps, step_symbol
from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, backpropagate, value_of
from dragoman.networks import RecurrentNetwork
from dragoman.operations import cross_entropy


@dataclass(frozen=True, eq=False)
class ThroughTime:
    """One sequence forward and back: losses C<t> [T], adjoints zeta<t> [T, m], and what each step adds to the
    gradient of the state's weights [T, m, m], which is their sum."""

    losses: Array
    adjoints: Array
    shares: Array


def through_time(network: RecurrentNetwork, batch: Batch) -> ThroughTime:
    """Run one sequence step by step through an RNN of one layer, and back."""
    (cell, *more), targets = network.hidden.forward, batch.targets
    if more or network.hidden.backward or cell.kind != "rnn" or cell.activation != "tanh":
        raise ConfigurationError("the figure follows an RNN of one layer, in one direction, with tanh")
    if targets is None or len(batch) != 1:
        raise ConfigurationError("the figure follows one sequence that has targets")
    x, state = network.rows(batch), cell.begin(1)
    states, losses = [], []
    for t in range(len(x)):
        state = cell.step(cell.inputs(x[t : t + 1]), state)
        loss, _ = cross_entropy(network.output(state[0]), targets=targets[t : t + 1])
        states.append(state[0])
        losses.append(loss)
    deltas = [np.full_like(value_of(loss), 1 / len(x)) for loss in losses]  # C = (1/T) sum C<t>          (7.4)
    adjoints = np.concatenate(backpropagate(losses, states, deltas))  # type: ignore[arg-type]
    values = np.concatenate([value_of(h) for h in states])
    earlier = np.concatenate([np.zeros_like(values[:1]), values[:-1]])
    before_tanh = adjoints * (1 - values * values)
    shares = earlier[:, :, None] * before_tanh[:, None, :]
    return ThroughTime(np.array([float(value_of(loss)) for loss in losses]), adjoints, shares)


def through_time_diagram(found: ThroughTime) -> Diagram:
    """States up from the shared W, adjoints back to its gradient; norms are of this sequence (Figure 7.6)."""
    steps, diagram = len(found.losses), Diagram((0.5, 0.5))
    norms = np.linalg.norm(found.adjoints, axis=1)
    parts = np.linalg.norm(found.shares.reshape(steps, -1), axis=1)
    size = found.shares.shape[1]
    diagram.box("W", 0, 0, Part("perceptron", "$W$, shared by all steps", f"{size} × {size}"), until=steps - 1)
    whole = float(np.linalg.norm(found.shares.sum(axis=0)))
    gradient = Part("perceptron", "$g_W$, the sum of what every step adds", rf"$\Vert g_W \Vert$ = {whole:.3g}")
    for t in range(steps):
        number = t + 1
        diagram.box(f"h{t}", t, 1, Part("state", step_symbol("h", number)))
        diagram.box(f"C{t}", t, 2, Part("output", step_symbol("C", number), f"{found.losses[t]:.3g}"))
        adjoint = Part("attention", step_symbol(r"\zeta", number), rf"$\Vert\cdot\Vert$ = {norms[t]:.3g}")
        diagram.box(f"zeta{t}", t, 3, adjoint)
        diagram.arrow("W", f"h{t}", sides=("north", "south"))
        diagram.chain(f"h{t}", f"C{t}")
        diagram.arrow(f"C{t}", f"zeta{t}", dashed=True, colour=BACK)
    diagram.box("g", 0, 4, gradient, until=steps - 1)
    for t in range(steps):
        diagram.arrow(f"zeta{t}", "g", sides=("north", "south"), label=f"{parts[t]:.2g}", colour=BACK)
    for t in range(steps - 1):
        diagram.arrow(f"h{t}", f"h{t + 1}")
        diagram.arrow(f"zeta{t + 1}", f"zeta{t}", colour=BACK)
    return diagram


BACK = "#a03030"  # arrows of what flows back


def prediction_diagram(network: RecurrentNetwork, words: Sequence[str], lexicon: Sequence[str]) -> Diagram:
    """A sentence read word by word: what the network says comes next, and what does (Figure 7.5)."""
    labels = np.array([list(lexicon).index(word) for word in words])
    said = value_of(network.plain(Batch.pack([labels[:-1]]))).argmax(axis=1)
    right = said == labels[1:]
    ends = [
        Ends(word, lexicon[best], "right" if hit else "wrong")
        for word, best, hit in zip(words[:-1], said, right, strict=True)
    ]
    diagram = Diagram((0.42, 0.3))
    place_steps(diagram, network.hidden, ends)
    row = max(node.cell[1] for node in diagram.nodes.values()) + 1
    for t, word in enumerate(words[1:]):
        diagram.text(f"target {t}", t, row, word, "target")
    return diagram
