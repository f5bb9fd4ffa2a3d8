"""dragoman predict, and the other commands on classifiers and regressors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dragoman.tasks import planning
from tests.cli.killing import MINUTES, assert_killed_and_resumed
from tests.cli.running import Run
from tests.tasks.classification import models
from tests.tasks.classification.conftest import moods, ratings, topics

__all__ = ["moods", "ratings", "topics"]


def test_a_text(run: Run, moods: Path, ratings: Path) -> None:
    done = run("predict", moods, "a wonderful film")
    assert done.code == 0
    label, probability = done.lines[0].split("\t")
    assert label == "positive"
    assert 0.5 < float(probability) <= 1
    assert 3 < float(run("predict", ratings, "perfect plot and perfect music").lines[0]) < 6


def test_lines_a_table_and_standard_input_say_the_same(run: Run, topics: Path, tmp_path: Path) -> None:
    texts = ["a coach and a team", "the bank and the stock", "an atom and a robot"]
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    lines = run("predict", topics, tmp_path / "a.txt").lines
    assert [line.split("\t")[0] for line in lines] == ["sport", "money", "science"]
    assert run("predict", topics, tmp_path / "a.csv", "--column", "text").lines == lines
    assert run("predict", topics, tmp_path / "a.jsonl").lines == lines
    assert run("predict", topics, stdin=("\n".join(texts) + "\n").encode()).lines == lines
    assert run("predict", topics, tmp_path / "a.txt", "--out", tmp_path / "out.tsv").code == 0
    assert (tmp_path / "out.tsv").read_text().splitlines() == lines


def test_a_table_is_written_again_with_the_prediction(run: Run, topics: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,"a coach, a team"\n2,\n3,an atom\n')
    done = run("predict", topics, tmp_path / "a.csv", "--out", tmp_path / "b.csv")
    assert done.code == 0
    assert done.err.endswith(
        "the first line is a header, so 'text' is the column read (--no-header reads it as a row)\n"
    )
    sport, science = (
        run("predict", topics, text).lines[0].replace("\t", ",") for text in ("a coach, a team", "an atom")
    )
    rows = ["id,text,prediction,probability", f'1,"a coach, a team",{sport}', "2,,,", f"3,an atom,{science}"]
    assert (tmp_path / "b.csv").read_text().splitlines() == rows


def test_empty_texts_are_counted(run: Run, topics: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a coach\n\n  \nan atom\n")
    done = run("predict", topics, tmp_path / "a.txt")
    assert (done.code, len(done.lines)) == (0, 4), "a line for each line"
    assert done.err == "warning: 2 of 4 texts are empty: a prediction from nothing\n"
    assert "the text is empty" in run("predict", topics, "").err


def test_json_and_why(run: Run, topics: Path) -> None:
    found = json.loads(run("predict", topics, "a coach and a thing", "--json", "--explain").out)
    assert found["text"] == "a coach and a thing"
    assert found["label"] == "sport"
    assert set(found["probabilities"]) == {"sport", "money", "science"}
    words = found["explanation"]["words"]
    assert max(words, key=lambda each: each["effect"])["word"] == "coach"
    assert "coach +" in run("predict", topics, "a coach and a thing", "--explain").out


def test_the_wrong_command_names_the_right_one(run: Run, topics: Path, undertrained: Path) -> None:
    done = run("predict", undertrained, "a text")
    assert done.code == 2
    assert f"{undertrained} is a model for translation; use `dragoman translate {undertrained}`" in done.err
    done = run("translate", topics, "a text")
    assert done.code == 2
    assert f"use `dragoman predict {topics}`" in done.err
    assert "does not exist; check the path. To read the words themselves" in run("predict", topics, "gone.txt").err


@pytest.mark.filterwarnings("always::dragoman.errors.DragomanWarning")
def test_evaluate_reads_columns_as_training_did(run: Run, topics: Path, tmp_path: Path) -> None:
    table = models.write_table(tmp_path / "a.tsv", [*models.NEWS[:30], ("a robot", "sport")])
    done = run("evaluate", topics, table, "--out", tmp_path / "report")
    assert done.code == 0
    assert "of 31 texts are classified right" in done.out
    assert "By class" in done.out
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Confusion" in page
    assert json.loads((tmp_path / "report" / "report.json").read_text())["metrics"]["samples"] == 31
    (tmp_path / "b.csv").write_text("".join(f'"{text}",x,{label}\n' for text, label in models.NEWS[:30]))
    assert run("evaluate", topics, tmp_path / "b.csv", "--text", "1", "--label", "3").code == 0
    wider = models.write_table(tmp_path / "w.tsv", [(f"{text}\tmore", label) for text, label in models.NEWS[:30]])
    assert "of 30 texts" in run("evaluate", topics, wider).out  # of three columns, those of the training data
    angry = models.write_table(tmp_path / "c.tsv", [("a robot", "angry"), ("an atom", "science")])
    done = run("evaluate", topics, angry, "--json")
    assert "count as wrong: 'angry' (1)" in done.err
    assert json.loads(done.out)["metrics"]["accuracy"] == 0.5


def test_inspect_and_plan(run: Run, topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("inspect", topics)
    assert done.code == 0
    assert "classification" in done.out
    assert "512 tokens at most" in done.out
    table = models.write_table(tmp_path / "a.tsv", models.NEWS)
    monkeypatch.setattr(planning.measure, "__defaults__", (0.1,))
    done = run("plan", table, "--task", "classification", "--budget", "20s", "--label", "1")
    assert done.code == 0
    assert "large" in done.out
    assert "--task classification --budget 20s --out model" in done.out.replace(" --label 1", "")
    small = ("--set", "network.buckets=256", "--threads", "1")
    done = run("train", table, "--task", "classification", "--budget", "2s", "--out", tmp_path / "m", *small)
    assert done.code == 0
    assert "texts are classified right" in done.out


@pytest.mark.parametrize("architecture", ["bag", "transformer"])
def test_killed_and_resumed_it_ends_with_the_same_bits(architecture: str, run: Run, tmp_path: Path) -> None:
    table = models.write_table(tmp_path / "a.tsv", models.MOODS)
    given = [table, "--task", "classification", "--architecture", architecture, "--epochs", "6"]
    given += ["--threads", "1", "--set", "optimizer.batch=8"]
    given += ["--set", "stopping.patience=1000", "--shares", "70,15,15"]
    given += ["--set", "network.buckets=512"] if architecture == "bag" else ["--preset", "small"]
    files = ["label-classes.json", "text-tokenizer.json", "testing.jsonl.gz"]
    _, killed = assert_killed_and_resumed(run, given, tmp_path, files)
    again = run("train", *given, "--set", f"checkpoints.minutes={MINUTES}", "--out", killed)
    assert "Nothing left to do" in again.out


def test_a_damaged_encoder_is_reported_and_restored(run: Run, topics: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(topics, tmp_path / "model"))
    path = model / "label-classes.json"
    path.write_text(path.read_text().replace("money", "honey"))
    done = run("predict", model, "a text")
    assert done.code == 2
    assert "label-classes.json is damaged" in done.err
