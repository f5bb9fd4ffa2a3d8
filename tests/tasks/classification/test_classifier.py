"""Classifiers and regressors: what they predict, why, and how they are kept."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Classifier, Regressor, Translator
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.configuration import configuration
from dragoman.tasks.task import find_task
from tests.tasks.classification.models import MOODS, NEWS, RATED, TRANSFORMER, settings, write_table
from tests.tasks.items import check_texts

LISTED = [(text, json.dumps([topic] + (["odd"] if i % 2 else []))) for i, (text, topic) in enumerate(NEWS)]


def test_two_classes_have_one_logistic_output(moods: Path) -> None:
    model = Classifier.load(moods)
    c = model.network.configuration
    assert (c.outputs, c.output_activation) == (1, "logistic")
    good, bad = model.predict(["a wonderful, brilliant film", "a dull and tedious plot"])
    assert (good.label, bad.label) == ("positive", "negative")
    assert good.probability == good.probabilities["positive"] > 0.5
    assert good.line() == f"positive\t{good.probability:.4f}"
    assert good.as_dict()["probabilities"]["positive"] == pytest.approx(good.probability, abs=1e-6)


@pytest.mark.ledger("B-7.1-tasks-b")
def test_a_whole_sequence_is_given_the_most_probable_class(topics: Path) -> None:
    """Many to one: one distribution over the classes for a text of any length."""
    model = Classifier.load(topics)
    assert model.network.configuration.output_activation == "identity"
    texts = ["the coach and the player of a team", "a stock", "robot", ""]
    rows = model.probabilities(texts)
    assert rows.shape == (4, 3)
    assert rows.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)
    predictions = model.predict(texts)
    assert [p.label for p in predictions[:3]] == ["sport", "money", "science"]
    for prediction, row in zip(predictions, rows, strict=True):
        assert prediction.probability == row.max() == max(prediction.probabilities.values())


@pytest.mark.parametrize("kind", ["bag", "transformer", "gru"])
def test_a_text_gets_the_same_answer_in_any_company(kind: str, own_cache: None) -> None:
    changes: dict[str, Any] = {"architecture": kind, "stopping": {"epochs": 1}}
    sizes: dict[str, Any] = {"transformer": TRANSFORMER, "gru": {"network": {"units": 16, "depth": 8, "buckets": None}}}
    model = trained(settings(NEWS, "topics", sizes.get(kind, {}), changes))
    texts = [text for text, _ in NEWS[::7]] + ["", "word " * 900]
    together = model.probabilities(texts)
    for text, row in zip(texts, together, strict=True):
        assert model.probabilities([text])[0] == pytest.approx(row, abs=1e-5)


def trained(given: dict[str, Any]) -> Classifier:
    """A classifier that is not written to disk."""
    return Classifier.train(given["data"]["files"], **given)


def test_several_labels_at_once(own_cache: None, tmp_path: Path) -> None:
    path = tmp_path / "listed.jsonl"
    path.write_text("".join(json.dumps({"text": t, "labels": json.loads(label)}) + "\n" for t, label in LISTED))
    given = settings(NEWS, "topics", {"data": {"files": [str(path)]}, "stopping": {"epochs": 10}})
    model = trained(given)
    assert model.classes.several
    assert model.classes.names == ("money", "odd", "science", "sport")
    found = model.predict(["a coach and a player"])[0]
    assert "sport" in found.labels
    assert "money" not in found.labels
    assert found.as_dict()["labels"] == list(found.labels)
    assert sum(found.probabilities.values()) != pytest.approx(1)
    report = find_task("classification").evaluate(model, LISTED)
    assert report.metrics["micro_f1"] > 0.6


def test_labels_between_separators(own_cache: None, tmp_path: Path) -> None:
    rows = [(text, f"{topic};news") for text, topic in NEWS]
    files = [write_table(tmp_path / "two.tsv", rows)]
    changes = {"data": {"files": files, "separator": ";"}, "stopping": {"epochs": 1}}
    model = trained(settings(NEWS, "topics", changes))
    assert model.classes.names == ("money", "news", "science", "sport")


def test_a_number(ratings: Path) -> None:
    model = Regressor.load(ratings)
    low, high = model.predict(["awful plot and dull music", "perfect plot and good music"])
    assert high.number - low.number > 1
    check_texts(model.predict, ["fair film", "perfect plot"])
    assert float(low.line()) == pytest.approx(low.number, rel=1e-4)
    assert low.as_dict()["number"] == pytest.approx(low.number)
    report = find_task("regression").evaluate(model, [(text, str(number)) for text, number in RATED])
    assert report.metrics["mae"] < 0.6 * report.metrics["baseline_mae"]
    assert report.metrics["r2"] > 0.5


def test_which_words_decided(moods: Path, ratings: Path) -> None:
    found = Classifier.load(moods).explain("the plot is wonderful")
    assert found.of == "log-odds of positive"
    assert [each.word for each in found.words] == ["the", "plot", "is", "wonderful"]
    assert found.strongest(1)[0].word == "wonderful"
    assert found.strongest(1)[0].effect > 0
    model = Classifier.load(moods)
    odds = model.log_odds(model.logits(["the plot is wonderful", "the plot is "]))[:, 1]
    assert found.words[-1].effect == pytest.approx(odds[0] - odds[1])
    against = model.explain("the plot is wonderful", "negative")
    assert against.words[-1].effect == pytest.approx(-found.words[-1].effect)
    with pytest.raises(ConfigurationError, match="no class 'angry'; the model knows negative, positive"):
        model.explain("a text", "angry")
    assert Regressor.load(ratings).explain("fair film and perfect plot").strongest(1)[0].word == "perfect"


def test_log_odds_of_many_classes_are_those_of_the_probabilities(topics: Path) -> None:
    model = Classifier.load(topics)
    z = model.logits([text for text, _ in NEWS[:20]])
    p = model.probabilities([text for text, _ in NEWS[:20]])
    assert model.log_odds(z) == pytest.approx(np.log(p / (1 - p)), rel=1e-6)


def test_saved_and_loaded_it_says_the_same(topics: Path, tmp_path: Path) -> None:
    model = Classifier.load(topics)
    model.save(tmp_path / "copy")
    texts = [text for text, _ in NEWS[:5]]
    assert np.array_equal(Classifier.load(tmp_path / "copy").probabilities(texts), model.probabilities(texts))


def test_a_model_of_another_task_names_its_command(moods: Path, ratings: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model for classification; use `dragoman predict"):
        Translator.load(moods)
    with pytest.raises(ConfigurationError, match=r"model for regression; use `dragoman predict"):
        Classifier.load(ratings)


def test_texts_that_cannot_be_read(moods: Path) -> None:
    model = Classifier.load(moods)
    check_texts(model.predict, ["a text", "another"])
    check_texts(model.features, ["a text", "another"])
    with pytest.raises(ConfigurationError, match="list of texts"):
        model.probabilities("a text")
    assert model.probabilities(iter(["a text", "another"])).shape == (2, 2)
    with pytest.raises(DataError, match="is None, expected a text"):
        model.explain(None)
    assert math.isfinite(model.predict([""])[0].probability)


def test_balanced_classes_weigh_the_same(own_cache: None, tmp_path: Path) -> None:
    rows = [row for row in MOODS if row[1] == "positive"] + [row for row in MOODS if row[1] == "negative"][:20]
    rows += [(f"{text} again", label) for text, label in rows if label == "positive"]
    files = [write_table(tmp_path / "skewed.tsv", rows)]
    same = {"data": {"files": files}, "network": {"dropout": 0.0}}
    task, asked = find_task("classification"), settings(MOODS, "moods", same, {"loss": {"class_weights": "balanced"}})
    chosen = configuration(asked)
    dataset = task.prepare(task.open_corpus(chosen.data), chosen)
    part = task.part(dataset, "training", chosen)
    batch = part.batch(np.arange(len(part)))
    assert batch.loss_weights is not None
    first, second = (batch.loss_weights[batch.targets == k].sum() for k in (0, 1))
    assert first == pytest.approx(second) == pytest.approx(len(part) / 2)
    plain = trained(settings(MOODS, "moods", same))
    fair = trained(settings(MOODS, "moods", same, {"loss": {"class_weights": "balanced"}}))
    unknown = ["the", "a thing that was never mentioned"]
    assert (fair.probabilities(unknown)[:, 0] > plain.probabilities(unknown)[:, 0]).all()
    listed = {"data": {"files": files, "separator": ";"}, "loss": {"class_weights": "balanced"}}
    with pytest.raises(ConfigurationError, match="one class for each text"):
        trained(settings(MOODS, "moods", listed))


def test_fine_tuning_keeps_encoders_and_refuses_new_labels(moods: Path, tmp_path: Path, own_cache: None) -> None:
    base = Classifier.load(moods)
    new = [(f"{text} zzz", label) for text, label in MOODS[::3]]
    given = {"data": {"files": [write_table(tmp_path / "new.tsv", new)]}, "start": {"model": str(moods)}}
    tuned = trained(settings(MOODS, "moods", given, {"network": {"buckets": None}}))
    assert tuned.classes == base.classes
    assert tuned.tokenizer.to_json() == base.tokenizer.to_json()
    other = {"data": {"files": [write_table(tmp_path / "other.tsv", [*new, ("a text", "angry")])]}}
    with pytest.raises(DataError, match="'angry' does not occur"):
        trained(settings(MOODS, "moods", given, {"network": {"buckets": None}}, other))
