"""The testing analysis of a classifier."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dragoman.analysis.classes import (
    Calibration,
    calibration,
    class_scores,
    confusion_matrix,
    macro_f1,
    micro_f1,
    roc_curve,
)
from dragoman.analysis.task_report import Cell, ReportTable, TaskReport
from dragoman.data.classes import Classes
from dragoman.data.labelled_texts import label_names
from dragoman.errors import DragomanWarning
from dragoman.graph import Array
from dragoman.ranks import current
from dragoman.wording import counted

WORST = 20  # mistakes that are shown
EXCERPT = 200
MATRIX = 25  # classes of which a confusion matrix is shown


@dataclass(frozen=True)
class Tested:
    """Samples with what a model says of them.

    truth, predicted  [n, classes] whether a class applies
    probabilities     [n, classes]
    unknown           [n, labels] the same truth of labels that did not occur in training: nothing predicts them
    trained           samples of the training part
    what              a sample is called
    """

    classes: Classes
    texts: list[str]
    labels: list[str]
    truth: Array
    predicted: Array
    probabilities: Array
    unknown: Array
    trained: int
    what: str = "text"

    @property
    def all_truth(self) -> Array:
        """[n, classes + unknown labels]"""
        return np.hstack((self.truth, self.unknown))

    def with_unknown(self, predicted: Array) -> Array:
        """[n, classes] -> [n, classes + unknown labels], which are not predicted."""
        return np.hstack((predicted, np.zeros(self.unknown.shape, predicted.dtype)))

    def all_right(self, predicted: Array) -> Array:
        """[n] whether a sample is predicted as a whole."""
        found: Array = (self.all_truth == self.with_unknown(predicted)).all(axis=1)
        return found

    @property
    def right(self) -> Array:
        """[n] whether a sample is predicted as a whole."""
        return self.all_right(self.predicted)


def tested(model: Any, samples: Sequence[tuple[Any, str]], what: str) -> Tested:
    """Predict the samples, on all ranks; labels that are unknown to the model are reported in one warning."""
    classes = model.classes
    inputs, labels = [each for each, _ in samples], [label for _, label in samples]
    names = [label_names(label, model.metadata.separator) if classes.several else (label,) for label in labels]
    strange = Counter(name for each in names for name in each if name not in classes)
    columns = {name: i for i, name in enumerate((*classes.names, *strange))}
    truth = np.zeros((len(samples), len(columns)), bool)
    for i, each in enumerate(names):
        truth[i, [columns[name] for name in each]] = True
    unknown = truth[:, classes.size :]
    if strange:
        named = ", ".join(f"'{name}' ({count:,})" for name, count in strange.most_common(5))
        count = int(unknown.any(axis=1).sum())
        warnings.warn(
            f"{counted(count, what)} with labels that did not occur in training count as wrong: {named}"
            f"{' ...' if len(strange) > 5 else ''}; the model knows {classes.shown()}",
            DragomanWarning,
            stacklevel=2,
        )
    found = current().spread_rows(model.probabilities, inputs)
    predicted = found > 0.5 if classes.several else np.eye(classes.size, dtype=bool)[found.argmax(axis=1)]
    trained = model.metadata.data.parts.get("training", 0)
    known = truth[:, : classes.size]
    return Tested(classes, list(map(str, inputs)), labels, known, predicted, found, unknown, trained, what)


def class_report(model: Any, samples: Sequence[tuple[Any, str]], what: str = "text") -> TaskReport:
    """Accuracy, F1, confusion, ROC and calibration, with the majority class beside them.

    model  a classifier of texts or of other samples, which are called `what`
    """
    found = tested(model, samples, what)
    scores = class_scores(found.all_truth, found.with_unknown(found.predicted))
    baseline = _baseline(found)
    base_scores = class_scores(found.all_truth, found.with_unknown(baseline))
    sure = _calibration(found)
    accuracy, base_accuracy = float(found.right.mean()), float(found.all_right(baseline).mean())
    aucs = [roc_curve(t, p) for t, p in zip(found.truth.T, found.probabilities.T, strict=True)]
    known = [curve.auc for curve in aucs if not np.isnan(curve.auc)]
    metrics: dict[str, float] = {
        "accuracy": accuracy,
        "macro_f1": macro_f1(scores),
        "micro_f1": _micro(found, found.predicted),
        "auc": float(np.mean(known)) if known else float("nan"),
        "log_error": _log_error(found),
        "calibration_error": sure.expected_error,
        "baseline_accuracy": base_accuracy,
        "baseline_macro_f1": macro_f1(base_scores),
        "samples": len(samples),
    }
    tables = [_summary(metrics, found), _by_class(found, scores, [curve.auc for curve in aucs])]
    if not found.classes.several:
        tables.append(_confusion(found))
    tables.append(_mistakes(found))
    return TaskReport(_headline(metrics, found), metrics, tables, _figures(found, sure))


def _headline(metrics: dict[str, float], found: Tested) -> str:
    what = f"{found.what}s " + ("have exactly the right labels" if found.classes.several else "are classified right")
    always = "none of the rare labels" if found.classes.several else "always the most frequent class"
    return (
        f"{metrics['accuracy']:.1%} of {len(found.texts):,} {what} (macro F1 {metrics['macro_f1']:.3f}); "
        f"{always} would be right in {metrics['baseline_accuracy']:.1%}"
    )


def _baseline(found: Tested) -> Array:
    """[n, classes] the most frequent class of the training part; of several, those that most of its samples have."""
    counts = np.array(found.classes.counts)
    chosen = np.zeros(found.classes.size, bool)
    if found.classes.several:
        chosen[:] = counts > found.trained / 2
    else:
        chosen[counts.argmax()] = True
    return np.repeat(chosen[None], len(found.texts), axis=0)


def _micro(found: Tested, predicted: Array) -> float:
    """Of one class each, micro F1 is the accuracy."""
    if not found.classes.several:
        return float(found.all_right(predicted).mean())
    return micro_f1(found.all_truth, found.with_unknown(predicted))


def _log_error(found: Tested) -> float:
    """Of one class: the mean of -log p of the right one; of several: the mean log error of all decisions.

    A label that did not occur in training has the probability 0, which is clipped to 1e-15.
    """
    p = np.clip(found.with_unknown(found.probabilities), 1e-15, 1 - 1e-15)
    if found.classes.several:
        return float(-np.where(found.all_truth, np.log(p), np.log(1 - p)).mean())
    return float(-np.log(p[found.all_truth]).mean())


def _calibration(found: Tested) -> Calibration:
    """Of the predicted class; of several classes, of every decision."""
    if found.classes.several:
        sure = np.where(found.predicted, found.probabilities, 1 - found.probabilities)
        return calibration(sure.ravel(), (found.truth == found.predicted).ravel())
    return calibration(found.probabilities.max(axis=1), found.right)


def _summary(metrics: dict[str, float], found: Tested) -> ReportTable:
    rows: list[tuple[Cell, ...]] = [
        ("accuracy", metrics["accuracy"], metrics["baseline_accuracy"]),
        ("macro F1", metrics["macro_f1"], metrics["baseline_macro_f1"]),
    ]
    note = "Baseline: " + (
        f"the labels that more than half of the training {found.what}s have, for every {found.what}."
        if found.classes.several
        else f"'{found.classes.names[int(np.argmax(found.classes.counts))]}', the most frequent class, "
        f"for every {found.what}."
    )
    return ReportTable("Beside a baseline", ("score", "model", "baseline"), rows, note)


def _by_class(found: Tested, scores: Sequence[Any], aucs: Sequence[float]) -> ReportTable:
    rows: list[tuple[Cell, ...]] = [
        (name, each.precision, each.recall, each.f1, auc, each.support)
        for name, each, auc in zip(found.classes.names, scores, aucs, strict=False)  # not of unknown labels
    ]
    return ReportTable("By class", ("class", "precision", "recall", "F1", "AUC", "support"), rows)


def _confusion(found: Tested) -> ReportTable:
    """The matrix; with many classes, the most frequent confusions."""
    names, truth = found.classes.names, np.where(found.truth.any(axis=1), found.truth.argmax(axis=1), -1)
    matrix = confusion_matrix(truth, found.predicted.argmax(axis=1), len(names))
    if len(names) <= MATRIX:
        rows: list[tuple[Cell, ...]] = [(name, *map(int, row)) for name, row in zip(names, matrix, strict=True)]
        return ReportTable("Confusion", ("true \\ predicted", *names), rows)
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MATRIX]
    most = [(names[i // len(names)], names[i % len(names)], int(wrong.flat[i])) for i in order.tolist()]
    columns = ("true", "predicted", f"{found.what}s")
    return ReportTable("Most frequent confusions", columns, [row for row in most if row[2]])


def _mistakes(found: Tested) -> ReportTable:
    """The wrong predictions that the model was surest of."""
    sure = np.where(found.predicted, found.probabilities, 1 - found.probabilities)
    worst = (sure if not found.classes.several else np.where(found.truth != found.predicted, sure, 0)).max(axis=1)
    order = [i for i in np.argsort(-worst, kind="stable").tolist() if not found.right[i]][:WORST]
    names = found.classes.names
    rows: list[tuple[Cell, ...]] = []
    for i in order:
        said = ", ".join(names[k] for k in np.flatnonzero(found.predicted[i])) or "-"
        text = found.texts[i]
        shown = text if len(text) <= EXCERPT else text[:EXCERPT] + "..."
        rows.append((found.labels[i], said, float(worst[i]), shown))
    return ReportTable("Worst mistakes", ("true", "predicted", "probability", found.what), rows)


def _figures(found: Tested, sure: Calibration) -> dict[str, Any]:
    from dragoman.analysis.figures import classes as figures

    names = found.classes.names
    drawn: dict[str, Any] = {}
    if not found.classes.several and len(names) <= MATRIX:
        truth = np.where(found.truth.any(axis=1), found.truth.argmax(axis=1), -1)
        matrix = confusion_matrix(truth, found.predicted.argmax(axis=1), len(names))
        drawn["Confusion"] = partial(figures.confusion_figure, matrix, names)
    shown = [1] if found.classes.binary else range(len(names))
    curves = {names[k]: roc_curve(found.truth[:, k], found.probabilities[:, k]) for k in shown}
    curves = {name: curve for name, curve in curves.items() if not np.isnan(curve.auc)}
    if curves:
        drawn["ROC"] = partial(figures.roc_figure, curves)
    drawn["Calibration"] = partial(figures.calibration_figure, sure)
    return drawn
