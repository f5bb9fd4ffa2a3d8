"""Two line-aligned files."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from dragoman.data.readers import Layout
from dragoman.errors import DataError
from tests.data.readers.files import PAIRS, account, fields, lines, reading, write


def write_two(folder: Path, first: bytes | str, second: bytes | str) -> str:
    return write(folder, "train.en", first) + "," + write(folder, "train.es", second)


def test_two_files_are_one_corpus(tmp_path: Path) -> None:
    name = write_two(tmp_path, "\n".join(s for s, _ in PAIRS), "\n".join(r for _, r in PAIRS))
    assert fields(name) == PAIRS
    assert [(record.file, record.line) for record in reading(name)][:2] == [
        (str(tmp_path / "train.en"), n) for n in (1, 2)
    ]
    assert fields([name, name]) == PAIRS * 2


def test_each_may_be_compressed(tmp_path: Path) -> None:
    name = write(tmp_path, "a.en.gz", gzip.compress(b"Go.\n")) + "," + write(tmp_path, "a.es", "Ve.\n")
    assert fields(name) == [("Go.", "Ve.")]


def test_labels_and_texts(tmp_path: Path) -> None:
    assert fields(write_two(tmp_path, "good\n", "Sí\n"), Layout("labelled")) == [("good", "Sí")]


def test_a_bad_line_takes_its_counterpart_along(tmp_path: Path) -> None:
    name = write_two(tmp_path, b"a\nb\xff\n\nd\ne\n", b"A\nB\nC\nD\0\nE\n")
    read, problems = lines(name)
    assert [record.fields for record in reading(name, on_bad_line="skip")] == [("a", "A"), ("e", "E")]
    assert read == [1, 5]
    assert account(problems) == [("not utf-8", 2), ("empty source", 3), ("a NUL character", 4)]
    assert problems.examples["a NUL character"][0].file == str(tmp_path / "train.es")


@pytest.mark.parametrize(("first", "second"), [(3, 5), (5, 3)])
def test_different_lengths(tmp_path: Path, first: int, second: int) -> None:
    name = write_two(tmp_path, "x\n" * first, "y\n" * second)
    longer, shorter = ("train.es", "train.en") if second > first else ("train.en", "train.es")
    with pytest.raises(DataError, match=f"{longer} has 5 lines, .*{shorter} has 3; line-aligned files must"):
        fields(name)
    read, problems = lines(name)
    assert read == [1, 2, 3]
    assert account(problems) == [(f"no such line in {tmp_path / shorter}", line) for line in (4, 5)]
    assert problems.examples.popitem()[1][0].file == str(tmp_path / longer)


def test_one_of_them_empty_or_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train.es is empty"):
        fields(write_two(tmp_path, "x\n", ""))
    with pytest.raises(DataError, match=r"gone.es does not exist"):
        fields(f"{tmp_path}/train.en,{tmp_path}/gone.es")


def test_one_may_be_standard_input_and_then_it_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(b"Go.\nHi.\n")

    monkeypatch.setattr(sys, "stdin", Input)
    read = reading("-," + write(tmp_path, "a.es", "Ve.\n"))
    with pytest.raises(DataError, match=r"standard input has more lines, .*a.es has 1"):
        list(read)
    with pytest.raises(DataError, match="standard input can be read only once"):
        iter(read)


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"Go.\n",))
    writer.start()
    read = reading(f"{tmp_path / 'pipe'}," + write(tmp_path, "a.es", "Ve.\n"))
    assert [record.fields for record in read] == [("Go.", "Ve.")]
    writer.join()
    with pytest.raises(DataError, match="pipe can be read only once"):
        iter(read)


def test_one_file_with_a_comma_in_its_name_is_one_file(tmp_path: Path) -> None:
    assert fields(write(tmp_path, "a,b.tsv", "Go.\tVe.\n")) == [("Go.", "Ve.")]
    with pytest.raises(DataError, match=r"is one file; give two line-aligned files as train\.en,train\.es"):
        fields(str(tmp_path / "a,b.tsv"), format="aligned")
