"""Print the quality to expect of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport


def print_headline(report: TaskReport, screen: Console) -> None:
    screen.print(report.headline, style="bold", highlight=False, markup=False)
    if report.note:
        screen.print(report.note, style="dim", highlight=False, markup=False)


def print_quality(model: Any, screen: Console) -> None:
    """Evaluate a model on some samples that training never saw, if it keeps any, and say what to expect."""
    from dragoman.tasks.task import find_task

    task = find_task(model.metadata.task)
    try:
        samples = [] if model.directory is None else task.load_testing(model.directory)
        if not len(samples):
            return
        report = task.evaluate_quickly(model, samples)
    except DragomanError as error:  # the model is trained and saved all the same
        screen.print(f"The quality was not measured: {error}", highlight=False, markup=False)
        return
    if report.summary:
        screen.print(report.summary, highlight=False, markup=False)
    print_headline(report, screen)
