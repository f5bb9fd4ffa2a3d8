"""The evaluation of a model of any task, printed and written as report.html and report.json."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dragoman.analysis.task_report import TaskReport, shown
from dragoman.cli.engine import choose_engine
from dragoman.cli.fields import print_field
from dragoman.cli.options import console, new_table
from dragoman.cli.quality import print_headline
from dragoman.errors import ConfigurationError, DataError, DragomanError
from dragoman.ranks import current
from dragoman.wording import counted

ROWS = 20  # of a table in the terminal; the page has all


def evaluate_model(
    directory: Path,
    files: Sequence[str],
    settings: Mapping[str, Any],
    beam: int,
    most: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate a model on some files, or on its own testing part."""
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task

    task = find_task(load_metadata(directory).task)
    choose_engine()
    if unknown := sorted(set(settings) - set(task.data.model_fields)):
        raise ConfigurationError(f"--{unknown[0]} does not apply to a model for {task.name}; leave it out")
    model = task.load(directory)
    name = ", ".join(files) if files else "its own testing part"
    samples = task.read_samples(model, files, settings) if files else task.load_testing(directory)
    if not len(samples):
        raise DataError(f"{name} has no {task.samples}; give a file of {task.samples} to evaluate on")
    samples, place = samples[:most], out or directory / "evaluation"
    if current().first:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{place} cannot be created: {error}") from None
    with _progress(len(samples)) as tell:
        report = task.evaluate_searching(model, samples, beam, tell)
    if not current().first:
        return
    text = write_report(report, model, name, place)
    if as_json:
        typer.echo(text)
        return
    screen = console()
    print_report(report, screen)
    screen.print(f"The whole report: {place / 'report.html'} and report.json", highlight=False, markup=False)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """A bar in a terminal, from the first time that it is told how many samples are done."""
    notices = console(stderr=True)
    columns = (TextColumn("evaluating"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=notices, transient=True, disable=not notices.is_terminal) as progress:
        bar = progress.add_task("evaluating", total=count, visible=False)
        yield lambda done: progress.update(bar, completed=done, visible=True)


def print_report(report: TaskReport, screen: Console) -> None:
    print_headline(report, screen)
    for each in filter(lambda table: table.rows, report.screen_tables()):
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
    for title, examples in report.examples.items():
        screen.print(f"{title}:", style="bold")
        for example in examples:
            for name, text in example.items():
                print_field(name, text, 10, screen)


def write_report(report: TaskReport, model: Any, tested: str, place: Path) -> str:
    """Write both reports; the one in JSON is returned."""
    facts = {**_facts(model, tested), **report.facts}
    text = json.dumps({"facts": facts, **report.as_dict()}, ensure_ascii=False, indent=2)
    name = "model" if model.directory is None else model.directory.resolve().name
    try:
        (place / "report.json").write_text(text, encoding="utf-8")
        (place / "report.html").write_text(report.page(name, facts, _figures(report)), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{place} could not be written: {error}") from None
    return text


def _figures(report: TaskReport) -> dict[str, str]:
    """The figures as SVG, where matplotlib is there to draw them; one that cannot be drawn is left out."""
    if find_spec("matplotlib") is None:
        return {}
    from dragoman.analysis.figures import as_svg

    drawn = {}
    for title, draw in report.figures.items():
        try:
            drawn[title] = as_svg(draw())
        except DragomanError as error:
            typer.echo(f"the figure '{title}' is left out of the page: {error}", err=True)
    return drawn


def _facts(model: Any, tested: str) -> dict[str, str]:
    from dragoman.tasks.task import find_task

    metadata = model.metadata
    data, size = metadata.data, model.network.configuration.summary()
    return {
        "model": f"{model.directory}: {metadata.task}, {metadata.architecture}, "
        f"{metadata.preset or 'own size'} ({size})",
        "parameters": f"{metadata.parameters:,}",
        "trained on": f"{', '.join(data.files)}: {data.parts.get('training', 0):,} {find_task(metadata.task).samples}, "
        f"{data.split_description}, seed {metadata.seed}, "
        f"recipe {metadata.recipe}",
        "training": f"{counted(metadata.training.get('steps', 0), 'step')}, "
        f"{counted(metadata.training.get('epochs', 0), 'epoch')}",
        "tested on": tested,
        "command": shlex.join(["dragoman", *sys.argv[1:]]),
        "dragoman": metadata.dragoman,
    }
