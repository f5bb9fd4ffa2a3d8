"""dragoman train, as a user types it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.toys import _Size
from dragoman.tasks import decisions
from dragoman.tasks.configuration import TrainingConfiguration, configuration, read_toml
from dragoman.tasks.model import load_metadata
from dragoman.tasks.planning import Speed
from dragoman.tasks.task import find_task
from dragoman.tasks.training import locked
from dragoman.tasks.translation.testing import save_testing
from tests.cli.running import COMMAND, Run, dragoman, start
from tests.tasks.models import PAIRS, WORD_PAIRS, pairs_file, told_history, write_pairs
from tests.waiting import LONGEST

SMALL = [
    *("--threads", "1"),
    *("--set", "network.depth=16", "--set", "network.perceptron_depth=32", "--set", "network.heads=2"),
    *("--set", "optimizer.batch=32", "--set", "data.shares=[0.8, 0.1, 0.1]"),
]


def resolved(model: Path) -> TrainingConfiguration:
    return configuration(read_toml(model / "configuration.toml"))


# From pairs to a model


def test_a_file_of_pairs_becomes_a_model_and_every_next_command_works(tmp_path: Path, run: Run) -> None:
    model = tmp_path / "a model's place"
    done = run("train", pairs_file(), "--out", model, "--epochs", "2", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert "Stopped: finished 2 epochs." in done.out
    assert f"{load_metadata(model).parameters:,} parameters, 20 steps" in " ".join(done.out.split())
    assert len(told_history(model)) == 2
    commands = [line.strip() for line in done.lines if line.startswith("  dragoman ")]
    assert [shlex.split(command)[1] for command in commands] == ["translate", "evaluate"]
    example = shlex.split(commands[0])[3]
    assert example in {source for source, _ in PAIRS}
    for command in commands:
        again = run(*shlex.split(command)[1:])
        assert again.code == 0, again.err
        assert again.out.strip()


def test_the_rows_tell_every_evaluation(tmp_path: Path, run: Run) -> None:
    done = run("train", pairs_file(), "--out", tmp_path / "m", "--epochs", "2", "--scores", "chrf", *SMALL)
    for line in told_history(tmp_path / "m"):
        shown = f"{line['training_error']:.4f}", f"{line['validation_error']:.4f}", f"{line['chrf']:.1f}"
        assert any(all(number in row for number in shown) for row in done.lines), line


def test_the_same_command_again_says_that_it_is_done(tmp_path: Path, run: Run) -> None:
    arguments = ["train", pairs_file(), "--out", tmp_path / "m", "--epochs", "1", *SMALL]
    run(*arguments)
    weights = (tmp_path / "m" / "weights.safetensors").read_bytes()
    done = run(*arguments)
    assert done.code == 0
    assert "Nothing left to do: finished 1 epoch." in done.out
    assert (tmp_path / "m" / "weights.safetensors").read_bytes() == weights
    assert len(told_history(tmp_path / "m")) == 1


def test_a_built_in_corpus_by_its_name(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.data.toys._SEQUENCES", _Size(samples=300, symbols=10, shortest=3, longest=7))
    monkeypatch.chdir(tmp_path)
    done = run("train", "reverse", "--epochs", "1", *SMALL)
    assert done.code == 0, done.err
    assert load_metadata(tmp_path / "model").data.files == ("reverse",)
    assert re.search(r'dragoman translate model "\d[ \d]+"', done.out)


def test_columns_and_formats_are_read_as_told(tmp_path: Path, run: Run) -> None:
    rows = ["id,es,en", *(f'{i},"{r}","{s}"' for i, (s, r) in enumerate(PAIRS))]
    (tmp_path / "pairs.data").write_text("\n".join(rows) + "\n", encoding="utf-8")
    told = ["--format", "csv", "--columns", "en,es"]
    done = run("train", tmp_path / "pairs.data", *told, "--out", tmp_path / "m", "--epochs", "1", *SMALL)
    assert done.code == 0, done.err
    metadata = load_metadata(tmp_path / "m")
    assert sum(metadata.data.parts.values()) == len(PAIRS)
    source = (tmp_path / "m" / "source-tokenizer.json").read_text(encoding="utf-8")
    assert "hermana" not in source
    assert "sister" in source


@pytest.mark.ledger("T-6.1-goal")
def test_training_stops_at_the_first_epoch_that_reaches_the_goal(tmp_path: Path, run: Run) -> None:
    goal = 0.9
    file = write_pairs(tmp_path / "words.tsv", WORD_PAIRS)
    quick = ["--set", "data.tokenizer=words", "--set", "network.dropout=0", "--set", "optimizer.batch=16"]
    rate = ["--set", "optimizer.rate=0.01", "--set", "optimizer.schedule=constant", "--set", "loss.smoothing=0"]
    size = [f"network.{name}" for name in ("depth=32", "perceptron_depth=32", "heads=2")]
    small = [word for setting in (*size, "data.shares=[0.8,0.1,0.1]", "threads=1") for word in ("--set", setting)]
    arguments = [file, "--out", tmp_path / "m", "--epochs", "40", "--accuracy", goal, *quick, *rate, *small]
    done = run("train", *arguments)
    assert done.code == 0, done.err
    reached = [line["training_accuracy"] for line in told_history(tmp_path / "m")]
    assert len(reached) < 40
    assert all(accuracy < goal for accuracy in reached[:-1])
    assert reached[-1] >= goal
    assert f"Stopped: the accuracy {reached[-1]:.4g} reached the goal 0.9." in done.out


# What wins over what


class Asked(Exception):
    """Instead of a training."""


@pytest.fixture
def asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The configuration and the directory that a command would train with."""

    def configured(*arguments: str | Path) -> tuple[TrainingConfiguration, Path]:
        found: list[Any] = []

        def stop(given: Any, out: Path, *_: Any) -> None:
            found.append((configuration(given), out))
            raise Asked

        monkeypatch.setattr("dragoman.tasks.training.train_model", stop)
        with pytest.raises(Asked):
            run("train", *arguments)
        return found[0]

    return configured


