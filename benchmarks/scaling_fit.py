"""Fit the model of training steps on several nodes to measurements, check it and draw it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.analysis.scaling import LOOPBACK, NUMBER, SMALL, Job, ScalingModel
from dragoman.graph import Array

CORES = 2  # of the machine that was measured; more ranks share them
WHOLE = 64  # sentences of the batch that a job is measured with
START = ScalingModel(2e-9, 5e-5, 1e-9, 0.9, 0.3)
MOST = (1e-6, 1e-1, 1e-6, 1.0, 1.0)
FITTED_PRESETS, FITTED_RATES = ("small", "large"), (None, 1e8, 1e9)
NODES = np.unique(np.round(2.0 ** np.arange(0, 9.01, 0.25)))
LARGE_BATCH = 16  # times the batch, on every node
BANDWIDTHS = {1e9: "1 Gbit/s", 1e10: "10 Gbit/s", 1e11: "100 Gbit/s"}
LINES = (("#d95f02", 1.8), ("#1b7837", 3.2), ("#2166ac", 1.3))  # colours and widths: the last two often meet


@dataclass(frozen=True)
class Run:
    """One case as measured: the median of its rounds, and their quartiles."""

    case: dict[str, Any]
    seconds: float
    spread: tuple[float, float]
    communication: float  # share of the time
    tokens: float
    parameters: int
    collectives: int

    @property
    def name(self) -> str:
        case, rate = self.case, self.case["bandwidth"]
        if case["kind"] == "alone":
            return f"1 process, {case['threads']} thread{'s' * (case['threads'] > 1)}"
        if case["kind"] == "pair":
            return "2 processes, each alone"
        link = "loopback" if rate is None else f"{rate / 1e6:,.0f} Mbit/s"
        alone = {"gradient": ", gradient alone", "message": ", one number"}.get(case["kind"], "")
        return f"{case['processes']} ranks, {link}{alone}"

    @property
    def fitted(self) -> bool:
        """Whether the fit may see it; all others check the fit."""
        case = self.case
        if case["preset"] not in FITTED_PRESETS or case["sentences"] > WHOLE or case["threads"] > 1:
            return False
        if case["kind"] == "message":
            return bool(case["processes"] == 2)
        return case["kind"] == "alone" or case["bandwidth"] in FITTED_RATES


def runs_of(results: dict[str, Any]) -> list[Run]:
    runs = []
    for case in results["runs"]:
        rounds = case["rounds"]
        seconds = np.array([one["seconds"] for one in rounds])
        waited = float(np.median([one["communication"] / one["seconds"] for one in rounds]))
        low, middle, high = (float(value) for value in np.percentile(seconds, [25, 50, 75]))
        about = {name: value for name, value in case.items() if name != "rounds"}
        one = rounds[0]
        runs.append(
            Run(about, middle, (low, high), waited, one["tokens"], int(one["parameters"]), int(one["collectives"]))
        )
    return runs


class Jobs:
    """The steps of one node alone, by preset, threads and how many ranks share the machine."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = {
            (run.case["preset"], run.case["kind"], run.case["threads"]): run
            for run in runs
            if run.case["kind"] in ("alone", "pair") and run.case["sentences"] == WHOLE
        }

    def of(self, run: Run) -> Job:
        """The job of a run. Ranks that share a machine slow each other down, as two that do not speak do."""
        preset, processes = run.case["preset"], run.case["processes"]
        kind = "alone" if processes == 1 else "pair"
        seconds = self.runs[preset, kind, run.case["threads"]].seconds * max(1, processes / CORES)
        return Job(run.parameters, run.collectives, seconds, run.case["threads"])

    def node(self, preset: str) -> Job:
        """A node of its own: one process with a thread on every core."""
        run = self.runs[preset, "alone", CORES]
        return Job(run.parameters, run.collectives, run.seconds, CORES)


