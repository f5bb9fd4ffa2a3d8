"""The evaluation of a model of any task, printed and written as report.html and report.json."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from dragoman.analysis.task_report import ReportTable, TaskReport, report_page, shown
from dragoman.cli.engine import choose_engine
from dragoman.cli.options import console, new_table
from dragoman.errors import ConfigurationError, DataError
from dragoman.wording import counted

ROWS = 20  # of a table in the terminal; the page has all


def evaluate_model(
    directory: Path,
    files: Sequence[str],
    settings: Mapping[str, Any],
    most: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate a model on some files, or on its own testing part."""
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task

    task = find_task(load_metadata(directory).task)
    choose_engine()
    model = task.load(directory)
    name = ", ".join(files) if files else "its own testing part"
    samples = task.read_samples(model, files, settings) if files else task.load_testing(directory)
    if not len(samples):
        raise DataError(f"{name} holds no {task.samples}; name a file to evaluate on")
    report = task.evaluate(model, samples[:most])
    text = write_report(report, model, name, out or directory / "evaluation")
    if as_json:
        typer.echo(text)
        return
    screen = console()
    print_report(report, screen)
    place = (out or directory / "evaluation") / "report.html"
    screen.print(f"The whole report: {place} and report.json", highlight=False, markup=False)


def print_report(report: TaskReport, screen: Console) -> None:
    screen.print(report.headline, style="bold", highlight=False, markup=False)
    measured = ReportTable("Scores", ("score", "value"), list(report.metrics.items()))
    for each in (measured, *filter(lambda table: table.rows, report.tables)):
        table = new_table(screen, each.title)
        for i, column in enumerate(each.columns):
            number = bool(each.rows) and isinstance(each.rows[0][i], int | float)
            table.add_column(column, justify="right" if number else "left", overflow="fold")
        for row in each.rows[:ROWS]:
            table.add_row(*map(shown, row))
        screen.print(table, markup=False)
        if len(each.rows) > ROWS:
            screen.print(f"... and {counted(len(each.rows) - ROWS, 'more row')} in the report", style="dim")
        if each.note:
            screen.print(each.note, style="dim", highlight=False, markup=False)


def write_report(report: TaskReport, model: Any, tested: str, place: Path) -> str:
    """Write both reports; the one in JSON is returned."""
    facts = _facts(model, tested)
    text = json.dumps({"facts": facts, **report.as_dict()}, ensure_ascii=False, indent=2)
    name = "model" if model.directory is None else model.directory.resolve().name
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be made: {error}") from None
    try:
        (place / "report.json").write_text(text, encoding="utf-8")
        (place / "report.html").write_text(report_page(report, name, facts, _figures(report)), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{place} could not be written: {error}") from None
    return text


def _figures(report: TaskReport) -> dict[str, str]:
    """The figures as SVG, where matplotlib is there to draw them."""
    if find_spec("matplotlib") is None:
        return {}
    from dragoman.analysis.figures import as_svg

    return {title: as_svg(draw()) for title, draw in report.figures.items()}


def _facts(model: Any, tested: str) -> dict[str, str]:
    metadata = model.metadata
    data, size = metadata.data, model.network.configuration.summary()
    return {
        "model": f"{model.directory}: {metadata.task}, {metadata.architecture}, "
        f"{metadata.preset or 'own size'} ({size})",
        "parameters": f"{metadata.parameters:,}",
        "trained on": f"{', '.join(data.files)}: {data.parts.get('training', 0):,} samples, seed {metadata.seed}, "
        f"recipe {metadata.recipe}",
        "training": f"{counted(metadata.training.get('steps', 0), 'step')}, "
        f"{counted(metadata.training.get('epochs', 0), 'epoch')}",
        "tested on": tested,
        "command": shlex.join(["dragoman", *sys.argv[1:]]),
        "dragoman": metadata.dragoman,
    }