def test_settings_are_validated_once(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    validated: list[Any] = []

    def counting(given: Any, *where: str) -> TrainingConfiguration:
        validated.append(given)
        return configuration(given, *where)

    def stop(given: Any, asked: TrainingConfiguration, *_: Any) -> None:
        assert asked.seed == 5
        raise Asked

    for place in ("configuration", "training"):
        monkeypatch.setattr(f"dragoman.tasks.{place}.configuration", counting)
    monkeypatch.setattr("dragoman.tasks.training.Preparation", stop)
    (tmp_path / "mine.toml").write_text(f'seed = 5\n[data]\nfiles = ["{pairs_file()}"]\n', encoding="utf-8")
    with pytest.raises(Asked):
        run("train", tmp_path / "mine.toml", "--out", tmp_path / "model", "--epochs", "2")
    assert len(validated) == 1


def test_an_option_can_mend_a_configuration(tmp_path: Path, asked: Any) -> None:
    (tmp_path / "mine.toml").write_text("[start]\nreplay = 5\n", encoding="utf-8")
    settings, _ = asked(tmp_path / "mine.toml", "--from", "base")
    assert (settings.start.model, settings.start.replay) == ("base", 5)


def test_recipe_below_file_below_options_below_assignments(tmp_path: Path, asked: Any) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'out = "from the file"\nseed = 5\n[data]\nfiles = ["a.tsv"]\n'
        "[optimizer]\nrate = 0.002\nbatch = 7\n[stopping]\nepochs = 7\npatience = 7\n",
        encoding="utf-8",
    )
    settings, out = asked(file, "--seed", "6", "--epochs", "8", "--set", "seed=9", "--set", "optimizer.batch=9")
    assert settings.network.dropout == 0.1  # of the recipe, above the default
    assert settings.optimizer.rate == 0.002  # of the file, above the recipe
    assert settings.stopping.epochs == 8  # an option, above the file
    assert settings.stopping.patience == 7  # of the file
    assert settings.optimizer.batch == 9  # an assignment, above the file
    assert settings.seed == 9  # an assignment, above the option
    assert out == Path("from the file")
    settings, out = asked(file, "--recipe", "thesis", "--out", "elsewhere")
    assert settings.network.dropout == 0.0
    assert out == Path("elsewhere")


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        (["--preset", "medium"], "preset", "medium"),
        (["--recipe", "thesis"], "recipe", "thesis"),
        (["--budget", "1h30m"], "stopping.budget", 5400),
        (["--epochs", "3"], "stopping.epochs", 3),
        (["--accuracy", "0.9"], "stopping.accuracy", 0.9),
        (["--patience", "4"], "stopping.patience", 4),
        (["--seed", "7"], "seed", 7),
        (["--threads", "2"], "threads", 2),
        (["--from", "base"], "start.model", "base"),
        (["--from", "base", "--replay", "0"], "start.replay", 0),
        (["--part", "encoder"], "start.train", "encoder"),
        (["--scores", "bleu, chrf"], "progress.scores", ("bleu", "chrf")),
        (["--samples", "3"], "progress.samples", 3),
        (["--tensorboard"], "progress.tensorboard", True),
        (["--format", "csv"], "data.format", "csv"),
        (["--columns", "1,3"], "data.columns", (1, 3)),
        (["--columns", "en,es"], "data.columns", ("en", "es")),
        (["--no-header"], "data.header", False),
        (["--languages", "en,es"], "data.languages", ("en", "es")),
        (["--encoding", "latin-1"], "data.encoding", "latin-1"),
        (["--on-bad-line", "skip"], "data.on_bad_line", "skip"),
        ([], "data.files", ("a.tsv", "b.tsv")),
        ([], "out", "model"),
    ],
)
def test_every_option_is_a_setting(options: list[str], name: str, value: object, asked: Any) -> None:
    settings, _ = asked("a.tsv", "b.tsv", *options)
    for part in name.split("."):
        settings = getattr(settings, part)
    assert settings == value


