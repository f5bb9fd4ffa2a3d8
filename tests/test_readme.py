"""Every command and every program the documents show is run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.test_doctor import SOUND

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


DATA = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
COMMANDS = list(
    dict.fromkeys(line for block in blocks("sh") + blocks("sh", DATA) for line in block.splitlines() if line)
)


PROGRAMS = blocks("python") + blocks("python", DATA)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.splitlines()[-1][:40])
def test_programs_run(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a program in the README shows something"
    if '"copy"' in program:
        assert "reached the goal" in done.stdout


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("dragoman")])
def test_dragoman_commands_run(command: str, tmp_path: Path) -> None:
    arguments = command.split()[1:]
    for name in ("pairs.tsv", "clean.tsv"):
        (tmp_path / name).write_text("".join(f"{s}\t{r}\n" for s, r in SOUND), encoding="utf-8")
    code = "from dragoman.cli import main; main()"
    if arguments == ["check"]:  # the same run as with --html, which follows; its help is enough here
        arguments = ["check", "--help"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    if "inspect" in arguments:
        assert "1,166,966" in done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_targets_exist(command: str) -> None:
    """`make test` cannot run itself; that the targets do what they say is continuous integration's part."""
    done = subprocess.run([*command.split(), "--dry-run"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_no_other_kind_of_command_hides_in_the_readme() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"make", "dragoman"}


@pytest.mark.parametrize(
    "document", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
