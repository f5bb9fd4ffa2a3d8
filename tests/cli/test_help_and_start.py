"""Help that fits, and a start that loads nothing it does not need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import dragoman
from dragoman import Translator
from dragoman.cli import app
from dragoman.tasks.training import train_model
from dragoman.training.workers import keep_freed_memory
from tests.cli.running import Run
from tests.tasks.models import PAIRS, tiny, write_pairs

HEAVY = ("numba", "matplotlib", "sacrebleu", "tokenizers", "torch", "numpy", "safetensors", "latex2mathml")
COMMANDS = [
    "train",
    "translate",
    "generate",
    "caption",
    "score",
    "predict",
    "forecast",
    "features",
    "evaluate",
    "serve",
    "pack",
    "unpack",
    "inspect",
    "plot",
    "plan",
    "check",
    "bench",
]
GROUPS = {
    "data": ["check", "clean", "split", "prepare", "get"],
    "vectors": ["train", "nearest", "analogy", "cosine", "plot"],
}


def imported(code: str) -> list[str]:
    """Which heavy modules a program imports."""
    told = f"import sys; print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True)
    return list(re.findall(r"'(\w+)'", done.stderr))


def test_importing_the_package_imports_next_to_nothing() -> None:
    assert imported("import dragoman") == []


def test_operations_cost_little_more_than_numpy() -> None:
    code = (
        "import dragoman, dragoman.operations, dragoman.batch, dragoman.graph, sys\n"
        "assert not [name for name in ('typer', 'rich', 'pydantic') if name in sys.modules]"
    )
    assert imported(code) == ["numpy"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["data", "--help"], ["vectors", "--help"], ["--version"], []]
)
def test_help_needs_neither_numbers_nor_networks(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['dragoman', *{arguments}]\n"
        "from dragoman.cli import main\n"
        "try: main()\nexcept SystemExit as ended: pass"
    )
    assert imported(code) == []


def test_the_public_names_are_found_when_they_are_asked_for() -> None:
    assert "tokenizers" in imported("import dragoman; dragoman.Translator")
    assert "sacrebleu" not in imported("import dragoman; dragoman.Translator")


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name in [*COMMANDS, *GROUPS]),
        *([group, name] for group, names in GROUPS.items() for name in names),
    ],
    ids=" ".join,
)
def test_help_fits_the_terminal(command: list[str], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"{' '.join(command)} [OPTIONS]".strip() in done.out
    assert max(map(len, done.lines)) <= 80
    assert "…" not in done.out, "something did not fit"


def test_the_first_help_names_every_command(run: Run) -> None:
    done = run("--help")
    for name in [*COMMANDS, *GROUPS]:
        assert re.search(rf"^│ {name} +\w", done.out, re.MULTILINE), name
    assert run().out.split() == done.out.split()


def test_every_command_and_every_option_says_what_it_does() -> None:
    root = typer.main.get_command(app)
    groups = [root, *(root.commands[name] for name in GROUPS)]  # type: ignore[attr-defined]
    commands = [command for group in groups for command in group.commands.values()]  # type: ignore[attr-defined]
    assert len(commands) == len(COMMANDS) + len(GROUPS) + sum(map(len, GROUPS.values()))
    for command in commands:
        assert command.help or command.callback is None, command.name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{command.name} {parameter.name}"


def test_a_command_that_does_not_exist(run: Run) -> None:
    done = run("trian")
    assert (done.code, done.out) == (2, "")
    assert "trian" in done.err
    assert "train" in done.err


def test_the_package_runs_as_a_module_and_shows_only_its_own_names() -> None:
    done = subprocess.run([sys.executable, "-m", "dragoman", "--version"], capture_output=True, text=True, check=True)
    assert dragoman.__version__ in done.stdout
    assert "importlib" not in dir(dragoman)
    assert {"Translator", "gradient_check", "__version__"} <= set(dir(dragoman))


def test_only_the_train_command_changes_how_the_process_allocates(undertrained: Path, tmp_path: Path, run: Run) -> None:
    keep_freed_memory.cache_clear()
    Translator.load(undertrained).translate(["The man sees bread."])
    train_model(tiny(), None)
    assert keep_freed_memory.cache_info().currsize == 0
    write_pairs(tmp_path / "pairs.tsv", PAIRS)
    done = run(
        "train", tmp_path / "pairs.tsv", "--out", tmp_path / "m", "--preset", "small", "--set", "stopping.steps=1"
    )
    assert done.code == 0, done.err
    assert keep_freed_memory.cache_info().currsize == 1
