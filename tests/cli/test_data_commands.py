"""dragoman data, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run, dragoman
from tests.data.test_doctor import SOUND


def write(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs), encoding="utf-8")
    return str(path)


def test_check_tells_what_it_finds(tmp_path: Path, run: Run) -> None:
    done = run("data", "check", write(tmp_path / "pairs.tsv", [*SOUND, SOUND[3]]))
    assert done.code == 0, done.err
    assert "241 pairs, 240 distinct sources" in done.out
    assert "1 duplicate pairs" in done.out
    assert "line 241: The man" in done.out


def test_check_as_json_is_nothing_but_json(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    write(file, [*SOUND, SOUND[3]])
    with file.open("a", encoding="utf-8") as more:
        more.write("only one column\n")
    done = dragoman("data", "check", str(file), "--json")
    report = json.loads(done.stdout)
    assert (report["pairs"], report["signs"][0]["count"]) == (241, 1)
    assert "1 line skipped" in done.stderr
    assert sum(report["left_out"].values()) == 1
    assert "line 242" in report["left_out_examples"][0]


def test_check_finds_leakage(tmp_path: Path, run: Run) -> None:
    training, testing = write(tmp_path / "a.tsv", SOUND[:200]), write(tmp_path / "b.tsv", SOUND[190:])
    done = run("data", "check", training, "--against", testing)
    assert "10 source of" in done.out


def test_clean_writes_both_files(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "in.tsv", [*SOUND, SOUND[3], ("It’s  late.", "Es tarde.")])
    done = run("data", "clean", source, "--out", str(tmp_path / "out.tsv"))
    assert done.code == 0, done.err
    assert "241 of 242 pairs" in done.out
    assert len((tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()) == 241
    assert (tmp_path / "out.removed.tsv").read_text(encoding="utf-8").startswith("duplicates\t")


@pytest.mark.ledger("T-6.1-split")
def test_split_keeps_equal_sources_together(tmp_path: Path, run: Run) -> None:
    pairs = [pair for s, r in SOUND for pair in ((s, r), (s, r + " Otra."))]
    done = run("data", "split", write(tmp_path / "in.tsv", pairs), "--out", str(tmp_path / "parts"))
    assert done.code == 0, done.err
    parts = [
        (tmp_path / "parts" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        for name in ("training", "validation", "testing")
    ]
    assert sorted(line for part in parts for line in part) == sorted("\t".join(pair) for pair in pairs)
    sources = [{line.split("\t")[0] for line in part} for part in parts]
    assert not sources[0] & sources[1]
    assert not sources[0] & sources[2]
    assert not sources[1] & sources[2]
    assert 0.8 < len(parts[0]) / len(pairs) < 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "gone.tsv"], "gone.tsv does not exist"),
        (["check", "pairs.tsv", "--columns", "1"], "--columns takes two values"),
        (["check", "pairs.tsv", "--columns", "0,1"], "--columns counts from 1"),
        (["check", "pairs.tsv", "--on-bad-line", "ignore"], "--on-bad-line must be error or skip"),
        (["split", "pairs.tsv", "--out", "x", "--shares", "60,40"], "--shares takes three numbers"),
        (["split", "pairs.tsv", "--out", "x", "--shares", "60,30,20"], "add up to 100"),
        (["clean", "pairs.tsv", "--out", "out.tsv", "--repair", "typos"], "unknown --repair 'typos'"),
        (["get", "nothing"], "unknown corpus 'nothing'"),
        (["clean", "pairs.tsv", "--out", "pairs.tsv"], "is the file to be cleaned"),
        (["clean", "pairs.tsv", "--out", "pairs.tsv/out.tsv"], "could not be written"),
        (["split", "bad.tsv", "--out", "x", "--on-bad-line", "skip"], "no usable pair"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    arguments: list[str], expected: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "pairs.tsv", SOUND[:5])
    write(tmp_path / "bad.tsv", [("", "")])
    monkeypatch.chdir(tmp_path)
    done = run("data", *arguments)
    assert done.code == 2
    assert expected in done.err


def test_clean_keeps_what_could_not_be_read(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.tsv").write_text("Hi\tHola\nBad line\nBye\t\n", encoding="utf-8")
    done = run("data", "clean", "in.tsv", "--out", "out.tsv")
    assert "1 of 3 pairs" in done.out
    removed = (tmp_path / "out.removed.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[2] for line in removed] == ["2", "3"]


def test_a_console_without_our_letters_still_gets_the_report(tmp_path: Path) -> None:
    write(tmp_path / "pairs.tsv", [*SOUND, ("Where?", "¿Dónde.")])
    done = dragoman("data", "check", "pairs.tsv", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "without its partner" in done.stdout


def test_brackets_in_a_name_are_no_markup(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("data", "split", write(tmp_path / "in.tsv", SOUND), "--out", "p[/b]")
    assert done.code == 0, done.err
    assert "p[/b]/training.tsv" in done.out
