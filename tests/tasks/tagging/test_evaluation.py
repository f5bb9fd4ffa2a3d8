"""What is measured of a tagger."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dragoman import Tagger
from dragoman.analysis.figures import save_figure
from dragoman.errors import DragomanWarning
from dragoman.tasks.tagging.evaluation import TagScores, precision_recall
from tests.tasks.tagging.tagged import SENTENCES


def scores(true: list[list[str]], predicted: list[list[str]], unseen: list[bool] | None = None) -> TagScores:
    names = tuple(sorted({tag for sentence in [*true, *predicted] for tag in sentence}))
    words = sum(map(len, true))
    return TagScores(names, true, predicted, np.array(unseen or [False] * words))


def test_counted_by_hand() -> None:
    found = scores([["A", "A", "B"], ["C"]], [["A", "B", "B"], ["A"]], [False, True, True, False])
    assert found.accuracy == 0.5
    assert found.unseen_accuracy == 0.5
    assert found.sentence_accuracy == 0
    by_tag = {name: row for name, *row in found.by_tag}
    assert by_tag["A"] == [0.5, 0.5, 0.5, 2]
    assert by_tag["B"] == [0.5, 1.0, 2 / 3, 1]
    assert by_tag["C"] == [0, 0, 0, 1]
    assert found.macro_f1 == pytest.approx((0.5 + 2 / 3) / 3)
    assert found.confused == [("A", "B", 1, 0.5), ("C", "A", 1, 1.0)]
    assert math.isnan(scores([["A"]], [["A"]]).unseen_accuracy)


def test_a_tag_that_is_predicted_but_never_right_counts_in_the_mean() -> None:
    assert scores([["A", "A"]], [["A", "B"]]).macro_f1 == pytest.approx((2 / 3 + 0) / 2)
    assert precision_recall(0, 0, 0) == (0, 0, 0)


def test_whole_entities() -> None:
    true = [["B-PER", "I-PER", "O", "B-LOC"], ["B-PER"]]
    found = scores(true, [["B-PER", "O", "O", "B-LOC"], ["B-PER"]])
    assert found.entities == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def as_samples(sentences: list[list[tuple[str, str]]]) -> list[tuple[str, str]]:
    return [("\t".join(word for word, _ in each), "\t".join(tag for _, tag in each)) for each in sentences]


def test_the_report(tagger: Tagger, tmp_path: Path) -> None:
    report = tagger.evaluate(as_samples(SENTENCES))
    assert list(report.metrics)[:2] == ["accuracy", "macro_f1"]
    assert report.metrics["accuracy"] > report.metrics["baseline_accuracy"] > 0.5
    assert "entity_f1" not in report.metrics
    beside, tags, _ = report.tables
    assert [row[0] for row in beside.rows] == ["this model", "most frequent tag"]
    assert [row[0] for row in tags.rows][:2] == ["PUNCT", "VERB"], "the most frequent first"
    assert sum(int(row[-1]) for row in tags.rows) == sum(map(len, SENTENCES))
    (figure,) = report.figures.values()
    save_figure(figure(), tmp_path / "confusion.png")
    assert (tmp_path / "confusion.png").stat().st_size > 1000


def test_words_that_training_never_saw(tagger: Tagger) -> None:
    report = tagger.evaluate([("Zoltan\tplays\t.", "PROPN\tVERB\tPUNCT")])
    assert "33.3% of the words do not occur there" in report.tables[0].note
    assert report.metrics["unseen_accuracy"] in (0.0, 1.0)


def test_tags_that_training_never_saw_are_wrong(tagger: Tagger) -> None:
    with pytest.warns(DragomanWarning, match=r"1 word with tags that training never saw \(VRB\).*mean 'VERB'"):
        report = tagger.evaluate([("Anna\tplays\t.", "PROPN\tVRB\tPUNCT")])
    assert report.metrics["accuracy"] == pytest.approx(2 / 3)
