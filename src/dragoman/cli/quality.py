"""Print the quality to expect of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dragoman.errors import DragomanError, RankError
from dragoman.ranks import ALONE, Ranks, current, using

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport


def print_headline(report: TaskReport, screen: Console) -> None:
    screen.print(report.headline, style="bold", highlight=False, markup=False)
    if report.note:
        screen.print(report.note, style="dim", highlight=False, markup=False)


def print_quality(model: Any, directory: Path, screen: Console) -> None:
    """Evaluate a model on some samples that training never saw, if it keeps any, and say what to expect.

    directory  of the model. Ranks that do not see it leave the evaluation to the first one.
    """
    from dragoman.tasks.task import find_task

    task, ranks = find_task(model.metadata.task), current()
    if not _is_seen_by_all(directory, ranks):
        if not ranks.first:
            return
        ranks = ALONE
    try:
        with using(ranks):
            samples = task.load_testing(directory)
            if not len(samples):
                return
            report = task.evaluate_quickly(model, samples)
    except RankError:
        raise
    except DragomanError as error:  # the model is trained and saved all the same
        screen.print(f"The quality was not measured: {error}", highlight=False, markup=False)
        return
    if report.summary:
        screen.print(report.summary, highlight=False, markup=False)
    print_headline(report, screen)


def _is_seen_by_all(directory: Path, ranks: Ranks) -> bool:
    """Whether all ranks find the model that the first has written."""
    digest = _digest(directory) if ranks.first else None
    written = ranks.share(digest)
    return all(ranks.collect(_digest(directory) == written))


def _digest(directory: Path) -> str | None:
    from dragoman.data.cache import file_digest

    path = directory / "model.json"
    return file_digest(path) if path.is_file() else None
