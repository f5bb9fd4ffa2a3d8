"""dragoman features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.tasks import vector_files
from tests.cli.running import Run
from tests.tasks.tagging import tagged

LINES = ["The man sees the house.", "", "The woman wants an apple."]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_words_as_npz(run: Run, undertrained: Path, lines: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    done = run("features", undertrained, lines, "--out", out)
    assert (done.code, done.lines) == (0, [f"12 words of 3 lines, vectors of depth 16: {out}"])
    with np.load(out, allow_pickle=False) as found:
        assert found["sentences"].tolist() == LINES
        assert found["offsets"].tolist() == [0, 6, 6, 12]
        assert found["words"].tolist()[:6] == ["The", "man", "sees", "the", "house", "."]
        assert (found["vectors"].shape, found["vectors"].dtype) == ((12, 16), np.float32)
        before = found["vectors"]
    run("features", undertrained, lines, "--out", tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == out.read_bytes(), "the same vectors, the same file"
    tsv = run("features", undertrained, lines).out
    rows = [line.split("\t") for line in tsv.splitlines() if line]
    assert [row[0] for row in rows[:2]] == ["The", "man"]
    np.testing.assert_allclose(np.array([row[1:] for row in rows], float), before, rtol=1e-4, atol=1e-5)
    assert [i for i, line in enumerate(tsv.splitlines()) if not line] == [6, 7, 14], "a blank line after each sentence"


def test_sentences(run: Run, undertrained: Path, lines: Path, tmp_path: Path) -> None:
    done = run("features", undertrained, lines, "--level", "sentence", "--out", tmp_path / "s.npz")
    assert (done.code, done.lines) == (0, [f"3 lines, vectors of depth 16: {tmp_path / 's.npz'}"])
    with np.load(tmp_path / "s.npz", allow_pickle=False) as found:
        assert (found["vectors"].shape, found["words"].shape, found["offsets"].tolist()) == (
            (3, 16),
            (0,),
            [0, 1, 2, 3],
        )
    done = run("features", undertrained, lines, "--level", "sentence", "--out", tmp_path / "s.tsv")
    written = (tmp_path / "s.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in written] == LINES
    assert all(len(line.split("\t")) == 17 for line in written)


def test_a_text_and_standard_input(run: Run, undertrained: Path) -> None:
    one = run("features", undertrained, "The man")
    assert [line.split("\t")[0] for line in one.lines] == ["The", "man", ""]
    assert run("features", undertrained, stdin=b"The man\n").out == one.out


def test_the_nearest_lines(run: Run, undertrained: Path, lines: Path) -> None:
    done = run("features", undertrained, lines, "--nearest", LINES[2], "--top", "5")
    assert done.code == 0
    assert done.lines[0] == f" 1.000  3  {LINES[2]}"
    assert len(done.lines) == 2, "an empty line is near to nothing"
    found = json.loads(run("features", undertrained, lines, "--search", LINES[0], "--top", "1", "--json").out)
    assert found == [{"cosine": 1.0, "line": 1, "text": LINES[0]}]


def test_of_a_tagger(run: Run, lines: Path) -> None:
    done = run("features", tagged.trained(), lines, "--level", "sentence")
    assert (done.code, len(done.lines)) == (0, 3)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--out", "vectors.csv"], "vectors are written as .npz, .tsv or .tsv.gz"),
        (["--level", "letter"], "--level is word or sentence, got 'letter'"),
        (["--nearest", " "], "--nearest takes a text of at least one word"),
        (["--nearest", "a", "--out", "a.npz"], "leave --out out"),
    ],
)
def test_what_is_refused(run: Run, undertrained: Path, lines: Path, options: list[str], error: str) -> None:
    done = run("features", undertrained, lines, *options)
    assert (done.code, done.out) == (2, "")
    assert error in done.err


def test_texts_that_are_too_many_for_an_array(
    run: Run, undertrained: Path, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "MOST_TEXT", 100)
    done = run("features", undertrained, lines, "--out", tmp_path / "v.npz")
    assert done.code == 2
    assert "12 words, the longest of 5 characters, are too many for an .npz file; write .tsv" in done.err
    assert not (tmp_path / "v.npz").exists()
