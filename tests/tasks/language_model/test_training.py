"""Training a language model: resumed to the same bits, carried state, fine-tuning, plans, and mistakes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from dragoman.data.windows import TrackStream, WindowStream
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.configuration import configuration, read_toml
from dragoman.tasks.decisions import planned_steps
from dragoman.tasks.language_model.evaluation import by_position, load_baselines
from dragoman.tasks.language_model.generator import TextGenerator
from dragoman.tasks.planning import measure
from dragoman.tasks.preparation import Preparation
from dragoman.tasks.task import find_task
from dragoman.tasks.training import train_model
from dragoman.training import Callback
from tests.tasks.language_model.conftest import SONG, TEXT, settings

TASK = find_task("language-model")

KILLED = """
import json, os, signal, sys
from pathlib import Path
from dragoman.tasks.training import train_model
from dragoman.training import Callback

class Kill(Callback):
    def step(self, step, loss, training):
        if step == 7:
            os.kill(os.getpid(), signal.SIGKILL)

train_model(json.loads(sys.argv[1]), Path(sys.argv[2]), Kill())
"""


@pytest.mark.parametrize("architecture", ["transformer", "lstm"])
def test_a_killed_training_resumes_to_the_same_bits(architecture: str, tmp_path: Path, own_cache: None) -> None:
    """Killed in the middle of the second epoch: tracks, states and shifts go on."""
    given = settings(
        tmp_path,
        architecture=architecture,
        threads=2,
        optimizer={"averaging": 0.9},
        network={"dropout": 0.2},
        stopping={"epochs": 3},
        checkpoints={"minutes": 1e-9},
    )
    train_model(given, tmp_path / "whole")
    killed = subprocess.run([sys.executable, "-c", KILLED, json.dumps(given), str(tmp_path / "killed")], check=False)
    assert killed.returncode == -signal.SIGKILL
    last = (tmp_path / "killed" / "checkpoints" / "latest").read_text().strip()
    assert last == "step-00000006"
    arrays = load_file(tmp_path / "killed" / "checkpoints" / last / "arrays.safetensors")
    assert any(name.startswith("carried.") for name in arrays) == (architecture == "lstm")
    train_model(given, tmp_path / "killed")
    for place in ("weights.safetensors", "checkpoints/latest"):
        assert (tmp_path / "whole" / place).read_bytes() == (tmp_path / "killed" / place).read_bytes(), place
    lines = [(tmp_path / name / "history.jsonl").read_text().splitlines() for name in ("whole", "killed")]
    errors = [[json.loads(line)["validation_error"] for line in each] for each in lines]
    assert errors[0] == errors[1]


def test_carried_state_is_what_a_recurrent_network_is_trained_with(tmp_path: Path, own_cache: None) -> None:
    def stream(**more: Any) -> tuple[Any, Any]:
        prepared = Preparation(
            given := settings(tmp_path, **more), configuration(given), None, Callback(), lambda text: None
        )
        part = prepared.dataset.part("validation")
        return TASK.batches(prepared.settings, prepared.dataset), next(
            iter(TASK.fixed_batches(prepared.settings, part))
        )

    for more, kind, continues in (
        ({}, WindowStream, None),
        ({"architecture": "gru"}, TrackStream, False),
        ({"architecture": "gru", "data": {"carried": False}}, WindowStream, None),
    ):
        training, validation = stream(**more)
        assert type(training) is kind
        assert validation.continues is continues
        assert next(training).continues is continues


def test_without_carried_state_it_is_another_training(tmp_path: Path, own_cache: None) -> None:
    def weights(carried: bool) -> Any:
        given = settings(tmp_path, architecture="rnn", data={"carried": carried}, stopping={"steps": 4})
        return train_model(given)[0].network.theta.values

    assert not np.array_equal(weights(True), weights(False))


@pytest.mark.parametrize("tokenizer", ["bpe", "words"])
def test_pieces_and_words_with_tied_tables(tokenizer: str, tmp_path: Path, own_cache: None) -> None:
    data = {"tokenizer": tokenizer, "context": 8}
    given = settings(tmp_path, data=data, stopping={"epochs": 15}, optimizer={"batch": 4})
    assert configuration(given).network.tied == "none"
    model, _ = train_model(given, tmp_path / "model")
    assert model.network.configuration.tied == "output"
    text = "".join(model.generate("bad cog", tokens=8, temperature=0))
    assert text.startswith(" hum\nfix")
    report = TASK.evaluate(TextGenerator.load(tmp_path / "model"), TASK.load_testing(tmp_path / "model"))
    assert report.metrics["bits_per_character"] < report.metrics["error"] / np.log(2)  # a token has several characters


def test_several_files_are_several_texts(tmp_path: Path, own_cache: None) -> None:
    (tmp_path / "more.txt").write_text("another one\n" * 30)
    given = settings(tmp_path, stopping={"steps": 2})
    given["data"]["files"].append(str(tmp_path / "more.txt"))
    model, _ = train_model(given)
    assert model.metadata.texts == 2
    assert model.begin == 3  # as after the end of another text


def test_fine_tuning_keeps_tokens_and_context(singer: Path, tmp_path: Path) -> None:
    given = settings(tmp_path, TEXT.replace("bad", "jet"), stopping={"epochs": 1}, start={"model": str(singer)})
    given["data"].pop("context")
    given.pop("network")
    given.pop("preset")
    model, outcome = train_model(given, tmp_path / "tuned")
    assert model.metadata.context == 32
    base = TextGenerator.load(singer)
    assert model.tokenizer.to_json() == base.tokenizer.to_json()
    assert len(outcome.records) == 2  # the first before any step


def test_a_plan_measures_every_architecture(tmp_path: Path, own_cache: None) -> None:
    for architecture in ("transformer", "gru"):
        given = settings(tmp_path, architecture=architecture)
        prepared = Preparation(given, configuration(given), None, Callback(), lambda text: None)
        speed = measure(prepared.settings, prepared.dataset, seconds=0.05)
        assert speed.tokens_per_second > 0
        assert speed.steps_per_epoch * prepared.settings.stopping.epochs == planned_steps(
            prepared.settings, prepared.dataset
        )


def test_a_budget_plans_steps(tmp_path: Path, own_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.tasks.planning.MEASURED", 0.05)
    monkeypatch.setattr(measure, "__defaults__", (0.05,))
    given = settings(tmp_path, stopping={"budget": "1s"})
    _, outcome = train_model(given, tmp_path / "model")
    assert outcome.finished
    assert read_toml(tmp_path / "model" / "configuration.toml")["optimizer"]["schedule_steps"] > 1


def test_samples_are_shown_while_training(tmp_path: Path, own_cache: None) -> None:
    class Told(Callback):
        notices: list[str] = []  # noqa: RUF012

        def notice(self, text: str) -> None:
            self.notices.append(text)

    train_model(settings(tmp_path, stopping={"steps": 1}, progress={"samples": 2}), tmp_path / "model", Told())
    assert sum(len(text) > 50 for text in Told.notices) == 2


# Evaluation


def test_the_report_compares_with_models_that_only_count(singer: Path) -> None:
    model = TextGenerator.load(singer)
    report = TASK.evaluate(model, TASK.load_testing(singer))
    names = [row[0] for row in report.tables[0].rows]
    assert names == ["uniform", "unigram", "5-gram", "this model"]
    bits = [float(row[1]) for row in report.tables[0].rows]
    assert bits[0] > bits[1] > bits[2]
    assert bits[3] == report.metrics["bits_per_character"] < bits[1]
    assert "5-gram" in report.headline
    assert report.metrics["perplexity"] == pytest.approx(np.exp(report.metrics["error"]))
    assert 0.8 < report.metrics["accuracy"] <= 1
    assert report.tables[1].title == "A sample"
    assert load_baselines(singer / "nowhere") == {}


def test_other_texts_have_no_baselines(singer: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("jet fix hum\n" * 3)
    model = TextGenerator.load(singer)
    report = TASK.evaluate(model, TASK.read_samples(model, [str(tmp_path / "other.txt")], {}))
    assert [row[0] for row in report.tables[0].rows] == ["this model"]


def test_what_comes_early_in_a_window_is_harder(singer: Path) -> None:
    model = TextGenerator.load(singer)
    (measured,) = model.measure([model.tokenizer.encode([SONG * 10])[0]])
    places, bits = by_position(measured)
    assert places[0] == 0
    assert bits[0] > 2 * bits[-1]
    pytest.importorskip("matplotlib")
    report = TASK.evaluate(model, [SONG * 3])
    assert report.figures["Error by position in the window"]().axes


# Mistakes


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"data": {"carried": True}}, "a transformer has no state to carry"),
        ({"network": {"positions": "learned", "maximum_length": 16}}, "32 tokens.*do not fit into 16 positions"),
        ({"data": {"columns": [1, 2]}}, "unknown setting 'data.columns'"),
        ({"data": {"format": "tsv"}}, "data.format: Input should be 'plain'"),
        ({"data": {"header": True}}, "a language model reads plain text as it stands"),
        ({"data": {"files": []}}, "give one or more files of plain text"),
        ({"data": {"context": 0}}, "data.context"),
        ({"progress": {"scores": ["bleu"]}}, "there is no score 'bleu'"),
        ({"start": {"vectors": {"source": "v.txt"}}}, "does not begin with word vectors"),
        ({"optimizer": {"scheduled_sampling": 0.5}}, "is for translators"),
        ({"data": {"vocabulary": 5}}, "is too small: this text needs at least"),
    ],
)
def test_mistakes_are_named(more: dict[str, Any], message: str, tmp_path: Path, own_cache: None) -> None:
    with pytest.raises(ConfigurationError, match=message):
        train_model(settings(tmp_path, **more))


def test_files_that_are_not_there(tmp_path: Path, own_cache: None) -> None:
    for name, message in ((tmp_path, "is a directory; name the files"), (tmp_path / "no.txt", "does not exist")):
        given = settings(tmp_path)
        given["data"]["files"] = [str(name)]
        with pytest.raises(DataError, match=message):
            train_model(given)


def test_another_text_is_not_resumed_with(singer: Path, tmp_path: Path) -> None:
    given = settings(tmp_path, TEXT + "bad\n", stopping={"epochs": 20})
    with pytest.raises(ConfigurationError, match="was trained on other data"):
        train_model(given, singer)
