"""dragoman check WORD, and what a program or a narrow terminal gets of `dragoman check`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.analysis import audit
from dragoman.analysis.audit import Finding
from dragoman.analysis.audit.ledger import Ledger
from dragoman.analysis.audit.sources import code_of
from dragoman.operations.softmax import softmax
from tests.cli.running import Run


def test_a_word_shows_its_equations_in_full(run: Run) -> None:
    done = run("check", "Softmax")
    assert (done.code, done.err) == (0, "")
    assert "Softmax, shifted by its maximum: holds" in done.out
    assert r"  formula      S(x)_k = \frac{e^{x_k}}{\sum_" in done.out
    assert "place        T-1.4-softmax Definition 1.4: " in done.out
    assert "central differences, " in done.out
    assert "complex step" in done.out
    assert "code         dragoman/operations/softmax.py: softmax\n" in done.out
    source = inspect.getsource(softmax.definition)
    assert all(f"    {line}".rstrip() in done.lines for line in source.splitlines())
    assert done.out.count(source.splitlines()[1]) == 1, "code is shown once"
    assert "Embedding" not in done.out
    assert " 0 fail." in done.lines[-1]


@pytest.mark.parametrize("query", ["T-4.3.7-LNx", "t-4.3.7-lnx", "4.3.7", "(4.3.7)"])
def test_an_id_or_a_number_shows_that_equation_and_its_corrections(query: str, run: Run) -> None:
    found = json.loads(run("check", query, "--json").out)
    assert [equation["title"] for equation in found["equations"]] == [
        "Normalization, derivative by the input",
        "Addition and normalization, fused, both forms",
        "Listing 25: third term of the normalization derivative",
    ]
    first, _, fixed = found["equations"]
    assert (found["run"], found["hold"], found["corrected"], found["fail"]) == (3, 2, 1, 0)
    assert first["statements"]["T-4.3.7-LNx"]["place"] == "(4.3.7)"
    assert "tests/operations/test_normalization.py::test_jacobian_from_its_pieces" in first["tests"]
    assert {code["name"] for code in first["code"]} >= {"normalization", "standardize", "affine"}
    assert first["worst_error"] < 1e-8
    assert fixed["printed_error"] > 1e-4


def test_an_erratum_by_its_id(run: Run) -> None:
    done = run("check", "E-T1")
    assert "Listing 25: third term of the normalization derivative: corrected" in done.out
    assert "  printed      " in done.out
    assert "as printed" in done.out
    assert "1 is wrong as printed" in done.out


def test_an_operation_by_its_name(run: Run) -> None:
    found = json.loads(run("check", "attend_self", "--json").out)
    assert all("attend_self" in {code["name"] for code in equation["code"]} for equation in found["equations"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sofmax", "no equation matches 'sofmax'; near matches: softmax, "),
        ("T-4.3.7-LNy", "near matches: T-4.3.7-LNx"),
        ("9.9.9", "no equation matches '9.9.9'; "),
        ("", "no equation matches ''; give a word, a ledger id or an equation number"),
        ("T-1.2-dot", "T-1.2-dot is in the ledger (Dot products"),
    ],
)
def test_nothing_that_matches_is_told_with_what_is_near(query: str, expected: str, run: Run) -> None:
    done = run("check", query)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_page_of_these_equations_alone(run: Run, tmp_path: Path) -> None:
    assert run("check", "E-T1", "--html", tmp_path / "one.html").code == 0
    assert (tmp_path / "one.html").read_text(encoding="utf-8").count("<article") == 1


def test_without_a_checkout_the_tests_are_not_known(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Ledger.__init__, "__defaults__", (tmp_path,))
    done = run("check", "T-1.4-softmax")
    assert (done.code, done.err) == (0, "")
    assert "  test         known only where the source code of Dragoman is checked out" in done.out
    assert "  code         dragoman/operations/softmax.py: softmax" in done.out
    assert json.loads(run("check", "T-1.4-softmax", "--json").out)["equations"][0]["tests"] is None


def test_tests_carry_the_ids_they_are_listed_for() -> None:
    root = Path(__file__).parents[2]
    names = Ledger().tests("T-4.3.7-LNx")
    assert names is not None
    assert len(names) > 2
    for name in names:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (root / path).read_text(encoding="utf-8")


def test_every_equation_has_code() -> None:
    for equation in audit.equations():
        found = code_of(equation.check)
        assert found, equation.title
        assert all(code.source.lstrip().startswith(("@", "def ", "class ")) for code in found)


# All of them


@pytest.fixture
def two_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> Iterator[Finding]:
        title = "An equation whose title is long enough to be broken into lines"
        yield Finding("Thesis", ("T-4.2.4-deltas", "T-A4.10-outdelta"), title, "x", {"complex step": 1e-16}, "holds")
        errors = {"central differences": 2e-10, "value": 0.0}
        yield Finding("Thesis", ("E-T1", "T-L25"), title, "x", errors, "corrected", "y", float("inf"))

    monkeypatch.setattr(audit, "audit", found)


@pytest.mark.usefixtures("two_findings")
def test_all_as_json(run: Run) -> None:
    done = run("check", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["run"], found["hold"], found["corrected"], found["fail"]) == (2, 1, 1, 0)
    first, second = found["equations"]
    assert first["ids"] == ["T-4.2.4-deltas", "T-A4.10-outdelta"]
    assert first["errors"] == {"complex step": 1e-16}
    assert (second["worst_error"], second["printed_error"], second["printed"]) == (2e-10, None, "y")
    assert "code" not in first


@pytest.mark.usefixtures("two_findings")
def test_tables_fit_60_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    done = run("check")
    rows = [line for line in done.lines if set(line) & set("│┃┏└")]
    assert max(map(len, rows)) <= 60
    for shown in ("T-A4.10-outdelta", "1.0e-16", "2.0e-10", "no fit", "corrected", "broken into lines"):
        assert shown in " ".join(" ".join(rows).replace("│", " ").split()), shown
    assert "…" not in done.out
