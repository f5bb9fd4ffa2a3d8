"""The graph of a network as back-propagation sees it: drawn from what one call recorded (thesis, Figure 1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.analysis.figures.diagram import Diagram, Part, Side
from dragoman.errors import ConfigurationError
from dragoman.graph import Parameter, Tensor, Value
from dragoman.graph.tensor import Node
from dragoman.networks import Network

KINDS = {
    "embed": ("embedding", "Embedding"),
    "linear": ("perceptron", "Perceptron"),
    "attend_self": ("attention", "Self-attention"),
    "attend_cross": ("attention", "Cross-attention"),
    "add_normalize": ("normalization", "Add and normalize"),
    "normalize": ("normalization", "Normalize"),
    "add": ("addition", "Add"),
    "concatenate_columns": ("addition", "Side by side"),
    "take_rows": ("addition", "Repeat for every step"),
    "last_rows": ("addition", "Last row"),
    "rnn": ("state", "RNN"),
    "lstm": ("state", "LSTM"),
    "gru": ("state", "GRU"),
}
MOST = 60  # operations of a graph that can still be read


@dataclass
class Step:
    """One operation of the graph: what it reads, and the parameters it has."""

    number: int
    operation: str
    reads: list[int] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    parameters: int = 0


def recorded_steps(network: Network, output: Value) -> list[Step]:
    """The operations behind an output, each after those it reads."""
    if not isinstance(output, Tensor) or output.node is None:
        raise ConfigurationError("nothing was recorded: the output does not depend on a parameter that is trained")
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    steps: dict[int, Step] = {}
    waiting: list[tuple[Node, bool]] = [(output.node, False)]
    while waiting:
        node, ready = waiting.pop()
        if id(node) in steps:
            continue
        before = [x.node for x in node.inputs if isinstance(x, Tensor) and x.node is not None]
        if not ready:
            waiting += [(node, True), *((one, False) for one in reversed(before))]
            continue
        own = [x for x in node.inputs if isinstance(x, Parameter)]
        step = Step(len(steps), node.name, [steps[id(one)].number for one in dict.fromkeys(before)])
        step.owners = list(dict.fromkeys(names[id(x)].rpartition(".")[0] for x in own))
        step.parameters = sum(x.value.size for x in own)
        steps[id(node)] = step
    return list(steps.values())


def recorded_diagram(network: Network, output: Value, inputs: dict[str, str] | None = None) -> Diagram:
    """Operations as boxes, each in a row above all it reads, from the inputs at the foot to the output.

    inputs  what goes into the operations that read no other, by the layer that owns their parameters
    """
    steps = recorded_steps(network, output)
    if len(steps) > MOST:
        raise ConfigurationError(f"a graph of {len(steps)} operations cannot be read; up to {MOST} are drawn")
    order = {name.rpartition(".")[0]: i for i, (name, _) in enumerate(network.named_parameters())}
    diagram, cells, lanes = Diagram(gaps=(0.8, 0.32)), _cells(steps, order), _Lanes()
    for step in steps:
        kind, name = KINDS.get(step.operation, ("plain", step.operation.replace("_", " ").capitalize()))
        detail = f"{step.owners[0]}: {step.parameters:,}" if step.owners else ""
        diagram.box(f"{step.number}", *cells[step.number], Part(kind, name, detail))
    for step in steps:
        column, row = cells[step.number]
        for one in step.reads:
            _lead(diagram, cells, lanes, one, step.number)
        if not step.reads:
            text = (inputs or {}).get(next(iter(step.owners), ""), "$x$")
            diagram.arrow(diagram.text(f"input {step.number}", column, row - 1, text), f"{step.number}")
    last = len(steps) - 1
    diagram.arrow(f"{last}", diagram.text("output", cells[last][0], cells[last][1] + 1, "$y$"))
    return diagram


def _cells(steps: list[Step], order: dict[str, int]) -> dict[int, tuple[int, int]]:
    """Rows by the longest way from an input. The column is that of what is read first; inputs have one each."""
    cells: dict[int, tuple[int, int]] = {}
    entries = sorted((step for step in steps if not step.reads), key=lambda step: order.get((*step.owners, "")[0], 0))
    columns = {step.number: column for column, step in enumerate(entries)}
    for step in steps:
        row = 1 + max((cells[one][1] for one in step.reads), default=-1)
        column = cells[step.reads[0]][0] if step.reads else columns[step.number]
        while (column, row) in cells.values():
            column += 1
        cells[step.number] = column, row
    return cells


class _Lanes:
    """Which of the parallel ways through a gap are taken, from row to row."""

    def __init__(self) -> None:
        self.taken: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def take(self, gap: int, low: int, high: int) -> float:
        """A column's fraction in the gap to the right of column `gap`, where nothing else goes between these rows."""
        lane = 0
        while any(start < high and low < end for start, end in self.taken.get((gap, lane), [])):
            lane += 1
        self.taken.setdefault((gap, lane), []).append((low, high))
        return gap + 0.32 + 0.08 * lane


def _lead(diagram: Diagram, cells: dict[int, tuple[int, int]], lanes: _Lanes, start: int, end: int) -> None:
    """An arrow up; past other boxes it goes through the gap beside the column."""
    (column, row), (to, top) = cells[start], cells[end]
    between = [place for place in cells.values() if place[0] == column and row < place[1] < top]
    if column == to and not between:
        diagram.arrow(f"{start}", f"{end}")
        return
    lane = lanes.take(min(column, to), row, top)
    sides: tuple[Side, Side] = ("east", "east")
    if column != to:
        sides = ("east", "west") if column < to else ("west", "east")
    diagram.arrow(f"{start}", f"{end}", (lane, row), (lane, top), sides=sides, at=(0.08, -0.08))
