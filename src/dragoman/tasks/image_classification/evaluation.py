"""The testing analysis of an image classifier: that of any classifier, and the images it mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dragoman.analysis.task_report import TaskReport
from dragoman.data.images import Picture
from dragoman.tasks.classification.testing import class_report
from dragoman.tasks.image_classification.classifier import ImageClassifier

SHOWN = 12


def image_report(model: ImageClassifier, samples: Sequence[tuple[Picture, str]]) -> TaskReport:
    """Accuracy, F1, confusion, ROC and calibration; and the surest mistakes as pictures."""
    from dragoman.analysis.figures.images import pictures_figure

    report = class_report(model, samples, "image")
    by_name = {picture.name: picture.pixels for picture, _ in samples}
    worst = next(table for table in report.tables if table.title == "Worst mistakes").rows[:SHOWN]
    if not worst:
        return report
    titles = [f"{true}, taken for {said}" for true, said, *_ in worst]
    drawn = partial(pictures_figure, [by_name[str(row[-1])] for row in worst], titles)
    return replace(report, figures={**report.figures, "Worst mistakes": drawn})