def test_an_option_that_is_not_given_leaves_the_file_alone(tmp_path: Path, asked: Any) -> None:
    file = tmp_path / "config.toml"
    text = '[data]\nfiles = ["a.tsv"]\nencoding = "latin-1"\non_bad_line = "skip"\nheader = true\n'
    file.write_text(text + "[progress]\nsamples = 2\n", encoding="utf-8")
    settings, _ = asked(file)
    assert (settings.data.encoding, settings.data.on_bad_line, settings.data.header) == ("latin-1", "skip", True)
    assert settings.progress.samples == 2


def test_a_default_given_explicitly_wins_over_the_file(tmp_path: Path, asked: Any) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[data]\nfiles = ["a.tsv"]\nencoding = "latin-1"\non_bad_line = "skip"\n', encoding="utf-8")
    settings, _ = asked(file, "--encoding", "utf-8", "--on-bad-line", "error")
    assert (settings.data.encoding, settings.data.on_bad_line) == ("utf-8", "error")


def test_a_configuration_with_tiny_changes_trains(tmp_path: Path, run: Run) -> None:
    example = Path(__file__).parents[2] / "examples" / "translation.toml"
    files = f"data.files={json.dumps([pairs_file()])}"
    done = run("train", example, "--out", tmp_path / "m", "--set", files, *SMALL, "--set", "stopping.steps=2")
    assert done.code == 0, done.err
    assert resolved(tmp_path / "m").network.depth == 16


