"""Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dragoman.data.readers import Layout
from dragoman.data.source import LONGEST_LINE
from dragoman.errors import DataError
from tests.data.readers.files import account, as_parquet, fields, lines, write


def table(folder: Path, columns: dict[str, Any], **options: Any) -> str:
    pq.write_table(pa.table(columns), folder / "a.parquet", **options)
    return str(folder / "a.parquet")


def test_columns_by_name_by_position_and_called_like_the_fields(tmp_path: Path) -> None:
    path = table(tmp_path, {"id": [1, 2], "reference": ["Ve.", "Sí"], "source": ["Go.", "Yes"]})
    assert fields(path) == [("Go.", "Ve."), ("Yes", "Sí")]
    assert fields(path, Layout(columns=("reference", 2))) == [("Ve.", "Go."), ("Sí", "Yes")]
    assert fields(path, Layout("text", columns=(1,))) == [("Ve.",), ("Sí",)]
    assert fields(table(tmp_path, {"en": ["Go."], "es": ["Ve."], "who": ["ana"]})) == [("Go.", "Ve.")]


@pytest.mark.parametrize("column", ["fr", 3, "fr.x", "en.x"])
def test_columns_that_are_not_there(tmp_path: Path, column: str | int) -> None:
    with pytest.raises(DataError, match=r"has no column|cannot be read as Parquet"):
        fields(table(tmp_path, {"en": ["Go."], "es": ["Ve."]}), Layout(columns=("en", column)))


def test_the_message_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.parquet has no column 'fr'; its columns are 'en', 'es'"):
        fields(table(tmp_path, {"en": ["Go."], "es": ["Ve."]}), Layout(columns=("en", "fr")))


def test_nested_columns_are_reached_with_dots(tmp_path: Path) -> None:
    path = table(tmp_path, {"translation": [{"en": "Go.", "es": "Ve."}, None]})
    layout = Layout(columns=("translation.en", "translation.es"))
    read, problems = lines(path, layout)
    assert read == [1]
    assert account(problems) == [("empty source", 2)]


def test_rows_keep_their_number_across_batches_and_row_groups(tmp_path: Path) -> None:
    texts: list[Any] = [f"t{i}" for i in range(5000)]
    texts[2500] = None
    path = table(tmp_path, {"source": texts, "reference": texts}, row_group_size=700)
    read, problems = lines(path)
    assert read == [i + 1 for i in range(5000) if i != 2500]
    assert account(problems) == [("empty source", 2501)]


def test_values_that_are_no_text(tmp_path: Path) -> None:
    path = table(tmp_path, {"source": ["a", "x" * (LONGEST_LINE + 1)], "reference": [[1], [2]]})
    assert account(lines(path)[1]) == [("not a string", 1), ("longer than 1,048,576 characters", 2)]
    with pytest.raises(DataError, match=r"a.parquet, line 1: not a string \(the target is a list\)"):
        fields(path)
    assert fields(table(tmp_path, {"text": ["a"], "label": [3]}), Layout("labelled")) == [("3", "a")]
    assert fields(table(tmp_path, {"text": pa.array(["a", "a"]).dictionary_encode()}), Layout("text")) == [("a",)] * 2


def test_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty; expected at least one row"):
        fields(table(tmp_path, {"source": pa.array([], pa.string()), "reference": pa.array([], pa.string())}))


def test_damaged_files(tmp_path: Path) -> None:
    data = as_parquet()
    for damaged in (data[:-1], data[: len(data) // 2], b"PAR1", b"nonsense" * 9, data[:4] + data[20:]):
        with pytest.raises(DataError, match=r"a.parquet cannot be read as Parquet"):
            fields(write(tmp_path, "a.parquet", damaged))


@pytest.mark.parametrize("name", ["-", "a.parquet.gz"])
def test_parquet_needs_a_file_it_can_jump_about_in(name: str) -> None:
    with pytest.raises(DataError, match="give an uncompressed file by name"):
        fields(name, format="parquet")
