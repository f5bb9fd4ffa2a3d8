"""dragoman generate and dragoman score, and the other commands on a language model."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.running import Run, start
from tests.tasks.language_model.conftest import SONG, TEXT, singer
from tests.waiting import LONGEST

__all__ = ["singer"]


def test_it_writes_on_from_a_text(run: Run, singer: Path) -> None:
    done = run("generate", singer, "bad cog", "--greedy", "--tokens", "33")
    assert (done.code, done.err) == (0, "")
    assert done.out == (SONG * 2)[:40] + "\n"


def test_samples_as_json_and_stops(run: Run, singer: Path) -> None:
    arguments = (
        "generate",
        singer,
        "b",
        "--samples",
        "2",
        "--temperature",
        "2",
        "--seed",
        "3",
        "--json",
        "--tokens",
        "30",
    )
    done = run(*arguments, "--stop", "\\n", "--stop", "m")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["sample"] for each in found] == [0, 1]
    assert not any({"\n", "m"} & set(each["text"]) for each in found)
    assert run(*arguments).out == run(*arguments).out != run(*arguments, "--seed", "4").out


def test_samples_are_told_apart(run: Run, singer: Path) -> None:
    done = run("generate", singer, "fix", "--samples", "2", "--top-k", "1", "--tokens", "4")
    assert done.out == "fix jet\n\n---\nfix jet\n"


def test_a_prompt_from_standard_input(run: Run, singer: Path) -> None:
    assert run("generate", singer, "-", "--greedy", "--tokens", "4", stdin=b"bad").out == "bad cog\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("日",), "do not occur in the text the model was trained on: '日'; leave them out"),
        (("b", "--greedy", "--top-k", "3"), "--greedy draws nothing"),
        (("b", "--greedy", "--samples", "3"), "always writes the same text"),
        (("b", "--top-p", "3"), "top_p is a probability"),
        (("b", "--stop", ""), "a stop string has at least one character"),
    ],
)
def test_mistakes_are_one_line(run: Run, singer: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("generate", singer, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not done.out


def test_models_of_other_tasks_say_which_command_they_are_for(run: Run, singer: Path, undertrained: Path) -> None:
    for command in ("generate", "score"):
        done = run(command, undertrained, "a")
        assert "is a model for translation; use `dragoman translate" in done.err
    assert "use `dragoman generate" in run("translate", singer, "a").err


def test_it_streams_and_ctrl_c_ends_it(singer: Path) -> None:
    process = start("generate", str(singer), "bad", "--tokens", "1000000000")
    assert process.stdout is not None
    beginning = process.stdout.read(20)  # long before it would be done
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=LONGEST)
    assert beginning.startswith("bad")
    assert process.returncode == 128 + signal.SIGINT
    assert complaints.strip() == "dragoman: interrupted"


# Scores


def test_lines_are_scored(run: Run, singer: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("bad cog hum\n\nmuh goc dab\n")
    done = run("score", singer, tmp_path / "lines.txt")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[3] for row in rows] == ["bad cog hum", "", "muh goc dab"]
    assert float(rows[0][2]) < 1 < float(rows[2][2])
    assert rows[1][:3] == ["0.0000", "-", "-"]
    as_json = [json.loads(line) for line in run("score", singer, tmp_path / "lines.txt", "--json").out.splitlines()]
    assert as_json[0]["log_probability"] == pytest.approx(float(rows[0][0]), abs=1e-3)
    assert as_json[1]["perplexity"] is None


def test_a_text_a_whole_file_and_standard_input_are_scored(run: Run, singer: Path, tmp_path: Path) -> None:
    (tmp_path / "song.txt").write_text(SONG * 3)
    (one,) = run("score", singer, "bad cog").out.splitlines()
    assert run("score", singer, stdin=b"bad cog\n").out == one + "\n"
    (whole,) = run("score", singer, tmp_path / "song.txt", "--whole").out.splitlines()
    assert float(whole.split("\t")[2]) < 0.5
    assert "--whole goes with a FILE" in run("score", singer, "bad", "--whole").err
    assert "does not exist; check the path" in run("score", singer, "nothing.txt").err


# The other commands


def test_train_says_what_it_does(run: Run, tmp_path: Path, own_cache: None) -> None:
    (tmp_path / "book.txt").write_text(TEXT)
    out, book = tmp_path / "model", tmp_path / "book.txt"
    settings = ("--task", "language-model", "--set", "data.context=32", "--threads", "1", "--epochs", "1")
    done = run("train", book, *settings, "--out", out)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "by position, the first 90% to train on, 5% to validate on, the last 5% to test on" in said
    assert "bits per character" in said
    assert f"dragoman generate {out} 'bad cog hum'" in said or f"dragoman generate {out} 'fix jet'" in said
    assert "nothing left to do" in run("train", book, *settings, "--out", out).out.lower()
    assert "windows of 32 tokens" in run("inspect", out).out
    assert "unknown setting 'data.columns'" in run("train", book, *settings, "--columns", "1,2", "--out", out).err


def test_evaluate_compares_with_counting(run: Run, singer: Path, tmp_path: Path) -> None:
    done = run("evaluate", singer, "--out", tmp_path / "report")
    assert done.code == 0, done.err
    for name in ("uniform", "unigram", "5-gram", "this model", "perplexity", "A sample"):
        assert name in done.out
    assert "bits per character" in (tmp_path / "report" / "report.html").read_text()
