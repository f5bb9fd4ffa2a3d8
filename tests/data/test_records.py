"""Records and the account of problems."""

from __future__ import annotations

import pytest

from dragoman.data.records import EXCERPT, KEPT_EXAMPLES, Problem, ReadErrors, Record, clean, make_record
from dragoman.errors import ConfigurationError, DataError

NAMES = ("source", "reference")


def test_the_first_problem_is_an_error_that_says_what_where_and_what_to_do() -> None:
    with pytest.raises(DataError) as error:
        ReadErrors().add("not a number", "a.csv", 7, "x,1", "column 0: 'x'")
    assert str(error.value) == (
        "a.csv, line 7: not a number (column 0: 'x'): 'x,1' (use --on-bad-line skip to skip and count such lines)"
    )


def test_skipped_lines_are_counted_and_the_first_of_each_kind_kept() -> None:
    problems = ReadErrors("skip")
    for line in range(1, 9):
        problems.add("empty source", "a.tsv", line)
    problems.add("not utf-8", "b.tsv", 3, "caf\ufffd")
    assert len(problems) == 9
    assert problems.counts == {"empty source": 8, "not utf-8": 1}
    assert [problem.line for problem in problems.examples["empty source"]] == list(range(1, KEPT_EXAMPLES + 1))
    assert problems.examples["not utf-8"] == [Problem("not utf-8", "b.tsv", 3, "", "'caf\ufffd'")]
    told = problems.lines()
    assert told[:2] == ["8 lines skipped: empty source", "    a.tsv, line 1: empty source"]
    assert told[-2:] == ["1 line skipped: not utf-8", "    b.tsv, line 3: not utf-8: 'caf\ufffd'"]


def test_nothing_wrong_tells_nothing() -> None:
    assert len(ReadErrors("skip")) == 0
    assert ReadErrors("skip").lines() == []


def test_long_text_is_shown_in_part_and_printable() -> None:
    problems = ReadErrors("skip")
    problems.add("odd", "a", 1, "\ud800" + "x" * 1000)
    (problem,) = problems.examples["odd"]
    assert len(problem.excerpt) < EXCERPT + 20
    assert str(problem).encode()


def test_on_bad_line_is_error_or_skip() -> None:
    with pytest.raises(ConfigurationError, match="error or skip, got 'ignore'"):
        ReadErrors("ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  Qué\u0301?\t", "Qué\u0301?"),
        ("man\u0303ana", "mañana"),
        ("\u00a0a  b\u2028", "a  b"),
        ("ﬁ ½ Ａ", "ﬁ ½ Ａ"),  # NFC, not NFKC
    ],
)
def test_text_is_composed_and_stripped_and_otherwise_left_alone(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_a_record_is_its_fields_and_its_place() -> None:
    assert make_record([" a ", "b"], NAMES, "f", 3, ReadErrors()) == Record(("a", "b"), "f", 3)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["", "b"], "empty source"),
        (["a", " \t\u00a0"], "empty reference"),
        (["a", "b\0"], "a NUL character"),
        (["ñ\ud800", "b"], "half a surrogate pair"),
    ],
)
def test_what_makes_no_record(values: list[str], reason: str) -> None:
    problems = ReadErrors("skip")
    assert make_record(values, NAMES, "f", 3, problems) is None
    assert problems.counts == {reason: 1}
    with pytest.raises(DataError, match=f"f, line 3: {reason}"):
        make_record(values, NAMES, "f", 3, ReadErrors())