def test_a_budget_is_planned_and_told(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = Speed(1000, 10.0, 100.0, 10, 0.0, 2**20)
    monkeypatch.setattr(decisions, "measure", lambda *_: speed)
    done = run("train", pairs_file(), "--out", tmp_path / "m", "--budget", "40s", *SMALL)
    assert done.code == 0, done.err
    assert "measuring this machine" in done.out
    assert load_metadata(tmp_path / "m").training["steps"] == 3
    assert resolved(tmp_path / "m").optimizer.schedule_steps == 3


def test_fine_tuning_by_options(undertrained: Path, tmp_path: Path, run: Run) -> None:
    options = ["--from", undertrained, "--part", "decoder", "--epochs", "1"]
    done = run("train", pairs_file(), "--out", tmp_path / "m", *options)
    assert done.code == 0, done.err
    title = done.lines.index(next(line for line in done.lines if "Before and after fine-tuning" in line))
    shown = " ".join(done.lines[title:])
    for row in load_metadata(tmp_path / "m").training["compared"]:
        errors, bleus = (f"{value:.4f}" for value in row["error"]), (f"{value:.2f}" for value in row["bleu"])
        assert re.search(r"\s+│\s+".join([row["pairs"], str(row["count"]), *errors, *bleus]), shown), row
    assert "nan" not in done.out
    tokenizer = "source-tokenizer.json"
    assert (tmp_path / "m" / tokenizer).read_bytes() == (undertrained / tokenizer).read_bytes()


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone.tsv"], "gone.tsv"),
        (["pairs.tsv", "--preset", "tiny"], "unknown preset 'tiny'; choose one of small, medium, large"),
        (["pairs.tsv", "--recipe", "modren"], "unknown recipe 'modren'; did you mean 'modern'?"),
        (["pairs.tsv", "--budget", "soon"], "a time is written as 90s, 30m, 2h or 1h30m, got 'soon'"),
        (["pairs.tsv", "--epochs", "0"], "stopping.epochs"),
        (["pairs.tsv", "--accuracy", "90"], "stopping.accuracy"),
        (["pairs.tsv", "--set", "rate=3"], "unknown setting 'rate'; did you mean 'optimizer.rate'?"),
        (["pairs.tsv", "--set", "rate"], "--set takes section.name=value, got 'rate'"),
        (["pairs.tsv", "--set", "network.heads=3"], "3 heads do not divide the depth 64"),
        (["pairs.tsv", "--set", "data.shares=[0.5, 0.5, 0.5]"], "add up to 100"),
        (["pairs.tsv", "--set", "data.vocabulary=[9, 9]"], "too small: this text needs at least"),
        (["pairs.tsv", "--scores", "rouge"], "there is no score 'rouge'; choose from bleu, chrf"),
        (["pairs.tsv", "--columns", "1"], "--columns takes two values"),
        (["pairs.tsv", "--from", "gone"], "gone is not a directory; a model is what `dragoman train --out` writes"),
        (["pairs.tsv", "--part", "middle"], "'encoder', 'decoder' or 'output' (got 'middle')"),
        (["pairs.tsv", "--out", "."], "holds no training"),
        (["pairs.tsv", "--out", "pairs.tsv"], "pairs.tsv"),
        (["one.tsv"], "one.tsv, line 2: wrong number of columns"),
        (["empty.tsv"], "empty.tsv is empty"),
        (["config.toml"], "config.toml: optimizer.rate: "),
        (["config.toml", "pairs.tsv"], "a configuration must be the only argument"),
        (["nodata.toml"], "data.files names no file"),
        (["gone.toml"], "gone.toml does not exist; check the path"),
        (["list.toml"], "unknown preset"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], expected: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv", PAIRS[:40])
    (tmp_path / "one.tsv").write_text("a\tb\nonly one column\n", encoding="utf-8")
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "config.toml").write_text('[optimizer]\nrate = "fast"\n', encoding="utf-8")
    (tmp_path / "nodata.toml").write_text("seed = 1\n", encoding="utf-8")
    (tmp_path / "list.toml").write_text('preset = ["small"]\n', encoding="utf-8")
    done = run("train", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("dragoman: ")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "model").exists(), "a training that never began leaves nothing behind"


def test_nothing_to_train_on_is_told_with_the_usage(run: Run) -> None:
    done = run("train")
    assert (done.code, done.out) == (2, "")
    assert "FILE" in done.err


def test_a_second_process_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path / "m"):
        done = dragoman("train", pairs_file(), "--out", str(tmp_path / "m"), "--epochs", "1", *SMALL)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(rf"dragoman: another process is training in .*/m \(pid {os.getpid()}, since 20", done.stderr)
    assert len(done.stderr.splitlines()) == 1


# Ctrl-C


def interrupted(arguments: list[str], number: signal.Signals) -> tuple[int, str, str]:
    """Run a training until its first evaluation, then send it a signal."""
    process = start(*arguments)
    assert process.stdout is not None
    seen = ""
    while "validation" not in seen:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        seen += line
    process.send_signal(number)
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, seen + out, err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_training_that_is_interrupted_can_be_used_and_goes_on(tmp_path: Path, run: Run) -> None:
    model = tmp_path / "my model"
    arguments = ["train", pairs_file(), "--out", str(model), *SMALL, "--set", "checkpoints.keep=1"]
    code, out, err = interrupted([*arguments, "--epochs", "5000"], signal.SIGINT)
    assert (code, err) == (130, "")
    assert "Stopped: interrupted (SIGINT)." in out
    assert "Run the same command again to resume." in out
    command = next(line for line in out.splitlines() if line.startswith("  dragoman translate "))
    assert run(*shlex.split(command)[1:]).code == 0
    before = told_history(model)
    steps = load_metadata(model).training["steps"]
    assert steps >= before[-1]["step"]
    code, out, err = interrupted([*arguments, "--epochs", "5000"], signal.SIGTERM)
    assert (code, err) == (143, "")
    after = told_history(model)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert load_metadata(model).training["steps"] > steps
    epochs = len(after) + 1
    done = run(*arguments, "--epochs", str(epochs))
    assert done.code == 0, done.err
    assert [line["epoch"] for line in told_history(model)] == [float(i + 1) for i in range(epochs)]


