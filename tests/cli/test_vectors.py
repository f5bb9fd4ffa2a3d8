"""dragoman vectors, as a user types it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from dragoman.cli.progress import VectorProgress
from dragoman.tasks.vectors.training import Progress
from dragoman.tasks.vectors.words import WordVectors
from tests.cli.running import Run
from tests.tasks.models import pairs_file

WORDS = {"man": (1, 0), "woman": (1, 1), "king": (5, 0.1), "queen": (4, 5), "apple": (-1, 0.2), "[b]": (0, 1)}
SMALL = ["--depth", "4", "--window", "2", "--minimum-count", "1", "--epochs", "2", "--subsampling", "0"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.bin"
    WordVectors(list(WORDS), np.array(list(WORDS.values()), np.float32)).save(path)
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("The cat sees the dog.\nThe dog sees a cat.\n" * 3, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["v.txt", "v.bin.gz"])
@pytest.mark.parametrize("method", [["--method", "cbow"], ["--full-softmax"], ["--negative", "2", "--threads", "2"]])
def test_train_writes_vectors(name: str, method: list[str], text: Path, tmp_path: Path, run: Run) -> None:
    done = run("vectors", "train", text, "--out", tmp_path / name, *SMALL, *method)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == f"{text}: 36 words, 7 different; 7 occur once or more, 100.0% of the text"
    assert re.fullmatch(r"epoch 2: error \d\.\d{4}, [\d,]+k words/s", done.lines[2])
    assert f"7 words with vectors of depth 4 are in {tmp_path / name}" in done.out
    assert done.lines[-2:] == ["Next:", f"  dragoman vectors nearest {tmp_path / name} The"]
    vectors = WordVectors.load(tmp_path / name)
    assert vectors.words == [".", "The", "cat", "dog", "sees", "a", "the"]
    assert vectors.depth == 4


def test_options_reach_the_training(text: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "v.txt"

    def trained(*options: str) -> WordVectors:
        done = run("vectors", "train", text, "--out", out, *SMALL, *options)
        assert done.code == 0, done.err
        return WordVectors.load(out)

    assert trained("--lower-case", "--split", "spaces", "--minimum-count", "4").words == ["the", "sees"]
    first = trained().vectors
    np.testing.assert_array_equal(trained().vectors, first)
    one = {"seed": "1", "rate": "0.5", "window": "1", "subsampling": "0.01", "epochs": "1", "negative": "1"}
    for options in (*([f"--{name}", value] for name, value in one.items()), ["--method", "cbow"], ["--full-softmax"]):
        assert (trained(*options).vectors != first).any(), options


def test_nearest_and_analogy(file: Path, run: Run) -> None:
    done = run("vectors", "nearest", file, "man", "woman", "--count", "2")
    assert done.lines == ["man", "   1.000  king", "   0.707  woman", "woman", "   0.994  queen", "   0.721  king"]
    done = run("vectors", "analogy", file, "man", "woman", "king", "--count", "1")
    assert done.lines == ["man is to woman as king is to", "   0.995  queen"]


def test_cosine_is_a_table(file: Path, run: Run) -> None:
    done = run("vectors", "cosine", file, "man", "woman", "[b]")
    cells = [
        [cell.strip() for cell in line.strip("┃│").replace("┃", "│").split("│")]
        for line in done.lines
        if "│" in line or "┃" in line
    ]
    assert cells == [
        ["", "man", "woman", "[b]"],
        ["man", "1.000", "0.707", "0.000"],
        ["woman", "0.707", "1.000", "0.707"],
        ["[b]", "0.000", "0.707", "1.000"],
    ]


@pytest.mark.parametrize("near", [[], ["--near", "2"]])
@pytest.mark.parametrize("name", ["x.png", "x.svg"])
def test_plot_writes_a_figure(name: str, near: list[str], file: Path, tmp_path: Path, run: Run) -> None:
    done = run("vectors", "plot", file, *WORDS, "--out", tmp_path / name, *near)
    assert (done.code, done.out.strip()) == (0, str(tmp_path / name))
    if name == "x.png":
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    else:
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawn.encode()).tag.endswith("}svg")
        told = set(re.findall(r"<!-- (.*?) -->", drawn))  # what each outline writes
        assert {*WORDS, "Word vectors, each at length 1"} <= told
        assert ("near queen" in told) is bool(near)


def test_vectors_go_from_a_text_into_a_translator(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    english = "".join(line.split("\t")[0] + "\n" for line in Path(pairs_file()).read_text("utf-8").splitlines())
    done = run("vectors", "train", "-", "--out", "en.bin", "--depth", "16", "--epochs", "1", stdin=english.encode())
    assert done.code == 0, done.err
    tiny = ["--epochs", "1", "--set", "network.depth=16", "--set", "network.heads=2", "--set", "optimizer.batch=128"]
    done = run("train", pairs_file(), *tiny, "--set", "start.vectors={source='en.bin', freeze=true}")
    assert done.code == 0, done.err
    assert re.search(
        r"^source embedding: \d+ of \d+ tokens that can be a word start with a vector \(en\.bin\)$",
        done.out,
        re.M,
    )
    done = run("train", pairs_file(), *tiny, "--out", "other", "--set", "start.vectors.source=gone.bin")
    assert (done.code, done.err) == (2, "dragoman: gone.bin does not exist; check the path\n")


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("dragoman.cli.progress.time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    console = Console(force_terminal=True, width=100)
    lines: list[str] = []
    with console.capture() as shown:
        progress = VectorProgress(console)
        assert progress.live is not None
        monkeypatch.setattr(progress.live, "update", lambda text: lines.append(text.plain))
        for part in range(1, 5):
            progress(Progress(1, 1_000_000 * part, part / 8, 3.0, False))
        progress(Progress(1, 5_000_000, 0.625, 1.0, True))
        progress.close()
    assert lines[-1] == f"{'━' * 12}{'─' * 12} 50%  4 s left  1,000k words/s  error 3.000"
    assert "epoch 1: error 2.6000, 1,000k words/s" in shown.get()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nearest", "vectors.bin", "quen"], "there is no vector for 'quen'; did you mean 'queen'?"),
        (["nearest", "gone.bin", "man"], "gone.bin does not exist"),
        (["nearest", "text.txt", "man"], "text.txt cannot be read as word vectors"),
        (["analogy", "vectors.bin", "man", "woman", "kin"], "did you mean 'king'?"),
        (["cosine", "vectors.bin", "Man"], "did you mean 'man'?"),
        (["plot", "vectors.bin", "man", "man", "king", "--out", "x.png"], "at least 3 different words"),
        (["plot", "vectors.bin", "man", "woman", "king", "--out", "x.pdf"], "written as .png or .svg"),
        (["plot", "vectors.bin", "man", "king", "--out", "x.png"], "got 2; name more, or --near 5"),
        (["train", "text.txt", "--out", "no/v.txt"], "no is not a directory; create it first"),
        (["train", "text.txt", "--out", "."], ". is a directory; give a file"),
        (["train", "text.txt", "--out", "v.txt", "--method", "glove"], "method is skip-gram or cbow, got 'glove'"),
        (["train", "text.txt", "--out", "v.txt", "--split", "letters"], "split is words or spaces, got 'letters'"),
        (["train", "gone.txt", "--out", "v.txt"], "gone.txt does not exist"),
        (["train", "text.txt", "--out", "v.txt", "--minimum-count", "99"], "0 of 7 different words occur 99 times"),
    ],
)
@pytest.mark.usefixtures("file", "text")
def test_mistakes_are_told_without_a_traceback(
    arguments: list[str], told: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("vectors", *arguments)
    assert done.code == 2
    assert done.err.startswith("dragoman: ")
    assert told in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"vectors.bin", "text.txt"}
