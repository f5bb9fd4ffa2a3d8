"""Commands as a user types them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dragoman as package
from dragoman import __version__
from dragoman.analysis import audit
from dragoman.analysis.audit import Finding
from tests.cli.running import Run, dragoman


@pytest.mark.ledger("T-6.2-params")
@pytest.mark.parametrize(("preset", "total"), [("small", "1,166,966"), ("medium", "2,822,902"), ("large", "6,950,390")])
def test_inspect_prints_layers_and_the_exact_total(preset: str, total: str, run: Run) -> None:
    done = run("inspect", "--preset", preset, "--source-vocabulary", "4562", "--target-vocabulary", "6134")
    assert done.code == 0, done.err
    assert total in done.out
    assert "decoder.0.cross_attention" in done.out
    assert "key.weights" in done.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--preset", "tiny"], "unknown preset 'tiny'; available: small, medium, large"),
        (["--preset", "small", "--block", "middle"], "block: Input should be 'post' or 'pre' (got 'middle')"),
        (["--preset", "small", "--tied", "all"], "one joint vocabulary"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], expected: str, run: Run) -> None:
    done = run("inspect", *arguments, "--source-vocabulary", "10", "--target-vocabulary", "20")
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_mistake_shows_no_traceback_and_a_bug_does() -> None:
    done = dragoman("inspect", "--preset", "tiny", "--source-vocabulary", "10", "--target-vocabulary", "20")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dragoman: unknown preset 'tiny'; available: small, medium, large\n"
    code = (
        "import dragoman.networks; dragoman.networks.preset = lambda *_, **__: 1 / 0\n"
        "import sys; sys.argv = 'x inspect --preset small --source-vocabulary 9 --target-vocabulary 9'.split()\n"
        "from dragoman.cli import main; main()"
    )
    broken = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert broken.returncode == 1
    assert "Traceback" in broken.stderr
    assert "ZeroDivisionError" in broken.stderr


def test_check_proves_everything_and_writes_the_page(tmp_path: Path) -> None:
    done = dragoman("check", "--html", "audit.html", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert " 0 fail." in done.stdout
    for shown in ("T-4.3.7-LNx", "N-3.4.2", "C-2.b12-W1", "E-T5", "complex step", "as printed"):
        assert shown in done.stdout
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert page.count("<math") > 150
    assert "src=" not in page, "the page must not load anything"
    assert "://" not in page.replace("http://www.w3.org/1998/Math/MathML", "")


def test_check_exits_1_when_something_fails(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    finding = Finding("Thesis", ("T-1.4-softmax",), "Softmax", "x", {"value": 0.25}, "FAILS")
    monkeypatch.setattr(audit, "audit", lambda: iter([finding]))
    done = run("check")
    assert done.code == 1
    assert "fails: T-1.4-softmax" in done.out
    assert "1 fail." in done.out


def test_check_refuses_a_page_it_cannot_write(tmp_path: Path, run: Run) -> None:
    done = run("check", "--html", tmp_path / "no" / "audit.html")
    assert done.code == 2
    assert "a directory that exists" in done.err


def test_version(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"dragoman {__version__}\n")


def test_public_names_are_found_and_unknown_ones_are_not() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        package.Oracle  # noqa: B018
