"""The report of a classifier beside scikit-learn: every score counts the same samples and the same labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.analysis.task_report import TaskReport
from dragoman.data.classes import Classes
from dragoman.tasks.classification.testing import class_report

metrics = pytest.importorskip("sklearn.metrics")
preprocessing = pytest.importorskip("sklearn.preprocessing")


def report_of(labels: list[str], probabilities: Any, classes: Classes, trained: int = 10) -> TaskReport:
    """Of a model that gives these probabilities."""
    metadata = SimpleNamespace(separator="|", data=SimpleNamespace(parts={"training": trained}))
    rows = np.array(probabilities, float)
    model = SimpleNamespace(
        classes=classes, metadata=metadata, probabilities=lambda inputs: rows[[int(each) for each in inputs]]
    )
    return class_report(model, [(str(i), label) for i, label in enumerate(labels)])


NAMES = ("a", "b", "c")
ONE_EACH = [[0.9, 0.05, 0.05], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a", "b", "c"],
        ["a", "b", "a", "b"],
        ["a", "a", "b", "b"],  # c is predicted, and never true
        ["b", "b", "b", "b"],
        ["a", "a", "a", "new"],  # "new" did not occur in training
        ["new", "new", "newer", "b"],
    ],
)
@pytest.mark.filterwarnings("ignore::dragoman.errors.DragomanWarning")
def test_one_class_each(labels: list[str]) -> None:
    report = report_of(labels, ONE_EACH, Classes(NAMES, (5, 3, 2)))
    predicted = [NAMES[i] for i in np.argmax(ONE_EACH, axis=1)]
    found = report.metrics
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(labels, predicted, average="macro"))
    assert found["micro_f1"] == pytest.approx(metrics.f1_score(labels, predicted, average="micro"))
    given = [dict(zip(NAMES, row, strict=True)).get(label, 0) for label, row in zip(labels, ONE_EACH, strict=True)]
    assert found["log_error"] == pytest.approx(-np.log(np.clip(given, 1e-15, 1)).mean())
    always = ["a"] * len(labels)  # the most frequent one of the training part
    assert found["baseline_accuracy"] == pytest.approx(metrics.accuracy_score(labels, always))
    assert found["baseline_macro_f1"] == pytest.approx(metrics.f1_score(labels, always, average="macro"))


SEVERAL = [[0.9, 0.8, 0.1], [0.9, 0.2, 0.1], [0.4, 0.7, 0.1], [0.1, 0.1, 0.1]]


@pytest.mark.parametrize(
    "labels",
    [
        ["a|b", "a", "b|c", ""],
        ["a|b", "a|b", "b", "b"],
        ["a", "a", "a", "a"],  # b is predicted, and never true
        ["a|b|new", "a", "b", ""],  # all that the model knows of the first text is right
        ["new", "newer|new", "b", "c"],
    ],
)
@pytest.mark.filterwarnings("ignore::dragoman.errors.DragomanWarning")
def test_several_classes_each(labels: list[str]) -> None:
    report = report_of(labels, SEVERAL, Classes(NAMES, (8, 5, 2), several=True))
    sets = [set(label.split("|")) - {""} for label in labels]
    every = sorted(set(NAMES).union(*sets))
    binarized = preprocessing.MultiLabelBinarizer(classes=every)
    truth = binarized.fit_transform(sets)
    rows = [dict(zip(NAMES, row, strict=True)) for row in SEVERAL]
    given = np.array([[row.get(name, 0.0) for name in every] for row in rows])
    predicted, found = (given > 0.5).astype(int), report.metrics
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    expected = metrics.f1_score(truth, predicted, average="macro", zero_division=np.nan)
    assert found["macro_f1"] == pytest.approx(expected)
    assert found["micro_f1"] == pytest.approx(metrics.f1_score(truth, predicted, average="micro"))
    p = np.clip(given, 1e-15, 1 - 1e-15)
    assert found["log_error"] == pytest.approx(-np.where(truth, np.log(p), np.log(1 - p)).mean())
    always = [{"a"} == each for each in sets]  # 8 of the 10 texts of the training part are "a", half are "b"
    assert found["baseline_accuracy"] == pytest.approx(np.mean(always))
