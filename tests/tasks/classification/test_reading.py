"""Which files, folders and columns labelled texts are read from, and what is said of bad ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigurationError, DataError, DragomanWarning
from dragoman.tasks.classification.corpus import Corpus, open_corpus
from dragoman.tasks.classification.settings import LabelData, TextData
from dragoman.tasks.configuration import configuration
from dragoman.tasks.task import find_task
from dragoman.tasks.training import train_model
from tests.tasks.classification.models import MOODS, RATED, settings, write_table

ROWS = [("good film", "pos"), ("bad film", "neg"), ("fine plot", "pos"), ("poor plot", "neg")]


def opened(*files: Path | str, number: bool = False, **given: Any) -> Corpus:
    kind = TextData if number else LabelData
    return open_corpus(kind(files=tuple(map(str, files)), **given), given, number)


def written(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


TSV = "".join(f"{label}\t{text}\n" for text, label in ROWS)
CSV = "".join(f'"{text}",{label}\n' for text, label in ROWS)
JSONL = "".join(json.dumps({"id": i, "Review": t, "Sentiment": c}) + "\n" for i, (t, c) in enumerate(ROWS))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", TSV),
        ("a.tsv.gz", TSV),
        ("a.csv", CSV),
        ("a.csv.gz", "id,label,review\n" + "".join(f"{i},{c},{t}\n" for i, (t, c) in enumerate(ROWS))),
        ("a.tsv", "class\ttext\n" + TSV),
        ("a.jsonl", JSONL),
        ("a.labelled", TSV),
    ],
    ids=["tsv", "gz", "csv", "csv with a header", "tsv with a header", "jsonl", "labelled"],
)
def test_columns_are_found(tmp_path: Path, name: str, text: str) -> None:
    assert list(opened(written(tmp_path / name, text)).texts) == ROWS


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"n": [1, 2, 3, 4], "topic": [c for _, c in ROWS], "body": [t for t, _ in ROWS]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert list(opened(tmp_path / "a.parquet").texts) == ROWS


def test_several_columns_of_text_are_joined(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", '1,"a title","a body"\n2,"another",""\n')
    found = opened(path, text=(2, 3), label=1)
    assert list(found.texts) == [("a title a body", "1"), ("another", "2")]
    named = written(tmp_path / "b.jsonl", json.dumps({"a": "x", "b": "y", "c": 3}) + "\n")
    assert list(opened(named, text=("b", "a"), label="c").texts) == [("y x", "3")]


def test_what_was_chosen_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", TSV)
    assert opened(path).name == f"{path} (text from column 2, labels from column 1)"
    assert opened(path, text=(2,), label=1).name == str(path)
    unknown = written(tmp_path / "c.csv", "text,how\n" + "a,b\n" * 3)
    assert opened(unknown).name.endswith("(text from column 'text', labels from column 'how')")
    no_header = written(tmp_path / "d.csv", "question,b\n" + "a,b\n" * 3)
    assert opened(no_header).name.endswith("(text from column 1, labels from column 2)")
    header = written(tmp_path / "b.csv", "headline,topic,x\n" + "a,b,c\n" * 3)
    assert opened(header).name.endswith("(text from column 'headline', labels from column 'topic')")
    assert opened(path, label=2).columns is not None
    assert str(opened(path, label=2).columns) == "text from column 1, labels from column 2"


def test_a_folder_of_classes(tmp_path: Path) -> None:
    for i, (text, label) in enumerate(ROWS):
        (tmp_path / label).mkdir(exist_ok=True)
        written(tmp_path / label / f"{i}.txt", f"{text}\n\n")
    found = opened(tmp_path)
    assert sorted(found.texts) == sorted(ROWS)
    before = found.digest
    written(tmp_path / "pos" / "9.txt", "more")
    assert opened(tmp_path).digest != before
    written(tmp_path / "pos" / "empty.txt", " \n")
    with pytest.raises(DataError, match=r"empty\.txt, line 1: empty text"):
        list(opened(tmp_path).texts)
    assert len(list(opened(tmp_path, on_bad_line="skip").texts)) == 5
    with pytest.raises(DataError, match="not numbers"):
        opened(tmp_path, number=True)


def test_a_folder_of_parts_is_used_as_it_is(tmp_path: Path) -> None:
    written(tmp_path / "training.tsv", TSV)
    written(tmp_path / "validation.tsv", "pos\tnice film\n")
    found = opened(tmp_path)
    assert found.settings.split == "given"
    assert list(found.texts["validation"]) == [("nice film", "pos")]
    written(tmp_path / "testing.tsv", "angry\tnice film\n")
    with pytest.raises(DataError, match="'angry' does not occur among the training examples, which have neg, pos"):
        opened(tmp_path).dataset(0)


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("one\ntwo\n", {}, r"has one column, so there is no label"),
        ("a\tb\tc\n", {}, r"has 3 columns; say which to use with --text and --label"),
        ("a\tb\tc\n", {"label": 1}, r"say which to use with --text,"),
        (TSV, {"label": 5}, r"has 2 columns, so there is no column 5 \(--label\)"),
        ("label\ttext\n" + TSV, {"label": "mood"}, r"no column 'mood' \(--label\); it has 'label', 'text'"),
        (TSV, {"label": 1, "text": (1,)}, "named as text and as label"),
        ("", {}, "is empty"),
    ],
    ids=["text only", "three columns", "one chosen", "no such number", "no such name", "the same twice", "empty"],
)
def test_columns_that_cannot_be_found(tmp_path: Path, text: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, ConfigurationError), match=message):
        opened(written(tmp_path / "a.tsv", text), **given)


def test_no_file_and_columns_from_zero(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        opened(tmp_path / "gone.tsv")
    with pytest.raises(ConfigurationError, match="names no file"):
        opened()
    with pytest.raises(ConfigurationError, match="columns count from 1"):
        LabelData(label=0)
    with pytest.raises(DataError, match="neither training"):
        opened(tmp_path)


def test_empty_texts_are_an_error_or_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", TSV + "pos\t\n")
    with pytest.raises(DataError, match="line 5: empty text"):
        list(opened(path).texts)
    found = opened(path, on_bad_line="skip")
    assert len(list(found.texts)) == 4
    assert found.left_out()[0] == "1 line skipped: empty text"


def test_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a text,1.5\nanother,-2e3\n")
    assert list(opened(path, number=True).texts) == [("a text", "1.5"), ("another", "-2e3")]
    bad = written(tmp_path / "b.csv", "a text,1.5\nanother,three\n")
    with pytest.raises(DataError, match=r"line 2: not a number \(the label\): 'three'"):
        list(opened(bad, number=True).texts)
    assert len(list(opened(bad, number=True, on_bad_line="skip").texts)) == 1
    typed = written(tmp_path / "c.jsonl", json.dumps({"text": "x", "score": 2.5}) + "\n")
    assert list(opened(typed, number=True).texts) == [("x", "2.5")]
    with pytest.raises(DataError, match="neither of its two columns holds numbers"):
        opened(written(tmp_path / "d.tsv", TSV), number=True)


def test_a_rare_class_is_warned_of(tmp_path: Path, own_cache: None) -> None:
    files = [write_table(tmp_path / "rare.tsv", [*MOODS, ("something else entirely", "odd")])]
    with pytest.warns(DragomanWarning, match=r"1 of 3 classes with a single training example \('odd'\)"):
        train_model(settings(MOODS, "moods", {"data": {"files": files}, "stopping": {"epochs": 1}}))


def test_few_texts(tmp_path: Path, own_cache: None) -> None:
    files = [write_table(tmp_path / "few.tsv", ROWS)]
    with pytest.raises(DataError, match="a model needs at least 10"):
        train_model(settings(MOODS, "moods", {"data": {"files": files, "shares": [1, 0, 0]}}))
    alone = {"data": {"shares": [1, 0, 0]}, "stopping": {"epochs": 1}}  # nothing to validate on, and no patience
    assert "patience" not in str(train_model(settings(MOODS, "moods", alone))[1].reason)


def test_settings_of_other_tasks_are_refused(own_cache: None) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown setting 'data\.languages'"):
        configuration({"task": "classification", "data": {"languages": ["en", "es"]}})
    with pytest.raises(ConfigurationError, match=r"unknown setting 'data\.several'"):
        configuration({"task": "regression", "data": {"several": True}})
    for task in ("translation", "regression"):
        with pytest.raises(ConfigurationError, match="no classes to weigh"):
            configuration({"task": task, "loss": {"class_weights": "balanced"}})
    for given in ({"progress": {"samples": 2}}, {"start": {"train": "output"}}, {"loss": {"smoothing": 0.1}}):
        with pytest.raises(ConfigurationError, match="leave"):
            train_model(settings(MOODS, "moods", given))
    found = configuration({"task": "classification"})
    assert found.architecture == "bag"
    assert configuration({"task": "classification", "architecture": "gru"}).optimizer.rate < found.optimizer.rate


def test_a_bag_for_many_classes_has_fewer_buckets(tmp_path: Path, own_cache: None) -> None:
    rows = [(f"text {i} of class {i % 300}", f"c{i % 300:03}") for i in range(900)]
    given = {"task": "classification", "data": {"files": [write_table(tmp_path / "many.tsv", rows)]}}
    task, asked = find_task("classification"), configuration(given)
    dataset = task.prepare(task.open_corpus(asked.data), asked)
    assert task.decide(given, dataset)["network"]["buckets"] == 32768
    assert configuration({**given, "network": {"dropout": 0.1}}).network.dropout == 0.1  # type: ignore[attr-defined]


def test_evaluation_counts_unseen_labels_as_wrong(moods: Path) -> None:
    task = find_task("classification")
    model = task.load(moods)
    samples = [("a wonderful film", "positive"), ("a wonderful film", "angry")]
    with pytest.warns(DragomanWarning, match=r"1 text with labels that did not occur .*'angry' \(1\)"):
        report = task.evaluate(model, samples)
    assert report.metrics["accuracy"] == 0.5
    assert report.tables[-1].rows[0][:2] == ("angry", "positive")


def test_the_report_of_a_classifier(topics: Path, tmp_path: Path) -> None:
    task = find_task("classification")
    report = task.evaluate(task.load(topics), task.load_testing(topics))
    assert 0.9 < report.metrics["accuracy"] <= 1
    assert report.metrics["baseline_accuracy"] < 0.6
    titles = [table.title for table in report.tables]
    assert titles == ["Beside a baseline", "By class", "Confusion", "Worst mistakes"]
    assert report.tables[1].columns == ("class", "precision", "recall", "F1", "AUC", "support")
    assert list(report.figures) == ["Confusion", "ROC", "Calibration"]
    json.dumps(report.as_dict(), allow_nan=False)
    pytest.importorskip("matplotlib")
    for draw in report.figures.values():
        assert draw().axes


def test_the_report_of_a_regressor(ratings: Path) -> None:
    task = find_task("regression")
    samples = [(text, str(number)) for text, number in RATED]
    report = task.evaluate(task.load(ratings), samples)
    assert report.metrics["baseline_r2"] == pytest.approx(0, abs=0.05)
    assert report.metrics["rmse"] >= report.metrics["mae"]
    with pytest.raises(DataError, match="'many' is not a number"):
        task.evaluate(task.load(ratings), [("x", "many")])
    pytest.importorskip("matplotlib")
    assert report.figures["Predicted against true numbers"]().axes


def test_numbers_as_classes_are_noticed(tmp_path: Path, own_cache: None) -> None:
    lines = "".join(f"a text {i},{i / 7}\n" for i in range(20))
    given = {"task": "classification", "data": {"files": [str(written(tmp_path / "n.csv", f"text,score\n{lines}"))]}}
    task, asked = find_task("classification"), configuration(given)
    dataset = task.prepare(task.open_corpus(asked.data), asked)
    assert sum(dataset.about["parts"].values()) == 20, "the header is no sample"
    assert list(task.warnings(dataset, new=True))[-1].endswith("predict numbers with --task regression")
