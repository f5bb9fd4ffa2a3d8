"""TSV and CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.readers import Layout
from dragoman.data.readers.table import ROW_LINES
from dragoman.data.records import clean
from dragoman.data.source import LONGEST_LINE
from dragoman.errors import DataError
from tests.data.readers.files import account, as_csv, fields, lines, write


@pytest.mark.ledger("T-6.1-tsv")
def test_commas_and_quotes_are_part_of_tab_separated_sentences(tmp_path: Path) -> None:
    pair = ('Yes, "of course", he said.', 'Sí, "claro", dijo.')
    text = "\t".join(pair) + "\n"
    assert fields(write(tmp_path, "a.tsv", text)) == [pair]
    with pytest.raises(DataError, match="line 1: wrong number of columns"):  # the same line where commas part fields
        fields(write(tmp_path, "b.csv", text.replace('"', "")), Layout(columns=(0, 9)))


def test_quoted_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    text = '"Yes, ""well"",\nno.",Sí\r\n"a","b\r\nc"\nlast,"¿último?"\n'
    path = write(tmp_path, "a.csv", text)
    assert fields(path) == [('Yes, "well",\nno.', "Sí"), ("a", "b\nc"), ("last", "¿último?")]
    assert lines(path)[0] == [1, 3, 5]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), min_size=1, max_size=12).filter(
    str.strip
)


@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_what_a_csv_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    assert fields(write(folder, "a.csv", as_csv(pairs))) == [(clean(s), clean(r)) for s, r in pairs]


@pytest.mark.parametrize("header", [None, True, False])
def test_columns_by_number(tmp_path: Path, header: bool | None) -> None:
    path = write(tmp_path, "a.tsv", "es\ten\twho\nVe.\tGo.\tana\nHola.\tHi.\tbob\n")
    below = [("Go.", "Ve."), ("Hi.", "Hola.")]
    assert fields(path, Layout(columns=(1, 0), header=header)) == ([("en", "es"), *below] if header is False else below)


@pytest.mark.parametrize(
    ("first", "read"),
    [
        ("english\tspanish", ("a", "b")),
        ("English\tEspañol", ("a", "b")),
        ("Deutsch\tanglais", ("a", "b")),
        ("EN\tes-ES", ("a", "b")),
        ("source\ttarget", ("a", "b")),
        ("Target text\tSource text", ("b", "a")),
        ("source_en\treference_es", ("a", "b")),
        ("english\tspanish\tattribution", ("a", "b")),
        ("id\tenglish\tspanish", ("b", "c")),
        ("notes\ttarget\tid\tsource", ("d", "b")),
    ],
)
def test_a_header_is_recognised_and_told(tmp_path: Path, first: str, read: tuple[str, str]) -> None:
    row = "\t".join("abcd"[: first.count("\t") + 1])
    path = write(tmp_path, "a.tsv", f"{first}\n{row}\n")
    found, problems = lines(path)
    assert (fields(path), found) == ([read], [2])
    assert [note.split(",")[0] for note in problems.lines()] == [f"{path}: the first line is a header"]
    assert len(fields(path, Layout(header=False))) == 2


@pytest.mark.parametrize(
    "first", ["English\tinglés", "Go.\tVe.", "No\tSi", "no\tsí", "no\tsi", "Spanish\tespañol", "text\tlabel"]
)
def test_a_pair_is_no_header(tmp_path: Path, first: str) -> None:
    path = write(tmp_path, "a.tsv", f"{first}\na\tb\n")
    assert fields(path) == [tuple(first.split("\t")), ("a", "b")]
    assert lines(path)[1].lines() == []


def test_columns_by_name_mean_a_header(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", '\ufeff"el español", en ,who\nVe.,Go.,ana\n')
    assert fields(path, Layout(columns=("en", "el español"))) == [("Go.", "Ve.")]
    assert lines(path, Layout(columns=("en", "el español")))[0] == [2]
    with pytest.raises(DataError, match=r"a.csv has no column 'fr'; its header names 'el español', 'en', 'who'"):
        fields(path, Layout(columns=("fr", "en")))
    with pytest.raises(DataError, match="'en' is given by name, but there is no header"):
        fields(path, Layout(columns=("en", 0), header=False))
    with pytest.raises(DataError, match="has several columns 'en'"):
        fields(write(tmp_path, "b.csv", "en,en,es\n1,2,3\n"), Layout(columns=("en", "es")))


def test_a_header_that_cannot_be_read_or_stands_alone(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: the header cannot be read"):
        fields(write(tmp_path, "a.tsv", b"s\xff\tr\na\tb\n"), Layout(columns=("a", "b")), on_bad_line="skip")
    with pytest.raises(DataError, match="has a header but no rows"):
        fields(write(tmp_path, "b.tsv", "s\tr\n"), Layout(header=True))


def test_an_attribution_column_is_ignored_when_every_line_has_one(tmp_path: Path) -> None:
    text = "Go.\tVe.\tCC-BY 2.0\nHi.\tHola.\tCC-BY 2.0\n"
    assert fields(write(tmp_path, "a.tsv", text)) == [("Go.", "Ve."), ("Hi.", "Hola.")]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_a_wrong_number_of_columns(tmp_path: Path, name: str) -> None:
    text = "a\tb\nonly one\nc\td\te\n\n   \nf\tg\n"
    path = write(tmp_path, name, text if name == "a.tsv" else text.replace("\t", ","))
    read, problems = lines(path)
    assert read == [1, 6]
    reasons = ["wrong number of columns", "wrong number of columns", "an empty line", "an empty line"]
    assert account(problems) == list(zip(reasons, [2, 3, 4, 5], strict=True))
    first, second = problems.examples["wrong number of columns"]
    assert first.detail == "1, expected at least 2"
    assert second.detail == "3, but the first line has 2; choose columns to ignore the others"
    with pytest.raises(
        DataError, match=rf"{name}, line 2: wrong number of columns \(1, expected at least 2\): 'only one'"
    ):
        fields(path)
    assert lines(path, Layout(columns=(0, 1)))[0] == [1, 3, 6]  # chosen columns: others may be there or not


def test_an_empty_line_does_not_set_the_number_of_columns(tmp_path: Path) -> None:
    assert lines(write(tmp_path, "a.tsv", "\na\tb\nc\td\n"))[0] == [2, 3]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_every_kind_of_bad_line_is_counted_at_its_place(tmp_path: Path, name: str) -> None:
    rows = [
        b"ok\tbien",
        b"caf\xe9\tcaf\xc3\xa9",
        b"nul\0\tx",
        b"\tempty",
        b"empty\t ",
        b"x" * (LONGEST_LINE + 9) + b"\ty",
        b"end\tfin",
    ]
    data = b"\r\n".join(rows)
    path = write(tmp_path, name, data if name == "a.tsv" else data.replace(b"\t", b","))
    read, problems = lines(path)
    assert read == [1, 7]
    assert account(problems) == [
        ("not utf-8", 2),
        ("a NUL character", 3),
        ("empty source", 4),
        ("empty target", 5),
        ("longer than 1,048,576 characters", 6),
    ]


def test_a_bad_line_inside_a_quoted_field_spoils_that_row_only(tmp_path: Path) -> None:
    long = "y" * (LONGEST_LINE + 9)
    for bad in (b"\xff\xff", b"\0", long.encode(), long.encode() + b'""'):
        data = b'a,b\n"c\n' + bad + b'\nd",e\nf,g\n"h\ni",j\n'
        read, problems = lines(write(tmp_path, "a.csv", data))
        assert read == [1, 5, 6]
        assert [line for _, line in account(problems)] == [3]


def test_a_line_too_long_that_closes_a_quoted_field(tmp_path: Path) -> None:
    long = "y" * (LONGEST_LINE + 9)
    read, problems = lines(write(tmp_path, "a.csv", f'a,b\n"c\n{long}",z\nd,e\n{long},"\n\n",\nf,g\n'))
    assert read == [1, 4, 8]
    assert [line for _, line in account(problems)] == [3, 5]


def test_a_quote_that_is_never_closed_costs_its_own_line_only(tmp_path: Path) -> None:
    text = 'a,b\n"c,d\n' + "e,f\n" * 3000 + 'g,"h" x\ni,j\n'
    read, problems = lines(write(tmp_path, "a.csv", text))
    assert read == [1, *range(3, 3003), 3004]
    assert account(problems) == [("broken quoting", 2), ("broken quoting", 3003)]
    with pytest.raises(DataError, match=r"a.csv, line 2: broken quoting \(unexpected end of data\): '\"c,d'"):
        fields(str(tmp_path / "a.csv"))


def test_a_row_of_many_lines_has_a_limit(tmp_path: Path) -> None:
    def row(count: int) -> str:
        return '"' + "a\n" * (count - 1) + '",b\n'

    assert len(fields(write(tmp_path, "a.csv", row(ROW_LINES)))) == 1
    with pytest.raises(DataError, match="line 1: broken quoting"):
        fields(write(tmp_path, "b.csv", row(ROW_LINES + 1)))
    wide = ('"' + "x" * 100_000 + '\n",') * 20  # no field is large, but the row is
    with pytest.raises(DataError, match="line 1: broken quoting"):
        fields(write(tmp_path, "c.csv", wide))


def test_the_limits_of_the_csv_module_are_left_alone(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    fields(write(tmp_path, "a.csv", "a,b\n"))
    assert csv.field_size_limit() == before
    with pytest.raises(DataError, match=r"line 1: broken quoting .field larger than field limit"):
        fields(write(tmp_path, "b.csv", "x" * (before + 1) + ",b\n"))


def test_text_and_labelled_text_in_tables(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "good,¡Qué bien!\nbad,No\n")
    assert fields(path, Layout("labelled")) == [("good", "¡Qué bien!"), ("bad", "No")]
    assert fields(path, Layout("text", columns=(1,))) == [("¡Qué bien!",), ("No",)]