def predicted(model: ScalingModel, run: Run, jobs: Jobs) -> float:
    kind, ranks, batch = run.case["kind"], run.case["processes"], run.case["sentences"] / WHOLE
    rate = run.case["bandwidth"] or LOOPBACK
    if kind in ("alone", "pair"):
        return model.step(jobs.of(run), 1, rate, batch).seconds
    here = replace(model, byte_seconds=model.byte_seconds * max(1, ranks / CORES))  # ranks share the processors
    if kind == "ranks":
        return here.step(jobs.of(run), ranks, rate, batch).seconds
    small = here.step(Job(0, 0, 0.0), ranks, rate).seconds
    return small / SMALL if kind == "message" else here.step(nothing(run), ranks, rate).seconds - small


def nothing(run: Run) -> Job:
    """A job that exchanges its gradient without computing it."""
    return Job(run.parameters, run.collectives, 0.0)


def is_predicted(run: Run) -> bool:
    """Whether there is something to predict: the step of a whole batch without communication is given."""
    return run.case["kind"] not in ("alone", "pair") or run.case["sentences"] != WHOLE


def fit(runs: list[Run], jobs: Jobs) -> ScalingModel:
    """The parameters whose predictions have the smallest squared errors, relative to the measurements.

    Levenberg-Marquardt steps on the logarithms of the parameters, each of which has an upper bound.
    """
    chosen = [run for run in runs if is_predicted(run) and run.fitted]

    def model(x: Array) -> ScalingModel:
        return ScalingModel(*(float(value) for value in np.minimum(np.exp(x), MOST)))

    def errors(x: Array) -> Array:
        return np.array([math.log(predicted(model(x), run, jobs) / run.seconds) for run in chosen])

    return model(least_squares(errors, np.log(astuple(START)), np.log(MOST)))


def least_squares(errors: Callable[[Array], Array], x: Array, most: Array, steps: int = 200) -> Array:
    damping, found = 1e-2, errors(x)
    for _ in range(steps):
        jacobian = np.stack([(errors(x + h) - errors(x - h)) / 2e-3 for h in 1e-3 * np.eye(len(x))], axis=1)
        squares = jacobian.T @ jacobian
        change = np.linalg.solve(squares + damping * np.eye(len(x)), -jacobian.T @ found)
        tried = np.minimum(x + np.clip(change, -1, 1), most)
        if (new := errors(tried)) @ new < found @ found:
            x, found, damping = tried, new, damping / 3
        else:
            damping *= 4
    return x


def report(results: dict[str, Any], plot: Path | None) -> None:
    runs = runs_of(results)
    jobs, machine = Jobs(runs), results["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']:.1f} before, {machine['date']}\n")
    print_measured(runs)
    model = fit(runs, jobs)
    print("\nFITTED = ScalingModel(")
    for field in fields(model):
        print(f"    {field.name}={getattr(model, field.name):.3g},")
    print(")\n")
    print_predicted(model, runs, jobs)
    print_limits(model, jobs, [run.case["preset"] for run in runs])
    if plot is not None:
        draw(model, jobs, list(dict.fromkeys(run.case["preset"] for run in runs)), plot)


