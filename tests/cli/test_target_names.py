"""Keys and headers: `source` and `target` are found by name; `reference` is read as the target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run

ROWS = [("Go.", "Ve.", "a"), ("Yes.", "Sí.", "b"), ("No.", "No.", "c")]


def as_jsonl(target: str) -> str:
    return "".join(json.dumps({"by": who, target: t, "source": s}) + "\n" for s, t, who in ROWS)


def as_csv(target: str) -> str:
    return f"by,{target},source\n" + "".join(f"{who},{t},{s}\n" for s, t, who in ROWS)


def as_tsv(target: str) -> str:
    return as_csv(target).replace(",", "\t")


FILES = {"a.jsonl": (as_jsonl, []), "a.csv": (as_csv, ["--header"]), "a.tsv": (as_tsv, ["--header"])}


def cleaned(run: Run, *arguments: str | Path) -> list[str]:
    """Source and target of each pair, whatever else the file has."""
    out = Path(arguments[0]).with_name("out.tsv" if Path(arguments[0]).suffix != ".tsv" else "out.csv")
    done = run("data", "clean", arguments[0], "--out", out, *arguments[1:])
    assert done.code == 0, done.err
    rows = out.read_text(encoding="utf-8").splitlines()
    return rows if out.suffix == ".tsv" else [row.replace(",", "\t") for row in rows[1:]]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", ["target", "reference"])
def test_source_and_target_are_found_by_name(name: str, target: str, tmp_path: Path, run: Run) -> None:
    make, options = FILES[name]
    (tmp_path / name).write_text(make(target), encoding="utf-8")
    assert cleaned(run, tmp_path / name, *options) == ["Go.\tVe.", "Yes.\tSí.", "No.\tNo."]


@pytest.mark.parametrize("target", ["target", "reference"])
def test_parquet_too(target: str, tmp_path: Path, run: Run) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"by": [row[2] for row in ROWS], target: [row[1] for row in ROWS], "source": [row[0] for row in ROWS]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert cleaned(run, tmp_path / "a.parquet") == ["Go.\tVe.", "Yes.\tSí.", "No.\tNo."]


def test_target_comes_before_reference(tmp_path: Path, run: Run) -> None:
    row = json.dumps({"source": "Go.", "reference": "wrong", "target": "Ve."})
    (tmp_path / "a.jsonl").write_text(row + "\n", encoding="utf-8")
    assert cleaned(run, tmp_path / "a.jsonl") == ["Go.\tVe."]


def test_other_names_are_chosen_and_a_missing_key_is_named(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"en": "Go.", "es": "Ve."}\n', encoding="utf-8")
    assert cleaned(run, file, "--columns", "en,es") == ["Go.\tVe."]
    done = run("data", "check", file, "--on-bad-line", "error")
    assert "no key 'source' (expected source, target; name others with --columns en,es)" in done.err
    file.write_text('{"source": "Go.", "es": "Ve."}\n', encoding="utf-8")
    assert "no key 'target'" in run("data", "check", file, "--on-bad-line", "error").err


def test_a_header_with_other_names_gives_the_first_columns(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.tsv").write_text("en\tes\nGo.\tVe.\n", encoding="utf-8")
    assert cleaned(run, tmp_path / "a.tsv", "--header") == ["Go.\tVe."]
