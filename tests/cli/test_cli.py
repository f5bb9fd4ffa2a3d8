"""Commands as a user types them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman import __version__
from dragoman.analysis.audit import Finding
from dragoman.cli import app


def dragoman(
    *arguments: str, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from dragoman.cli import main; main()", *arguments]
    variables = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables, check=False)


@pytest.mark.ledger("T-6.2-params", "T-F6-F10")
@pytest.mark.parametrize(("preset", "total"), [("small", "1,166,966"), ("medium", "2,822,902"), ("large", "6,950,390")])
def test_inspect_prints_layers_and_the_exact_total(preset: str, total: str) -> None:
    done = dragoman("inspect", "--preset", preset, "--source-vocabulary", "4562", "--reference-vocabulary", "6134")
    assert done.returncode == 0, done.stderr
    assert total in done.stdout
    assert "decoder.0.cross_attention" in done.stdout
    assert "key.weights" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--preset", "tiny"], "no preset 'tiny'; choose one of small, medium, large"),
        (["--preset", "small", "--block", "middle"], "block: Input should be 'post' or 'pre' (got 'middle')"),
        (["--preset", "small", "--tied", "all"], "one joint vocabulary"),
    ],
)
def test_mistakes_are_told_in_one_line_without_a_traceback(arguments: list[str], expected: str) -> None:
    done = dragoman("inspect", *arguments, "--source-vocabulary", "10", "--reference-vocabulary", "20")
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_check_proves_everything_and_writes_the_page(tmp_path: Path) -> None:
    done = dragoman("check", "--html", "audit.html", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert " 0 fail." in done.stdout
    for shown in ("T-4.3.7-LNx", "N-3.4.2", "C-2.b12-W1", "E-T5", "complex step", "as printed"):
        assert shown in done.stdout
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert page.count("<math") > 150
    assert "src=" not in page, "the page must not load anything"
    assert "http" not in page.replace("http://www.w3.org/1998/Math/MathML", "")


def test_check_exits_1_when_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("Thesis", ("T-1.4-softmax",), "Softmax", "x", {"value": 0.25}, "FAILS")
    monkeypatch.setattr(sys.modules["dragoman.cli.check"], "audit", lambda: iter([finding]))
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 1
    assert "fails: T-1.4-softmax" in done.stdout
    assert "1 fail." in done.stdout


def test_check_refuses_a_page_it_cannot_write(tmp_path: Path) -> None:
    done = dragoman("check", "--html", str(tmp_path / "no" / "audit.html"))
    assert done.returncode == 2
    assert "a directory that exists" in done.stderr


def test_version() -> None:
    assert dragoman("--version").stdout == f"dragoman {__version__}\n"


def test_importing_the_package_costs_little_more_than_numpy() -> None:
    heavy = ("pydantic", "typer", "rich", "safetensors", "matplotlib", "torch", "latex2mathml")
    code = f"import dragoman, dragoman.operations, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_found_and_unknown_ones_are_not() -> None:
    import dragoman as package

    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        package.Oracle  # noqa: B018
