"""The ledger: all statements of the sources, and which of them the tests settle."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ledger_rows

ROOT = Path(__file__).parent.parent
REASONS = ("prose: ", "design: ", "figure: ")


@pytest.fixture(scope="module")
def report() -> str:
    command = [sys.executable, "-m", "pytest", "--ledger", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def test_every_statement_is_there_in_a_line_of_its_own() -> None:
    rows = ledger_rows()
    assert Counter(identifier[0] for identifier in rows) == {"T": 163, "N": 48, "B": 125, "C": 35, "L": 65}
    assert len({row["statement"] for row in rows.values()}) == len(rows)
    assert all(not row["untested"] or row["untested"].startswith(REASONS) for row in rows.values())


@pytest.mark.parametrize(
    ("source", "chapters"),
    [
        ("thesis", r"T-"),
        ("book, chapter 7", r"B-7\.(34eq|5-(argmax|sample|beam|teacherpar|parallel)|4-freeze|2-teacher)$"),
        ("book, chapter 7", r"B-7\.([1-2]|[4-9]|1[0-36-9])eq$|B-F7\.(3-7\.4|6|8)$"),
        ("book, chapter 7", r"B-7\.2-(goals|state|out|ffanalogy|adjoint|bptt|tbptt)$"),
        ("book, chapter 7", r"B-7\.3-(combo|gates|lstm1|lstmstack|grustack)$"),
        ("book, chapter 7", r"B-7\.1-(embedding|king|word2vec|cbow|skipgram|finetune)$"),
        ("book, chapter 7", r"B-7\.1-(seq|onehot|tasks-[ab]|horizon|paradigms)$|B-7\.2-(batch|init|supervised)$"),
        ("book, chapter 7", r"B-7\.(21eq-c|24eq|27eq|4-pad|5-(fixedlen|simple|matrix|trainnaive))$|B-F7\.(5|7|12-13)$"),
        ("notes", r"N-"),
        ("custom-net sheet", r"C-"),
        ("lecture", r"L-(1[2-9]|[2-5]\d)-"),
    ],
)
def test_everything_built_so_far_is_covered(report: str, source: str, chapters: str) -> None:
    missing = re.findall(r"^ +(\S+) +not covered", report, re.MULTILINE)
    assert f"{source}: " in report
    assert [identifier for identifier in missing if re.match(chapters, identifier)] == []
