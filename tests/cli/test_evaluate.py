"""dragoman evaluate, as a user types it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.analysis.testing import Judged, Score
from dragoman.analysis.verdict import verdict
from dragoman.cli import report as report_module
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import DecodingOptions
from tests.cli.running import Run
from tests.tasks.models import PAIRS, tiny, write_pairs


def report(place: Path) -> Any:
    return json.loads((place / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No matplotlib: figures take longer than all the rest."""
    monkeypatch.setattr(report_module, "find_spec", lambda name: None)


@pytest.mark.ledger("T-6.2-test")
def test_its_own_testing_part(model: Path, run: Run) -> None:
    done = run("evaluate", model, "--beam", "1")
    assert (done.code, done.err) == (0, "")
    pairs = load_testing(model)
    expected = Translator.load(model).evaluate(pairs, DecodingOptions(beam=1))
    shown = (
        f"{len(pairs)} sentences",
        f"{expected.error:.4f}",
        f"{expected.accuracy:.4f}",
        f"{expected.perplexity:.2f}",
        f"{expected.bleu.value:.2f} ({expected.bleu.low:.1f} to {expected.bleu.high:.1f})",
        expected.bleu.signature,
        expected.chrf.signature,
        expected.worst[0].sentence.source,
        expected.best[0].sentence.reference,
    )
    for text in shown:
        assert text in done.out, text
    told = report(model / "evaluation")
    assert {name: told[name] for name in expected.as_dict()} == json.loads(json.dumps(expected.as_dict()))
    facts = told["facts"]
    assert facts["tested on"] == "its own testing part"
    assert facts["search"] == "greedy"
    assert facts["parameters"] == f"{Translator.load(model).metadata.parameters:,}"
    assert f"{model}" in facts["model"]
    assert facts["command"].startswith("dragoman evaluate ")
    page = (model / "evaluation" / "report.html").read_text(encoding="utf-8")
    assert f"{told['error']:.4f}" in page
    assert html.escape(told["worst"][0]["sentence"]["source"]) in page
    assert page.count("<figure") == 4, "training curves, attention, word vectors, architecture"
    assert not re.search(r'(src|href)="(?!#|data:)', page), "the page must not load anything"


@pytest.mark.usefixtures("plain")
def test_a_file_of_pairs(model: Path, run: Run, tmp_path: Path) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", PAIRS[:30])
    done = run("evaluate", model, file, "--most", "7", "--out", tmp_path / "deep" / "place")
    assert done.code == 0, done.err
    told = report(tmp_path / "deep" / "place")
    assert told["sentences"] == 7
    assert told["facts"]["tested on"] == file
    assert told["facts"]["search"] == "beam of 4"
    assert not (model / "evaluation").exists()
    expected = Translator.load(model).evaluate(PAIRS[:7])
    assert told["error"] == pytest.approx(expected.error)
    swapped = run("evaluate", model, file, "--columns", "2,1", "--out", tmp_path / "swapped", "--beam", "1")
    assert swapped.code == 0, swapped.err
    assert report(tmp_path / "swapped")["worst"][0]["sentence"]["source"] in {r for _, r in PAIRS[:30]}


@pytest.mark.usefixtures("plain")
def test_the_verdict_comes_first_on_the_screen_on_the_page_and_in_json(model: Path, run: Run) -> None:
    done = run("evaluate", model, "--beam", "1", "--most", "20")
    told = report(model / "evaluation")
    judged = told["judged"]
    found = verdict(Judged(**{**judged, **{name: Score(**judged[name]) for name in ("bleu", "chrf")}}))
    assert done.lines[0] == f"Quality: {found.expect}."
    assert "rule of thumb" in done.lines[1]
    assert "of 20 sentences" in done.lines[1]
    assert told["verdict"]["level"] == found.level
    page = (model / "evaluation" / "report.html").read_text(encoding="utf-8")
    assert page.index("<h1>model: testing analysis</h1>") < page.index(str(found)) < page.index("<h2>")


@pytest.mark.usefixtures("plain")
def test_as_json(model: Path, run: Run) -> None:
    done = run("evaluate", model, "--beam", "1", "--most", "5", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == report(model / "evaluation")


@pytest.mark.usefixtures("plain")
def test_tables_fit_60_columns(model: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    done = run("evaluate", model, "--beam", "1", "--most", "20")
    scores, lengths, examples = map(done.lines.index, ("20 sentences", "By words of the source", "Worst:"))
    tables = [*done.lines[scores : scores + 8], *done.lines[lengths:examples]]
    assert max(map(len, tables)) <= 60
    assert "…" not in done.out


@pytest.mark.usefixtures("plain")
def test_without_matplotlib_the_page_has_no_figures(model: Path, run: Run) -> None:
    done = run("evaluate", model, "--beam", "1", "--most", "3")
    assert done.code == 0, done.err
    assert "<figure" not in (model / "evaluation" / "report.html").read_text(encoding="utf-8")


def test_a_figure_that_cannot_be_drawn_costs_no_evaluation(tmp_path: Path, run: Run) -> None:
    """A vocabulary of characters has no words to show."""
    settings = tiny({"data": {"tokenizer": "characters"}, "stopping": {"epochs": None, "steps": 2}})
    train_model(settings, tmp_path / "m")
    done = run("evaluate", tmp_path / "m", "--beam", "1", "--most", "5")
    assert done.code == 0, done.err
    assert report(tmp_path / "m" / "evaluation")["sentences"] == 5
    assert (tmp_path / "m" / "evaluation" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone"], "gone is not a directory"),
        (["MODEL", "gone.tsv"], "gone.tsv does not exist; check the path"),
        (["MODEL", "one.tsv"], "one.tsv, line 1: wrong number of columns"),
        (["MODEL", "pairs.tsv", "--columns", "1"], "--columns takes two values"),
        (["MODEL", "pairs.tsv", "--on-bad-line", "ignore"], "on_bad_line"),
        (["MODEL", "--out", "one.tsv"], "one.tsv cannot be created"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], expected: str, model: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv", PAIRS[:3])
    (tmp_path / "one.tsv").write_text("one column\n", encoding="utf-8")
    done = run("evaluate", *(str(model) if argument == "MODEL" else argument for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert expected in done.err.replace("on-bad-line", "on_bad_line")
    assert "DataSettings" not in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.usefixtures("plain")
def test_a_model_without_testing_pairs(tmp_path: Path, model: Path, run: Run) -> None:
    (model / "testing.tsv.gz").unlink()
    done = run("evaluate", model)
    assert done.code == 2
    assert "has no testing pairs; give a file of pairs to evaluate on" in done.err
    settings = tiny({"data": {"shares": [0.9, 0.1, 0.0]}, "stopping": {"epochs": None, "steps": 1}})
    train_model(settings, tmp_path / "m")
    done = run("evaluate", tmp_path / "m")
    assert done.code == 2
    assert "its own testing part has no pairs; give a file of pairs to evaluate on" in done.err