# In a terminal


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
def test_what_a_terminal_shows_fits_into_it(tmp_path: Path) -> None:
    """What is drawn again and again, a row for every evaluation, and nothing cut off."""
    write_pairs(tmp_path / "pairs.tsv", PAIRS)
    options = ["--epochs", "2", "--scores", "bleu,chrf", *SMALL, "--set", "optimizer.batch=2"]
    shown = in_terminal(["train", "pairs.tsv", *options], 80, tmp_path)
    rows = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", shown))
    assert max(map(len, rows)) <= 80
    assert "…" not in shown
    for epoch in ("1.00", "2.00"):
        whole = [row for row in rows if re.fullmatch(rf" *{epoch} .* (s|min) *", row)]
        assert whole, "a row is one line, from its epoch to its time"
    assert any(re.search(r"\d+%.* left", row) for row in rows), "how far it is, and how long it takes"
    assert "Stopped: finished 2 epochs." in shown


def in_terminal(arguments: list[str], width: int, place: Path) -> str:
    """What a command writes to a terminal of a width."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=place
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # Linux tells the end of a terminal as an error
        while part := os.read(ours, 1 << 16):
            seen += part
    os.close(ours)
    assert process.wait(timeout=LONGEST) == 0, seen.decode()
    return seen.decode()


# What is said at the end


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("One two three.", "x"), ("The plant is green.", "x")], 'm "The plant is green."'),
        ([("One.", "x"), ("One two three.", "x"), ("Four five six.", "x")], 'm "One two three."'),
        ([('He said "no" to me.', "x")], "m 'He said \"no\" to me.'"),
        ([("It costs $HOME dollars.", "x")], "m 'It costs $HOME dollars.'"),
        ([("Do not do it!", "x")], "m 'Do not do it!'"),
        ([("Don't do `it` now", "x")], "m 'Don'\"'\"'t do `it` now'"),
        ([("Short.", "x")], 'm "Hello."'),
        ([], 'm "Hello."'),
    ],
)
def test_the_next_command_can_be_pasted(
    pairs: list[tuple[str, str]], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    save_testing(pairs, Path("m"))
    first, *others = find_task().next_commands(Path("m"))
    assert first == f"dragoman translate {expected}"
    assert others == (["dragoman evaluate m"] if pairs else [])


# Words


def test_a_single_step_is_told_as_one(tmp_path: Path, run: Run) -> None:
    done = run("train", pairs_file(), "--out", tmp_path / "m", *SMALL, "--set", "stopping.steps=1")
    told = " ".join(done.out.split())
    assert "at most 1 step," in told
    assert "Stopped: finished 1 step." in told
    assert "1 step, " in told
    assert "1 steps" not in told + " ".join(run("inspect", tmp_path / "m").out.split())


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.ENOSPC, "Make room"), (errno.EACCES, "Choose a directory that may be written to")]
)
def test_a_directory_that_cannot_be_made_is_told_with_what_helps(
    number: int, advice: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Path.mkdir

    def refuse(path: Path, *given: Any, **options: Any) -> None:
        if path.name == "m":
            raise OSError(number, os.strerror(number), str(path))
        make(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    done = run("train", pairs_file(), "--out", tmp_path / "m", *SMALL)
    assert done.code == 2
    assert os.strerror(number) in done.err
    assert advice in done.err
    assert "checkpoint" not in done.err, "there is none yet"


def test_fewer_old_pairs_than_asked_for_are_told(undertrained: Path, tmp_path: Path, run: Run) -> None:
    new = write_pairs(tmp_path / "new.tsv", WORD_PAIRS)
    options = ["--from", undertrained, "--out", tmp_path / "m", "--replay", "5000", "--epochs", "1"]
    done = run("train", new, *options)
    told = " ".join(done.out.split())
    assert done.code == 0, done.err
    found = re.search(r"only ([\d,]+) old pairs of \S+ can be mixed in, 5,000 were asked for", told)
    assert found, told
    assert f"{found[1]} old pairs of" in told


def test_pairs_of_one_source_are_not_called_few(tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "one.tsv", [("The man sees bread.", who) for _, who in PAIRS[:200]])
    told = " ".join(run("train", file, "--out", tmp_path / "m", "--epochs", "1", *SMALL[:-2]).out.split())
    assert "a few sources occur often" in told
    assert "There are few pairs" not in told