def print_measured(runs: list[Run]) -> None:
    """One process of one and of two threads beside two of one thread."""
    print("| preset | processes | step | quartiles | tokens/s | against 1 thread | communication |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for run in runs:
        if run.case["sentences"] != WHOLE or run.case["bandwidth"] is not None:
            continue
        one = next(r for r in runs if r.case["preset"] == run.case["preset"] and r.case["sentences"] == WHOLE)
        together = 2 if run.case["kind"] == "pair" else 1
        low, high = (f"{1e3 * value:.1f}" for value in run.spread)
        print(
            f"| {run.case['preset']} | {run.name} | {1e3 * run.seconds:.1f} ms | {low}-{high} | "
            f"{together * run.tokens / run.seconds:,.0f} | {together * one.seconds / run.seconds:.2f} | "
            f"{100 * run.communication:.0f} % |"
        )


def print_predicted(model: ScalingModel, runs: list[Run], jobs: Jobs) -> None:
    print("| preset | sentences | processes | measured | predicted | error | communication | used for the fit |")
    print("|---|--:|---|--:|--:|--:|--:|---|")
    errors: dict[bool, list[float]] = {True: [], False: []}
    for run in (run for run in runs if is_predicted(run)):
        expected = predicted(model, run, jobs)
        errors[run.fitted].append(expected / run.seconds - 1)
        print(
            f"| {run.case['preset']} | {run.case['sentences']} | {run.name} | {1e3 * run.seconds:.1f} ms | "
            f"{1e3 * expected:.1f} ms | {100 * errors[run.fitted][-1]:+.0f} % | {100 * run.communication:.0f} % | "
            f"{'yes' if run.fitted else 'no'} |"
        )
    for fitted, found in errors.items():
        if found:
            middle, worst = np.median(np.abs(found)), np.max(np.abs(found))
            which = "used for the fit" if fitted else "not used for the fit"
            print(f"\n{len(found)} runs {which}: median error {100 * middle:.0f} %, largest {100 * worst:.0f} %")


def print_limits(model: ScalingModel, jobs: Jobs, presets: list[str]) -> None:
    """Up to how many nodes half of their work or more is of use, with the batches of the figure."""
    many = f"{LARGE_BATCH * WHOLE:,}"
    print(f"\n| preset | gradient | bandwidth | {WHOLE} in all | {WHOLE} a node | {many} a node |")
    print("|---|--:|--:|--:|--:|--:|")
    for preset in dict.fromkeys(presets):
        job = jobs.node(preset)
        for bandwidth, name in BANDWIDTHS.items():
            shown = []
            for batch in (lambda n: 1, lambda n: n, lambda n: LARGE_BATCH * n):
                most = max(n for n in range(1, 1025) if model.step(job, n, bandwidth, batch(n)).efficiency >= 0.5)
                shown.append(f"{most:,}" if most < 1024 else "over 1,000")
            print(f"| {preset} | {NUMBER * job.parameters / 1e6:.1f} MB | {name} | {' | '.join(shown)} |")


def draw(model: ScalingModel, jobs: Jobs, presets: list[str], path: Path) -> None:
    """Speed-up against nodes: a row for each batch, a column for each preset."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows: dict[str, Callable[[float], float]] = {
        f"the same batch:\n{WHOLE} sentences in all": lambda n: 1,
        f"{WHOLE} sentences\non every node": lambda n: n,
        f"{LARGE_BATCH * WHOLE:,} sentences\non every node": lambda n: LARGE_BATCH * n,
    }
    width = 3.5 * len(presets) + 0.6
    figure, axes = pyplot.subplots(3, len(presets), figsize=(width, 8.6), sharex=True, sharey="row", squeeze=False)
    for column, preset in enumerate(presets):
        job = jobs.node(preset)
        for axis, (name, batch) in zip(axes[:, column], rows.items(), strict=True):
            draw_curves(axis, model, job, batch)
            axes[list(rows).index(name), 0].set_ylabel(f"speed-up, {name}")
        size = NUMBER * job.parameters / 1e6
        title = f"{preset}: gradient {size:.1f} MB,\nstep {1e3 * job.seconds:.0f} ms on one node"
        axes[0, column].set_title(title, fontsize=10)
        axes[-1, column].set_xlabel("nodes")
    lines, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="lower center", ncols=len(names), frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=130)


def draw_curves(axis: Any, model: ScalingModel, job: Job, batch: Callable[[float], float]) -> None:
    grows = batch(2) > batch(1)
    nodes = NODES if grows else NODES[NODES <= WHOLE]  # each has a sentence at least
    axis.plot(nodes, nodes, "--", color="0.6", linewidth=1.2, label="ideal")
    for (bandwidth, name), (colour, width) in zip(BANDWIDTHS.items(), LINES, strict=True):
        ups = [model.step(job, int(n), bandwidth, batch(n)).speed_up for n in nodes]
        axis.plot(nodes, ups, color=colour, linewidth=width, label=name)
    axis.axhline(1, color="0.4", linewidth=0.8)
    axis.grid(color="0.9")
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    axis.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    axis.set_yticks([0.25, 1, 4, 16, 64, 256], ["1/4", "1", "4", "16", "64", "256"])
    axis.set_ylim(0.2, 600 if grows else 80)
