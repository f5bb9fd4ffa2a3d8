"""Every command and every program the documents show is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.test_doctor import SOUND
from tests.tasks.forecasting.series import write_series

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


NAMES = ("data", "recurrent", "vectors", "language-models", "classifying", "tagging", "forecasting")
PAGES = [README, *((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES)]
COMMANDS = list(
    dict.fromkeys(line for page in PAGES for block in blocks("sh", page) for line in block.splitlines() if line)
)
PROGRAMS = [program for page in PAGES for program in blocks("python", page)]
OTHERS = (
    "book.txt --task language-model --out writer",
    "reviews.csv --task classification --out critic",
    "words.conll --task tagging --out tagger",
    "series.csv --task forecasting --out forecaster",
)
OPINIONS = {"wonderful": "good", "terrible": "bad"}
TAGGED = "The\tDET\nplant\tNOUN\nis\tVERB\ngreen\tADJ\n.\tPUNCT\n\nI\tPRON\nmean\tVERB\nit\tPRON\n\n"
ABOUT = "The man and the woman see a king and a queen. A mother has two red dogs, a cat and a dog. I mean it.\n"


def run(arguments: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=place, env=environment, check=False
    )


def dragoman(arguments: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    return run(["-c", "from dragoman.cli import main; main()", *arguments], place)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files the documents speak of, and a model that was trained for a moment."""
    place = tmp_path_factory.mktemp("stage")
    for name in ("pairs.tsv", "clean.tsv", "test.tsv"):
        (place / name).write_text("".join(f"{s}\t{r}\n" for s, r in SOUND), encoding="utf-8")
    shutil.copy(ROOT / "examples" / "translation.toml", place)
    (place / "book.txt").write_text(f"Once upon a time. {ABOUT}" * 40, encoding="utf-8")
    write_series(place / "series.csv", count=90)
    (place / "words.conll").write_text(TAGGED * 40, encoding="utf-8")
    reviews = [f"A {word} film number {i}.,{label}" for i in range(30) for word, label in OPINIONS.items()]
    (place / "reviews.csv").write_text("\n".join(["text,label", *reviews, ""]), encoding="utf-8")
    for name, text in {"text": ABOUT * 6, "english": SIDES[0], "spanish": SIDES[1]}.items():
        (place / f"{name}.txt").write_text(text, encoding="utf-8")
        few = ["--depth", "64", "--minimum-count", "1", "--epochs", "1", "--subsampling", "0"]
        out = "vectors.bin" if name == "text" else f"{name}.bin"
        done = dragoman(["vectors", "train", f"{name}.txt", "--out", out, *few], place)
        assert done.returncode == 0, done.stderr
    trainings = (["pairs.tsv", "--out", "model"], *([*given.split(), "--preset", "small"] for given in OTHERS))
    for arguments in (
        *(["train", *given, *FEW] for given in trainings),
        ["data", "split", "pairs.tsv", "--out", "parts"],
    ):
        done = dragoman(arguments, place)
        assert done.returncode == 0, done.stderr
    return place


SIDES = ["".join(f"{pair[side]}\n" for pair in SOUND) for side in (0, 1)]
# what a reader would wait for, cut short
FEW = ["--set", "stopping.steps=2", "--set", "data.shares=[0.6,0.2,0.2]"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.splitlines()[-1][:40])
def test_programs_run(program: str, stage: Path, tmp_path: Path) -> None:
    place = shutil.copytree(stage, tmp_path / "stage")
    done = run(["-W", "error", "-W", "ignore:only", "-c", program], place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a program in the README shows something"
    if '"copy"' in program:
        assert "reached the goal" in done.stdout
        assert "3 1 4 1 5" in done.stdout


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("dragoman")])
def test_dragoman_commands_run(command: str, stage: Path, tmp_path: Path) -> None:
    arguments = shlex.split(command)[1:]
    place = shutil.copytree(stage, tmp_path / "stage")
    if arguments == ["check"]:  # the same run as with --html, which follows; its help is enough here
        arguments = ["check", "--help"]
    if arguments[0] == "train":
        out = arguments[arguments.index("--out") + 1] if "--out" in arguments else "model"
        shutil.rmtree(place / out, ignore_errors=True)
        arguments += FEW[:2] if "parts" in arguments else FEW  # a folder's parts have their shares already
    done = dragoman(arguments, place)
    assert done.returncode == 0, done.stderr
    if "inspect" in arguments and "--preset" in arguments:
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
    "document", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
