"""Compare every measured table of the documents with its record in docs/tables.jsonl.

    python tools/tables.py                            compare all
    python tools/tables.py recurrent.md Comparison    record the tables of one section, after measuring them anew

A table is measured if half of its cells are numbers. A row that is written into the wrong table, or a figure that is
changed by hand, differs from the record; a section is recorded by name only, so that no other table changes unnoticed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
RECORDS = DOCS / "tables.jsonl"
NOT_MEASURED = {  # settings
    ("serving.md", "Limits"),
    ("translating.md", "What is decided for you"),
    ("translating.md", "What quality to expect"),
}
COMPUTED = "errata.md"  # by `dragoman check`; tests/analysis/test_audit.py compares it


class Table(NamedTuple):
    """A table of a document, below a heading."""

    document: str
    section: str
    columns: list[str]
    rows: list[list[str]]

    @property
    def place(self) -> tuple[str, str, str]:
        return self.document, self.section, " | ".join(self.columns)

    @property
    def measured(self) -> bool:
        figures = [bool(re.match(r"[-+]?\d", cell)) for row in self.rows for cell in row[1:]]
        if self.document == COMPUTED or (self.document, self.section) in NOT_MEASURED:
            return False
        return 2 * sum(figures) >= len(figures) > 0


def tables(document: str, text: str) -> Iterator[Table]:
    """All tables of a Markdown document."""
    section, lines = "", text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("#"):
            section = line.strip("# ")
        if line.startswith("|") and re.fullmatch(r"\|[-:|]+\|", "".join(lines[i + 1 : i + 2])):
            end = next((j for j in range(i, len(lines)) if not lines[j].startswith("|")), len(lines))
            yield Table(document, section, _cells(line), [_cells(row) for row in lines[i + 2 : end]])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured_tables(docs: Path = DOCS) -> list[Table]:
    """The measured tables of all documents, each in a place of its own."""
    pages = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(docs.glob("*.md"))]
    return [table for name, text in pages for table in tables(name, text) if table.measured]


def records(path: Path = RECORDS) -> list[Table]:
    return [Table(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def differences(found: list[Table], recorded: list[Table]) -> Iterator[str]:
    """Say where documents and records differ, row by row; and which rows hold the figures of another row."""
    expected = {table.place: table for table in recorded}
    for table in found:
        record = expected.pop(table.place, None)
        where = f"docs/{table.document}, {table.section}, '{table.columns[0] or table.columns[1]}'"
        if record is None:
            yield f"{where}: a measured table without a record; {_command(table)}"
            continue
        for i in range(max(len(table.rows), len(record.rows))):
            row, kept = (" | ".join(rows[i]) if i < len(rows) else "no row" for rows in (table.rows, record.rows))
            if row != kept:
                yield f"{where}: found '{row}', recorded '{kept}'; if it was measured anew, {_command(table)}"
    for table in expected.values():
        yield f"docs/{table.document}, {table.section}: a record without its table; {_command(table)}"
    yield from _copies(found)


def _copies(found: list[Table]) -> Iterator[str]:
    """Rows with the same five figures in succession: one of them was overwritten."""
    seen: dict[tuple[str, ...], str] = {}
    for table in found:
        for i, row in enumerate(table.rows):
            figures = [cell for cell in row if re.search(r"\d\.\d|\d{3}", cell)]
            where = f"docs/{table.document}, {table.section}, row {i + 1} ('{row[0]}' below '{table.columns[0]}')"
            for five in zip(*(figures[j:] for j in range(5)), strict=False):
                other = seen.setdefault(five, where)
                if other != where:
                    yield f"{where}: {', '.join(five)} are the figures of {other}"


def _command(table: Table) -> str:
    return f"record it: python tools/tables.py {table.document} {table.section!r}"


def record(document: str, section: str) -> None:
    """Write the tables of a section as they are now; all others keep their records."""

    def named(table: Table) -> bool:
        return (table.document, table.section) == (document, section)

    now = [table for table in measured_tables() if named(table)]
    kept = [table for table in records() if not named(table)] if RECORDS.exists() else []
    lines: list[dict[str, Any]] = [table._asdict() for table in sorted([*kept, *now])]
    RECORDS.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    print(f"{len(now)} tables recorded of docs/{document}, {section}")


def main() -> int:
    if len(sys.argv) == 3:
        record(*sys.argv[1:])
    found = list(differences(measured_tables(), records()))
    print("\n".join(found) or "all tables are as recorded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
