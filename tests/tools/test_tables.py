"""The measured tables of the documents are those that were recorded, and no row holds another row's figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tools import tables
from tools.tables import differences, measured_tables, records

ROOT = Path(__file__).parents[2]


def test_the_documents_show_what_was_recorded() -> None:
    assert not list(differences(measured_tables(), records()))


def test_the_table_of_sizes_is_made_from_its_records() -> None:
    specification = importlib.util.spec_from_file_location("sizes", ROOT / "benchmarks" / "sizes.py")
    assert specification is not None
    assert specification.loader is not None
    sizes = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(sizes)
    made = sizes.table(ROOT / "docs" / "sizes.jsonl")
    assert made in (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")


PAGE = """# Networks

## By size

| network | error | accuracy | BLEU | chrF | TER |
|---|---:|---:|---:|---:|---:|
| lstm | 1.670 | 0.7954 | 40.8 | 51.1 | 39.0 |
| gru | 1.209 | 0.8890 | 65.6 | 71.2 | 21.0 |

## By rate

| rate | error | accuracy | BLEU | chrF | TER |
|---|---:|---:|---:|---:|---:|
| 0.01 | 2.404 | 0.6910 | 16.4 | 30.0 | 70.1 |
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("0.6910", "0.6911", "recorded '0.01 | 2.404 | 0.6910 | 16.4 | 30.0 | 70.1'"),
        (
            "2.404 | 0.6910 | 16.4 | 30.0 | 70.1",
            "1.670 | 0.7954 | 40.8 | 51.1 | 39.0",
            "are the figures of docs/page.md, By size, row 1 ('lstm'",
        ),
        ("| gru | 1.209 | 0.8890 | 65.6 | 71.2 | 21.0 |\n", "", "found 'no row', recorded 'gru |"),
        ("## By rate", "## By pace", "By pace, 'rate': a measured table without a record"),
        ("| rate | error", "| pace | error", "a record without its table"),
    ],
)
def test_a_figure_that_changes_is_noticed(old: str, new: str, said: str) -> None:
    recorded = list(tables.tables("page.md", PAGE))
    found = list(differences(list(tables.tables("page.md", PAGE.replace(old, new))), recorded))
    assert any(said in line for line in found) if said else not found
    assert all(table.measured for table in recorded)
