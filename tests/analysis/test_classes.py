"""Confusion, F1, ROC and calibration against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.analysis.classes import (
    calibration,
    class_scores,
    confusion_matrix,
    macro_f1,
    micro_f1,
    roc_curve,
)

TRUTH = np.array([0, 0, 0, 1, 1, 2])
SAID = np.array([0, 0, 1, 1, 0, 0])


def indicators(labels: np.ndarray) -> np.ndarray:
    return np.eye(3, dtype=bool)[labels]


def test_confusion_rows_are_true_classes() -> None:
    assert confusion_matrix(TRUTH, SAID, 3).tolist() == [[2, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert confusion_matrix(np.array([-1, 0]), np.array([0, 0]), 2).sum() == 1


def test_precision_recall_and_f1() -> None:
    first, second, third = class_scores(indicators(TRUTH), indicators(SAID))
    assert (first.precision, first.recall, first.support) == (0.5, 2 / 3, 3)
    assert first.f1 == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    assert (second.precision, second.recall) == (0.5, 0.5)
    assert (third.precision, third.recall, third.f1) == (0, 0, 0)
    assert macro_f1([first, second, third]) == pytest.approx((first.f1 + 0.5 + 0) / 3)
    assert micro_f1(indicators(TRUTH), indicators(SAID)) == pytest.approx(0.5)  # the accuracy


def test_roc() -> None:
    truth, scores = np.array([1, 1, 0, 1, 0, 0]), np.array([0.9, 0.8, 0.7, 0.6, 0.3, 0.1])
    curve = roc_curve(truth, scores)
    assert curve.auc == pytest.approx(8 / 9)  # of 9 pairs, one is in the wrong order
    assert curve.true_positives.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 1, 1, 1])
    assert roc_curve(truth, np.zeros(6)).auc == 0.5
    assert roc_curve(truth, -scores).auc == pytest.approx(1 / 9)
    assert math.isnan(roc_curve(np.ones(3), scores[:3]).auc)


def test_calibration() -> None:
    found = calibration(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
    assert found.confidence == pytest.approx([0.55, 0.95])
    assert found.right == pytest.approx([0.5, 1.0])
    assert found.counts.tolist() == [2, 2]
    assert found.expected_error == pytest.approx(0.05)
    assert calibration(np.array([1.0]), np.array([True])).expected_error == 0
