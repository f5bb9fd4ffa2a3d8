"""Segments without a translation, as every XLIFF and PO file has them while it is worked on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.data.readers.files import as_po, as_tmx, as_xliff, as_xliff2

PAIRS = [("Go.", "Ve."), ("Yes.", ""), ("No.", "No."), ("Wait.", " "), ("Stop.", "Alto.")]
FILES = {"a.po": as_po, "a.tmx": as_tmx, "a.xlf": as_xliff, "b.xlf": as_xliff2}


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / request.param
    path.write_bytes(FILES[request.param](PAIRS))
    return str(path)


@pytest.mark.parametrize("on_bad_line", ["error", "skip"])
def test_they_are_skipped_and_counted_in_one_line(file: str, on_bad_line: str, run: Run) -> None:
    done = run("data", "check", file, "--on-bad-line", on_bad_line)
    assert done.code == 0, done.err
    assert "3 pairs" in done.out
    assert done.lines[0] == "2 segments without a translation were skipped"
    assert "left out" not in done.out


def test_json_counts_them(file: str, run: Run) -> None:
    done = run("data", "check", file, "--json")
    report = json.loads(done.out)
    assert (report["pairs"], report["skipped"], report["left_out"]) == (3, {"untranslated": 2}, {})
    assert done.err == "2 segments without a translation were skipped\n"


def test_clean_keeps_them_among_what_was_removed(file: str, run: Run, tmp_path: Path) -> None:
    done = run("data", "clean", file, "--out", tmp_path / "out.tsv")
    assert done.code == 0, done.err
    removed = (tmp_path / "out.removed.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in removed] == ["untranslated"] * 2
    assert {line.split("\t")[3] for line in removed} == {"Yes.", "Wait."}


UNFINISHED = {
    "a.po": as_po([("Go.", "Ve."), ("Yes.", "")])
    + b'#, fuzzy\nmsgid "maybe"\nmsgstr "quiz\xc3\xa1"\n\n#~ msgid "old"\n#~ msgstr "viejo"\n',
    "a.tmx": as_tmx([("Go.", "Ve."), ("Yes.", "")]).replace(
        b"</body>", b"<tu><tuv xml:lang='en'><seg>x</seg></tuv></tu></body>"
    ),
    "a.xlf": as_xliff([("Go.", "Ve."), ("Yes.", ""), ("No.", "No.")]).replace(
        b"<target>No.", b'<target state="new">No.'
    ),
}
KINDS = {
    "a.po": "3 segments were skipped: 1 without a translation, 1 with a fuzzy translation, 1 that is obsolete",
    "a.tmx": "2 segments were skipped: 1 without a translation, 1 without a text in both languages",
    "a.xlf": "2 segments were skipped: 1 without a translation, 1 with an unfinished translation",
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_segments_are_counted_by_kind_and_never_stop_a_command(name: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / name
    file.write_bytes(UNFINISHED[name])
    for done in (
        run("data", "check", file, "--on-bad-line", "error"),
        run("data", "split", file, "--out", tmp_path / "parts", "--shares", "100,0,0"),
    ):
        assert (done.code, done.lines[0]) == (0, KINDS[name]), done.err
    done = run("train", file, "--shares", "100,0,0", "--out", tmp_path / "model")
    assert KINDS[name] in done.out
    assert "1 pair to train on: a model needs at least 10" in done.err


def test_one_is_singular(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.po"
    file.write_bytes(as_po([("Go.", "Ve."), ("Yes.", "")]))
    assert run("data", "check", file).lines[:2] == [
        "1 segment without a translation was skipped",
        "1 pair, 1 distinct sources, 1 distinct targets",
    ]


def test_a_file_without_a_single_translation(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.xlf"
    file.write_bytes(as_xliff([("Go.", ""), ("Yes.", "")]))
    done = run("data", "check", file)
    assert done.code == 2
    assert "2 segments without a translation were skipped" in done.out
    assert "usable pair" in done.err
