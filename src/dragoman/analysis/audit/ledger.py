"""The ledger of published statements and the tests that carry their ids. Only a source checkout has them."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import dragoman

AUDITED = "tests/analysis/test_audit.py"  # runs every equation; its marks are made, not written


class Ledger:
    """docs/ledger.tsv and tests/ below a root; in an installed package both are missing, and nothing is known."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = Path(dragoman.__file__).parents[2] if root is None else root

    @cached_property
    def rows(self) -> dict[str, dict[str, str]]:
        try:
            text = (self.root / "docs" / "ledger.tsv").read_text(encoding="utf-8")
        except OSError:
            return {}
        lines = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: row for row in lines}

    def place(self, identifier: str) -> str | None:
        """Where in its document a statement is: (4.3.7), Definition 1.4 ..."""
        return self.rows.get(identifier, {}).get("place")

    def statement(self, identifier: str) -> str | None:
        return self.rows.get(identifier, {}).get("statement")

    def tests(self, *identifiers: str) -> list[str] | None:
        """The tests that settle one of these, as pytest names them; None where there are no tests to search."""
        if not self.rows or not (self.root / AUDITED).exists():
            return None
        correction = any(identifier.startswith("E-") for identifier in identifiers)
        own = "test_printed_mistakes_fail_and_their_corrections_hold" if correction else "test_every_claim_holds"
        found = [f"{AUDITED}::{own}"]
        for path, text in self._texts:
            if any(f'"{identifier}"' in text for identifier in identifiers):
                name = path.relative_to(self.root).as_posix()
                found += [f"{name}::{test}" for test in _marked(ast.parse(text), set(identifiers))]
        return found

    @cached_property
    def _texts(self) -> list[tuple[Path, str]]:
        files = sorted((self.root / "tests").rglob("test_*.py"))
        return [(path, text) for path in files if "mark.ledger" in (text := path.read_text(encoding="utf-8"))]


def _marked(module: ast.Module, identifiers: set[str]) -> Iterator[str]:
    """Functions and classes with a decorator `pytest.mark.ledger` that names one of these."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            marks = [call for decorator in node.decorator_list for call in ast.walk(decorator) if _is_mark(call)]
            arguments = {
                argument.value for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)
            }
            if arguments & identifiers:
                yield node.name


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ledger"
