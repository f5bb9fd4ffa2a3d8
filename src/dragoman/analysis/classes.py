"""How well classes are told apart: confusion, precision and recall, ROC, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.graph import Array

BINS = 10  # of a calibration curve


def confusion_matrix(truth: Array, predicted: Array, classes: int) -> Array:
    """[classes, classes] samples by true class (row) and predicted class (column); a truth below 0 is left out."""
    known = truth >= 0
    matrix = np.zeros((classes, classes), np.int64)
    np.add.at(matrix, (truth[known], predicted[known]), 1)
    return matrix


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of one class, which are 0 where nothing could be right.

    support    samples of the class
    predicted  samples that it is predicted for
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


def scores_of(hits: float, predicted: float, support: float) -> ClassScores:
    precision = hits / predicted if predicted else 0.0
    recall = hits / support if support else 0.0
    both = precision + recall
    return ClassScores(precision, recall, 2 * precision * recall / both if both else 0.0, int(support), int(predicted))


def class_scores(truth: Array, predicted: Array) -> list[ClassScores]:
    """Of each class, from indicators [n, classes]."""
    hits, named, there = (truth & predicted).sum(0), predicted.sum(0), truth.sum(0)
    return [scores_of(float(h), float(p), float(s)) for h, p, s in zip(hits, named, there, strict=True)]


def macro_f1(scores: Sequence[ClassScores]) -> float:
    """The mean F1 of the classes that occur or are predicted, as scikit-learn has it."""
    found = [each.f1 for each in scores if each.support or each.predicted]
    return float(np.mean(found)) if found else float("nan")


def micro_f1(truth: Array, predicted: Array) -> float:
    """F1 of all decisions together."""
    return scores_of(float((truth & predicted).sum()), float(predicted.sum()), float(truth.sum())).f1


@dataclass(frozen=True)
class RocCurve:
    """True and false positives by threshold, from none to all; auc is NaN where one of the classes is missing."""

    false_positives: Array
    true_positives: Array
    auc: float


def roc_curve(truth: Array, scores: Array) -> RocCurve:
    """The curve of scores [n] that should be high where truth [n] holds; equal scores count half."""
    order = np.argsort(-scores, kind="stable")
    truth, scores = truth[order].astype(bool), scores[order]
    last = np.flatnonzero(np.append(np.diff(scores) != 0, True)) if len(scores) else np.zeros(0, np.int64)
    right, wrong = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if not positives or not negatives:
        return RocCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]), float("nan"))
    x, y = np.append(0, wrong) / negatives, np.append(0, right) / positives
    return RocCurve(x, y, float(np.trapezoid(y, x)))


@dataclass(frozen=True)
class Calibration:
    """How often predictions of a confidence are right: by bin, its mean confidence, share of right ones, and size."""

    confidence: Array
    right: Array
    counts: Array
    expected_error: float  # ECE: the mean distance of the two, weighted by size


def calibration(confidence: Array, right: Array, bins: int = BINS) -> Calibration:
    """Of predictions [n] with a confidence between 0 and 1; empty bins are left out."""
    places = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(places, minlength=bins)
    filled = counts > 0
    sums = [np.bincount(places, values, minlength=bins)[filled] for values in (confidence, right.astype(np.float64))]
    mean, share = (total / counts[filled] for total in sums)
    error = float((counts[filled] * np.abs(mean - share)).sum() / max(1, len(confidence)))
    return Calibration(mean, share, counts[filled], error)
