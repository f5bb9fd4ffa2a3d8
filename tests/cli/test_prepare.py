"""dragoman data prepare, as a user types it, and training on what it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from dragoman.data.parallel_preparation import LOCK
from tests.cli.running import COMMAND, Run
from tests.cli.test_train import resolved
from tests.data.shard_files import write_jsonl, write_parquet
from tests.data.test_parallel_preparation import digests
from tests.tasks.models import PAIRS, pairs_file
from tests.waiting import wait_for

TINY = [
    *("--threads", "1", "--preset", "small", "--set", "stopping.steps=4", "--set", "optimizer.batch=32"),
    *("--set", "network.depth=16", "--set", "network.perceptron_depth=32", "--set", "network.heads=2"),
]
SHARES = ["--shares", "80,10,10"]


def prepare(run: Run, source: str | Path, out: Path, *options: str | Path) -> Path:
    done = run("data", "prepare", source, "--out", out, "--workers", "1", *options)
    assert (done.code, done.err) == (0, "")
    return out


def test_training_on_prepared_pairs_is_training_on_their_files(tmp_path: Path, run: Run) -> None:
    shards = write_parquet(tmp_path / "shards", PAIRS)
    done = run("data", "prepare", f"file://{shards}", "--out", tmp_path / "pairs", "--workers", "2", *SHARES)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith("360 pairs: 299 to train on, 22 to validate on, 39 to test on; vocabularies of 188")
    assert done.lines[1:] == [f"Next: dragoman train {tmp_path / 'pairs'} --out model"]
    for path in Path(shards).iterdir():
        path.unlink()
    for source, model in ((pairs_file(), "of files"), (tmp_path / "pairs", "of shards")):
        shares = SHARES if model == "of files" else []
        assert run("train", source, "--out", tmp_path / model, *TINY, *shares).code == 0
    for name in ("weights.safetensors", "source-tokenizer.json", "testing.tsv.gz"):
        assert (tmp_path / "of files" / name).read_bytes() == (tmp_path / "of shards" / name).read_bytes()
    more = [*TINY[:4], "--set", "stopping.steps=6", *TINY[6:]]
    done = run("train", tmp_path / "pairs", "--out", tmp_path / "of shards", *more)
    assert (done.code, done.err) == (0, "")
    assert "resuming from" in done.out
    done = run("train", tmp_path / "of shards" / "configuration.toml", "--out", tmp_path / "of shards")
    assert (done.code, done.err) == (0, "")


def test_a_model_keeps_how_its_pairs_were_prepared(tmp_path: Path, run: Run) -> None:
    options = ["--set", "data.joint=true", "--set", "data.vocabulary=[400,400]", "--set", "data.protect=false"]
    pairs = prepare(run, write_jsonl(tmp_path / "shards", PAIRS), tmp_path / "pairs", *options)
    done = run("train", pairs, "--out", tmp_path / "model", "--languages", "en,es", *TINY)
    assert (done.code, done.err) == (0, "")
    data = resolved(tmp_path / "model").data.model_dump()
    assert (data["files"], data["split"], data["joint"], data["protect"]) == ((str(pairs),), "given", True, False)
    assert (data["vocabulary"], data["languages"]) == ((400, 400), ("en", "es"))
    assert data["shares"] == pytest.approx((0.9, 0.05, 0.05), abs=0.05)
    done = run("train", pairs, "--out", tmp_path / "other", "--set", "data.vocabulary=[500,500]", *TINY)
    assert done.code == 2
    assert f"data.vocabulary = [500, 500], but {pairs} was prepared with [400, 400]; leave it out" in done.err
    done = run("train", pairs, "--out", tmp_path / "other", "--set", "network.positions=learned",
               "--set", "network.maximum_length=6", *TINY)  # fmt: skip
    assert done.code == 2
    assert "but the network has positions for 6; prepare it with --set data.maximum=[6,6]" in done.err


def test_a_model_is_fine_tuned_on_pairs_in_its_vocabulary(undertrained: Path, tmp_path: Path, run: Run) -> None:
    shards = write_jsonl(tmp_path / "shards", PAIRS[:60])
    tuned = ["--from", undertrained, "--replay", "0", "--set", "stopping.steps=2", "--threads", "1"]
    own = prepare(run, shards, tmp_path / "own")
    done = run("train", own, "--out", tmp_path / "model", *tuned)
    assert done.code == 2
    assert "own was not prepared with the vocabulary of the model to fine-tune" in done.err
    pairs = prepare(run, shards, tmp_path / "pairs", "--from", undertrained)
    done = run("train", pairs, "--out", tmp_path / "model", *tuned)
    assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes are those of Unix")
def test_a_killed_preparation_leaves_nothing_that_looks_complete(tmp_path: Path, run: Run) -> None:
    """It waits for a pipe that nobody writes to; its processes end with it."""
    shards = Path(write_jsonl(tmp_path / "shards", PAIRS))
    os.mkfifo(tmp_path / "last.jsonl")
    command = ["data", "prepare", shards, tmp_path / "last.jsonl", "--out", tmp_path / "pairs", "--workers", "2"]
    process = subprocess.Popen([*COMMAND, *map(str, command)], stderr=subprocess.DEVNULL)
    writer = wait_for_reader(tmp_path / "last.jsonl", process)
    (work,) = [path for path in tmp_path.iterdir() if path.name.startswith(".pairs-")]
    assert (work / LOCK).exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "pairs").exists()
    assert run("train", tmp_path / "pairs", "--out", tmp_path / "model").code == 2
    wait_for(lambda: is_unread(writer))  # the worker that reads ends too
    os.close(writer)
    (tmp_path / "last.jsonl").unlink()
    (tmp_path / "last.jsonl").write_text(json.dumps({"source": "Go.", "target": "Ve."}) + "\n", encoding="utf-8")
    done = run(*command)
    assert (done.code, done.err) == (0, "")
    assert not work.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.jsonl", "pairs", "shards"]
    (tmp_path / "last.jsonl").rename(shards / "3.jsonl")
    assert digests(prepare(run, shards, tmp_path / "whole")) == digests(tmp_path / "pairs")


def wait_for_reader(pipe: Path, process: subprocess.Popen[bytes]) -> int:
    """Open a pipe for writing as soon as somebody reads it."""

    def opened() -> int:
        assert process.poll() is None
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)

    return int(wait_for(opened, OSError))


def is_unread(writer: int) -> bool:
    """Whether nobody reads a pipe any more."""
    try:
        os.write(writer, b" ")
    except BrokenPipeError:
        return True
    return False


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone.jsonl"], "gone.jsonl does not exist"),
        (["gone"], "cannot determine the format of gone"),
        (["pairs.jsonl", "--set", "network.depth=8"], "only settings of the section data are used here"),
        (["pairs.jsonl", "--set", "data.vocab=8"], "unknown setting 'data.vocab'; did you mean 'data.vocabulary'?"),
        (["pairs.jsonl", "--columns", "en,es"], "pairs.jsonl, line 1: no key 'en'"),
        (["pairs.jsonl", "--out", "taken"], "taken exists already"),
        (["pairs.jsonl", "--from", "gone"], "gone"),
        (["s3x://bucket/pairs"], "Protocol not known: s3x"),
        (["bad.jsonl", "--on-bad-line", "skip"], "no usable pair"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], expected: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text('{"source": "Go.", "target": "Ve."}\n', encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text("[]\n", encoding="utf-8")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes").touch()
    done = run("data", "prepare", "--out", "out", "--workers", "1", *arguments)
    assert done.code == 2
    assert expected in done.err
    assert not any(path.name.startswith((".", "out")) for path in tmp_path.iterdir())


def test_training_on_an_address_names_the_command(run: Run) -> None:
    done = run("train", "s3://bucket/pairs.tsv", "--out", "model")
    assert done.code == 2
    assert "dragoman data prepare s3://bucket/pairs.tsv --out pairs" in done.err


def test_a_damaged_description_is_told(tmp_path: Path, run: Run) -> None:
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "prepared.json").write_text("{", encoding="utf-8")
    done = run("train", tmp_path / "pairs", "--out", tmp_path / "model")
    assert done.code == 2
    assert "prepared.json cannot be read" in done.err
    assert "prepare the pairs again" in done.err
