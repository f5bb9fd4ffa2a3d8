"""Mutants: one change at a time, code that compiles, nothing a test could not notice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = '''"""A docstring + one."""

WIDTH: int = 4


def scaled(x: "a + b", rate: float = 0.5) -> "c - d":
    """x * rate"""
    names = {"ñ": 1}; total = (x) * rate + 2  # ñ stands before it
    if not total <= WIDTH and x is not None:
        total -= 1
        raise ValueError(f"{total + 1} is too small")
    names["ñ"] = -total
    return names
'''


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_every_kind_of_change_is_made_in_its_line(tool: ModuleType) -> None:
    found = tool.mutations_of(Path("a.py"), SOURCE)
    changed = {(m.kind, m.line, m.shown(SOURCE)[1]) for m in found}
    statement = 'names = {"ñ": 1}; total = '
    assert changed >= {
        ("constant", 3, "WIDTH: int = 5"),
        ("constant", 6, 'def scaled(x: "a + b", rate: float = 1.0) -> "c - d":'),
        ("operator", 8, statement + "(x) / rate + 2  # ñ stands before it"),
        ("operator", 8, statement + "(x) * rate - 2  # ñ stands before it"),
        ("term removed", 8, statement + "((x) * rate)  # ñ stands before it"),
        ("condition reversed", 9, "if not (not total <= WIDTH and x is not None):"),
        ("and/or", 9, "if not total <= WIDTH or x is not None:"),
        ("comparison", 9, "if not total < WIDTH and x is not None:"),
        ("comparison", 9, "if not total <= WIDTH and x is None:"),
        ("sign or not removed", 9, "if (total <= WIDTH) and x is not None:"),
        ("operator", 10, "total += 1"),
        ("statement removed", 11, "pass"),
        ("statement removed", 12, "pass"),
        ("sign or not removed", 12, 'names["ñ"] = (total)'),
        ("nothing returned", 13, "return None"),
    }
    assert not any("docstring" in m.shown(SOURCE)[0] or "too small" in m.shown(SOURCE)[1] for m in found)


def test_the_choice_is_fair_and_repeats(tool: ModuleType) -> None:
    found = {"many": tool.mutations_of(Path("a.py"), SOURCE), "few": tool.mutations_of(Path("b.py"), "A = 1\nB = 2\n")}
    chosen = tool.choose(found, 10, seed=3)
    assert chosen == tool.choose(found, 10, seed=3) != tool.choose(found, 10, seed=4)
    assert [m.path.name for m in chosen[:5]] == ["a.py", "b.py", "a.py", "b.py", "a.py"]
    assert len(set(chosen)) == 10
