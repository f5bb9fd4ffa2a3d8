"""Small changes to Python source that tests should notice: found in the syntax tree, made in the text."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
TERMS = (ast.Add, ast.Sub, ast.Mult)  # of which one side may be left out


@dataclass(frozen=True)
class Mutation:
    """Replace the characters from `start` to `stop` of a file by `text`."""

    path: Path  # relative to the repository
    line: int
    start: int
    stop: int
    text: str
    kind: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.stop :]

    def shown(self, source: str) -> tuple[str, str]:
        """The line as it was and as it is."""
        changed = self.apply(source).splitlines()
        before = source.splitlines()[self.line - 1].strip()
        return before, changed[self.line - 1].strip() if self.line <= len(changed) else ""


def mutations_of(path: Path, source: str) -> list[Mutation]:
    """Every mutation of one file that still compiles."""
    found = [m for m in _Finder(path, source).mutations() if m.apply(source) != source]
    return [m for m in dict.fromkeys(found) if _compiles(m.apply(source))]


def choose(candidates: dict[str, list[Mutation]], count: int, seed: int) -> list[Mutation]:
    """The same number of each group, as far as they have so many; one after the other, so that a part is fair too."""
    rng = random.Random(seed)
    shuffled = {group: rng.sample(found, len(found)) for group, found in candidates.items()}
    chosen: list[Mutation] = []
    while len(chosen) < count and any(shuffled.values()):
        for found in shuffled.values():
            if found and len(chosen) < count:
                chosen.append(found.pop())
    return chosen


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


class _Finder:
    """Walks the syntax tree of one file; leaves out docstrings, annotations, decorators and formatted strings."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source, self.tree = path, source, ast.parse(source)
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.lines = source.splitlines()

    def mutations(self) -> Iterator[Mutation]:
        for node in self._walk(self.tree):
            yield from self._of(node)

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._walk(child)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        if isinstance(node, ast.BinOp):
            yield from self._binary(node)
        elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            old, new = OPERATORS[type(node.op)]
            yield from self._between(node.target, node.value, old + "=", new + "=", "operator")
            yield self._replace(node, "pass", "statement removed")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from self._between(node.left, node.comparators[0], *COMPARISONS[type(node.ops[0])], "comparison")
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from self._between(node.values[0], node.values[1], old, new, "and/or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield self._replace(node, f"({self._text(node.operand)})", "sign or not removed")
        elif isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield self._replace(node.test, f"not ({self._text(node.test)})", "condition reversed")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield self._replace(node, "return None", "nothing returned")
        elif self._removable(node):
            yield self._replace(node, "pass", "statement removed")

    def _removable(self, node: ast.AST) -> bool:
        """Calls, raises, and assignments to what exists already; a missing name would only be a crash."""
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Call)
        if isinstance(node, ast.Assign):
            return all(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets)
        return isinstance(node, ast.Raise | ast.Break | ast.Continue)

    def _binary(self, node: ast.BinOp) -> Iterator[Mutation]:
        if type(node.op) in OPERATORS:
            yield from self._between(node.left, node.right, *OPERATORS[type(node.op)], "operator")
        if isinstance(node.op, TERMS):
            yield self._replace(node, f"({self._text(node.left)})", "term removed")
            if not isinstance(node.op, ast.Sub):
                yield self._replace(node, f"({self._text(node.right)})", "term removed")

    def _constant(self, node: ast.Constant) -> Iterator[Mutation]:
        value = node.value
        if isinstance(value, bool):
            yield self._replace(node, str(not value), "constant")
        elif isinstance(value, int):
            yield self._replace(node, str(value + 1), "constant")
        elif isinstance(value, float):
            yield self._replace(node, repr(2 * value if value else 1.0), "constant")

    def _between(self, left: ast.AST, right: ast.AST, old: str, new: str, kind: str) -> Iterator[Mutation]:
        """The operator between two operands, wherever parentheses are."""
        start, stop = self._span(left)[1], self._span(right)[0]
        at = self.source[start:stop].find(old)
        if at >= 0:
            line = self.source.count("\n", 0, start + at) + 1
            yield Mutation(self.path, line, start + at, start + at + len(old), new, kind)

    def _replace(self, node: ast.AST, text: str, kind: str) -> Mutation:
        start, stop = self._span(node)
        return Mutation(self.path, self.source.count("\n", 0, start) + 1, start, stop, text, kind)

    def _text(self, node: ast.AST) -> str:
        start, stop = self._span(node)
        return self.source[start:stop]

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """Characters, where the syntax tree counts bytes of a line."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        before, until = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return self._place(first, before), self._place(last, until)

    def _place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())
