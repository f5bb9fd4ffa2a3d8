"""The testing analysis of a regressor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dragoman.analysis.task_report import Cell, ReportTable, TaskReport
from dragoman.data.labelled_texts import as_number
from dragoman.errors import DataError
from dragoman.graph import Array
from dragoman.ranks import current
from dragoman.tasks.regression.regressor import Regressor

WORST = 20
EXCERPT = 200


def number_report(model: Regressor, samples: Sequence[tuple[str, str]]) -> TaskReport:
    """MAE, RMSE and R2, with the mean of the training part as a prediction beside them."""
    from dragoman.analysis.figures import classes as figures

    texts, truth = [text for text, _ in samples], _numbers([label for _, label in samples])
    predicted = current().spread_rows(model.numbers, texts)
    ours, mean = _errors(truth, predicted), _errors(truth, np.full(len(truth), model.scaler.mean))
    metrics = {**ours, **{f"baseline_{name}": value for name, value in mean.items()}, "samples": len(samples)}
    rows: list[tuple[Cell, ...]] = [(name, ours[name], mean[name]) for name in ours]
    note = f"Baseline: {model.scaler.mean:.6g}, the mean of the training examples, for every text."
    headline = (
        f"off by {ours['mae']:.4g} on average over {len(samples):,} texts (R² {ours['r2']:.3f}); "
        f"always the mean would be off by {mean['mae']:.4g}"
    )
    return TaskReport(
        headline,
        metrics,
        [ReportTable("Beside a baseline", ("score", "model", "baseline"), rows, note), _worst(texts, truth, predicted)],
        {"Predicted against true numbers": partial(figures.numbers_figure, truth, predicted)},
    )


def _numbers(labels: Sequence[str]) -> Array:
    found = [as_number(label) for label in labels]
    for label, number in zip(labels, found, strict=True):
        if number is None:
            raise DataError(f"'{label[:60]}' is not a number")
    return np.array(found, np.float64)


def _errors(truth: Array, predicted: Array) -> dict[str, float]:
    """R2 is NaN where all true numbers are equal."""
    difference = predicted - truth
    spread = float(((truth - truth.mean()) ** 2).sum())
    r2 = 1 - float((difference**2).sum()) / spread if spread else float("nan")
    return {"mae": float(np.abs(difference).mean()), "rmse": float(np.sqrt((difference**2).mean())), "r2": r2}


def _worst(texts: Sequence[str], truth: Array, predicted: Array) -> ReportTable:
    order = np.argsort(-np.abs(predicted - truth), kind="stable")[:WORST].tolist()
    rows: list[tuple[Cell, ...]] = [
        (float(truth[i]), float(predicted[i]), texts[i] if len(texts[i]) <= EXCERPT else texts[i][:EXCERPT] + "...")
        for i in order
    ]
    return ReportTable("Worst predictions", ("true", "predicted", "text"), rows)
