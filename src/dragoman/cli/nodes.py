"""dragoman plan --nodes: what several machines like this one would bring."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from dragoman.analysis.scaling import FITTED, NUMBER, Job, StepTime, bits_per_second
from dragoman.cli.options import new_table
from dragoman.errors import ConfigurationError
from dragoman.tasks.configuration import OptimizerSettings
from dragoman.tasks.planning import Speed

GOOD = 0.7  # efficiency from which nodes pay
MOST = 16  # times the batch of one node that is worth proposing on each
FEWEST = 20  # steps of an epoch with a larger batch: with fewer, it learns too slowly


@dataclass(frozen=True)
class Nodes:
    """Machines like this one. bandwidth: bits per second that each sends and receives."""

    nodes: int
    bandwidth: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        unit, name = (1e9, "G") if self.bandwidth >= 1e9 else (1e6, "M")
        return f"{self.nodes} machines like this one, joined by {self.bandwidth / unit:g} {name}bit/s"


@dataclass(frozen=True)
class Prediction:
    """What the nodes bring to one preset: with the same batch, and with that batch on each of them."""

    gradient: int  # bytes
    same: StepTime
    grown: StepTime
    pays: bool
    advice: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "gradient_bytes": self.gradient,
            "same_batch": _as_dict(self.same),
            "batch_per_node": _as_dict(self.grown),
            "pays": self.pays,
            "advice": self.advice,
        }


def _as_dict(step: StepTime) -> dict[str, float]:
    found = {**asdict(step), "communication_share": step.share}
    return {name: round(value, 4) for name, value in found.items() if name != "communication"}


def network_of(nodes: int | None, bandwidth: str | None) -> Nodes | None:
    """Read --nodes and --bandwidth, which belong together; None if neither is given."""
    if nodes is None and bandwidth is None:
        return None
    if nodes is None:
        raise ConfigurationError("--bandwidth is that between several machines; add their number: --nodes 4")
    if bandwidth is None:
        raise ConfigurationError(f"--nodes {nodes} needs the bandwidth between them, such as --bandwidth 10G")
    return Nodes(nodes, bits_per_second(bandwidth))


def predictions(speeds: dict[str, Speed], optimizer: OptimizerSettings, network: Nodes) -> dict[str, Prediction]:
    return {name: _prediction(speed, optimizer, network) for name, speed in speeds.items()}


def _prediction(speed: Speed, optimizer: OptimizerSettings, network: Nodes) -> Prediction:
    nodes, bandwidth = network.nodes, network.bandwidth
    job = Job(speed.parameters, speed.collectives, speed.step_seconds, speed.threads)
    same, grown = (FITTED.step(job, nodes, bandwidth, batch) for batch in (1, nodes))
    gradient = NUMBER * speed.parameters
    if same.efficiency >= GOOD:
        return Prediction(gradient, same, grown, True, f"pays with the same batch: {same.speed_up:.1f} times as fast")
    factor = FITTED.batch_for(job, nodes, bandwidth, GOOD, MOST)
    if factor is None:
        most = FITTED.step(job, nodes, bandwidth, MOST * nodes).speed_up
        advice = f"does not pay: {most:.1f} times as fast with {MOST} times the batch on each machine"
        return Prediction(gradient, same, grown, False, advice)
    if speed.steps_per_epoch < FEWEST * factor:
        left = -(-speed.steps_per_epoch // factor)
        advice = f"does not pay with so few samples: it takes {factor} times the batch, {left} to an epoch"
        return Prediction(gradient, same, grown, False, advice)
    name, size = ("batch", optimizer.batch) if optimizer.tokens is None else ("tokens", optimizer.tokens)
    faster = FITTED.step(job, nodes, bandwidth, factor).speed_up
    advice = f"use a larger batch, --set optimizer.{name}={size * factor}: {faster:.1f} times as fast, fewer updates"
    return Prediction(gradient, same, grown, True, advice)


def print_predictions(found: dict[str, Prediction], network: Nodes, screen: Console) -> None:
    table = new_table(screen, f"On {network}")
    for heading in ("preset", "step", "speed-up", "efficiency", "communication", f"speed-up, batch x {network.nodes}"):
        table.add_column(heading, justify="left" if heading == "preset" else "right", overflow="fold")
    for name, one in found.items():
        table.add_row(
            name,
            f"{1e3 * one.same.seconds:,.1f} ms",
            f"{one.same.speed_up:.2f}",
            f"{one.same.efficiency:.0%}",
            f"{one.same.share:.0%}",
            f"{one.grown.speed_up:.2f}",
        )
    screen.print(table)
    for name, one in found.items():
        screen.print(f"{name}: {one.advice}", highlight=False, markup=False, soft_wrap=True)


def start_command(network: Nodes) -> str:
    """How one process is started on each machine; RANK is its number, from 0."""
    return f"torchrun --nnodes {network.nodes} --node-rank RANK --master-addr FIRST_MACHINE"
