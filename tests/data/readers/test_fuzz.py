"""Arbitrary bytes, and files that were right until something happened to them: records or a DragomanError, no more."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.readers import FORMATS, Layout, read_records, read_series
from dragoman.errors import DragomanError
from tests.data.readers.files import (
    COMPRESS,
    PAIRS,
    as_csv,
    as_jsonl,
    as_parquet,
    as_po,
    as_tmx,
    as_tsv,
    as_xliff,
    as_xliff2,
)

Make = Callable[[], bytes]
EXAMPLES = 60

LAYOUTS = [
    Layout(),
    Layout("text"),
    Layout("labelled"),
    Layout(columns=(1, 0)),
    Layout(columns=("source", "reference")),
    Layout(columns=("source.x", 0), header=True),
    Layout(languages=("es", "en")),
]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "ascii", "utf-7", "shift_jis", "cp037"]

PLURAL = """
#, fuzzy
msgid "a"
msgid_plural "b"
msgstr[0] "c"
#| msgid "d"

#~ msgctxt "e"
#~ msgid ""
#~ "f"
"""

VALID: list[tuple[str, Make]] = [
    ("tsv", as_tsv),
    ("csv", as_csv),
    ("csv", lambda: b'"a\nb","c ""d""\n\ne"\n' * 3),
    ("aligned", as_tsv),
    ("jsonl", as_jsonl),
    ("parquet", as_parquet),
    ("tmx", as_tmx),
    ("xliff", as_xliff),
    ("xliff", as_xliff2),
    ("po", as_po),
    ("po", PLURAL.encode),
    ("plain", as_tsv),
    ("labelled", as_tsv),
]
PIECES = b"\0 \xff \\ , [ ] { } < > & &x; ]]> <!-- # #~ msgid msgstr[1] \\ud800 \xef\xbb\xbf 1e999 PAR1 \xed\xa0".split(
    b" "
)
PIECES += [b'"', b'""', b"\n", b"\r", b"\t", b" "]


@pytest.fixture(scope="module", autouse=True)
def quiet() -> None:
    logging.getLogger("translate").setLevel(logging.CRITICAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@st.composite
def damaged(draw: st.DrawFn, make: Make) -> bytes:
    """A valid file with bytes cut out, doubled, replaced or put in, here and there."""
    data = make()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        new = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6), st.just(data[start:end] * 2)))
        data = data[:start] + new + data[end:]
    return data


def read_all(path: Path, data: bytes, format: str, encoding: str, layout: Layout) -> None:
    """In both ways. An exception that is no DragomanError, or a warning, fails the test."""
    path.write_bytes(data)
    name = f"{path},{path}" if format == "aligned" else str(path)
    for on_bad_line in ("error", "skip"):
        try:
            read = read_records([name], layout, format, encoding, on_bad_line)  # type: ignore[arg-type]
            for record in read:
                assert len(record.fields) == len(layout.fields)
                assert all(text and text == text.strip() and text.encode() for text in record.fields)
                assert record.line >= 1
            "".join(read.problems.lines()).encode()
        except DragomanError as error:
            str(error).encode()  # can be printed


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=EXAMPLES)
@given(data=st.binary(max_size=200), encoding=st.sampled_from(ENCODINGS), layout=st.sampled_from(LAYOUTS))
def test_arbitrary_bytes(folder: Path, format: str, data: bytes, encoding: str, layout: Layout) -> None:
    read_all(folder / "a", data, format, encoding, layout)


@pytest.mark.parametrize(("format", "make"), VALID)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), layout=st.sampled_from(LAYOUTS))
def test_damaged_files(folder: Path, format: str, make: Make, data: st.DataObject, layout: Layout) -> None:
    read_all(folder / "a", data.draw(damaged(make)), format, "utf-8", layout)


@pytest.mark.parametrize("suffix", COMPRESS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_damaged_compressed_files(folder: Path, suffix: str, data: st.DataObject) -> None:
    read_all(
        folder / f"a{suffix}", data.draw(damaged(lambda: COMPRESS[suffix](as_tsv(PAIRS * 9)))), "tsv", "utf-8", Layout()
    )


numeric = st.text(st.sampled_from('0123456789.,-+e_"naif\n\r '), max_size=60).map(str.encode)


@settings(max_examples=4 * EXAMPLES)
@given(
    data=st.one_of(st.binary(max_size=60), numeric),
    columns=st.sampled_from([None, (0,), ("a",), (1, 0)]),
    header=st.sampled_from([None, True, False]),
)
def test_arbitrary_series(
    folder: Path, data: bytes, columns: tuple[int | str, ...] | None, header: bool | None
) -> None:
    path = folder / "a.csv"
    path.write_bytes(data)
    for on_bad_line in ("error", "skip"):
        try:
            series = read_series(str(path), columns, header, on_bad_line=on_bad_line)  # type: ignore[arg-type]
            assert series.values.ndim == 2
            assert len(series.names) == series.values.shape[1]
        except DragomanError as error:
            str(error).encode()  # can be printed
