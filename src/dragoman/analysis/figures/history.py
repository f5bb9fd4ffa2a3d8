"""Training curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.analysis.figures.canvas import new_figure
from dragoman.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = ("error", "accuracy")
NAME = 20  # characters of the name of a training
CURVES = {"training": "tab:blue", "validation": "tab:orange"}
CAPTION = (
    "The two are not measured alike. Training: the mean of all steps since the evaluation before, with the dropout\n"
    "and label smoothing of the recipe. Validation: afterwards, without either. A validation error below the training\n"
    "error is normal; overfitting shows where the validation error rises while the training error falls."
)


def history_figure(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Error and accuracy by epoch, of training and of validation (thesis, Figures 11 to 13), the best one marked.

    One mapping for each evaluation, as a training writes them; a number that is missing is passed over.
    """
    return histories_figure({"": history})


def histories_figure(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """The same for several trainings by their names, one below the other on the same scales."""
    for name, history in histories.items():
        if not history:
            raise DataError(f"the history{' of ' if name else ''}{name} has no evaluations: nothing to draw")
        for number, line in enumerate(history, start=1):
            _check(number, line)
    figure = new_figure(10, 1.4 + 3.2 * len(histories))
    rows = figure.subplots(len(histories), 2, squeeze=False, sharey="col" if len(histories) > 1 else False)
    for (name, history), row in zip(histories.items(), rows, strict=True):
        unit = _unit(history)
        for axes, panel in zip(row, PANELS, strict=True):
            _draw(axes, history, unit, panel)
            if name:
                axes.set_title("")
                axes.set_title(f"{_shortened(name)}: {panel}", loc="left", parse_math=False)
    entries = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shared = len(histories) > 1 and label.startswith("best")  # each has its own best evaluation
            entries["best" if shared else label] = handle
    bottom = figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, frameon=False)
    bottom.set_title(CAPTION)
    bottom.get_title().set_fontsize(8)
    return figure


def _shortened(name: str) -> str:
    """A name that leaves room for what stands at the right of its panel."""
    return name if len(name) <= NAME else f"{name[: NAME // 2]}…{name[-NAME // 2 + 1 :]}"


def _draw(axes: Any, history: Sequence[Mapping[str, Any]], unit: str, panel: str) -> None:
    """One panel of a training: both curves, and the best evaluation."""
    for curve, colour in CURVES.items():
        x, y = _points(history, unit, f"{curve}_{panel}")
        if y:
            axes.plot(x, y, color=colour, label=curve, marker="o", markersize=3 if len(y) < 40 else 0)
    _mark_best(axes, history, unit, panel)
    axes.set(xlabel=unit, ylabel=panel, title=panel.capitalize())
    axes.xaxis.get_major_locator().set_params(integer=float(history[-1][unit]) > 4)
    axes.grid(alpha=0.25)
    if len(history) == 1:  # alone, a point would get an axis of a hundredth of an epoch
        axes.set_xlim(0, 2 * float(history[0][unit]) or 1)


def _check(number: int, line: object) -> None:
    """A line of a history is an object, and all that is drawn of it are numbers."""
    if not isinstance(line, Mapping):
        raise DataError(f"line {number} of the history is not an object: {_short(line)}")
    drawn = ("step", "epoch", *(f"{curve}_{panel}" for curve in CURVES for panel in PANELS))
    for name in drawn:
        value = line.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError(f"line {number} of the history: '{name}' is {_short(value)}; expected a number")


def _unit(history: Sequence[Mapping[str, Any]]) -> str:
    """What evaluations are counted in: epochs where all of them have one."""
    missing = 0
    for unit in ("epoch", "step"):
        known = [math.isfinite(math.nan if line.get(unit) is None else line[unit]) for line in history]
        if all(known):
            return unit
        missing = known.index(False)
    raise DataError(f"line {missing + 1} of the history has no step: {_short(history[missing])}")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "..."


def _points(history: Sequence[Mapping[str, Any]], unit: str, name: str) -> tuple[list[float], list[float]]:
    """Where a number was measured, and what it was; evaluations without it are passed over."""
    measured = [(float(line[unit]), float(line[name])) for line in history if line.get(name) is not None]
    known = [(x, y) for x, y in measured if math.isfinite(y)]
    return [x for x, _ in known], [y for _, y in known]


def _mark_best(axes: Any, history: Sequence[Mapping[str, Any]], unit: str, panel: str) -> None:
    """A ring around the last evaluation that was the best so far: those before it were beaten."""
    best = [line for line in history if line.get("best")][-1:]
    for curve in ("validation", "training"):
        (x, y) = _points(best, unit, f"{curve}_{panel}")
        if y:
            axes.axvline(x[0], color="grey", linewidth=0.8, linestyle=":")
            axes.plot(x, y, "o", color="black", markersize=8, fillstyle="none", label=f"best: {unit} {x[0]:g}")
            axes.set_title(f"at the best: {y[0]:.4g}", loc="right", fontsize=9)
            return
