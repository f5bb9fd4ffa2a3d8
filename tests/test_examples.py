"""Every example reaches its goal, and its page shows what it prints."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "examples"
LEDGER = {
    "linear_regression": ["T-2.1-table"],
    "logistic_regression": [],
    "xor": ["N-2-kernel"],
    "universal_approximation": ["T-3.1-UAT", "N-2-UAT"],
    "forecasting": ["B-7.1-horizon"],
    "sheet_two_layer": [],
    "sheet_class_token": [],
    "set_network": ["L-11-pool"],
    "mixed_tokens": ["L-8-multimodal", "L-1-what"],
}
NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*(?:e-?\d+)?")


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def without_numbers(text: str) -> list[str]:
    """Lines with # for every number: the last digits depend on the processor."""
    return [" ".join(NUMBER.sub("#", line).split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.ledger(*rows)] if rows else []) for name, rows in LEDGER.items()]
)
def test_an_example_reaches_its_goal_and_its_page_shows_its_output(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    load(name).main()
    printed = capsys.readouterr().out
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^## What to expect\n\n```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert without_numbers(printed) == without_numbers(*blocks)


@pytest.mark.parametrize("name", LEDGER)
def test_a_page_quotes_its_script(name: str) -> None:
    """Every statement of a page's Python stands in the script."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    script = ast.dump(ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")))
    quoted = [
        node for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) for node in ast.parse(block).body
    ]
    assert quoted
    for statement in quoted:
        assert ast.dump(statement) in script, ast.unparse(statement)


def test_every_script_and_every_page_is_listed() -> None:
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert scripts == {*LEDGER, "reverse", "toy"}  # these two have tests of their own
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    for name in LEDGER:
        assert f"({name}.md)" in index
        assert f"../../examples/{name}.py" in (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.ledger("N-2-kernel")
@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_layer_separates_xor_with_any_seed(seed: int) -> None:
    assert load("xor").trained(2, 8, 2, seed=seed)[1] == 1.0
