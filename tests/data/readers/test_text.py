"""Plain text and labelled text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.data.readers import Layout
from dragoman.errors import DataError
from tests.data.readers.files import account, fields, lines, write


def test_one_text_a_line_and_blank_lines_between_paragraphs(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "\ufeff Había una vez,\t«un» ñandú. \n\n  \n¿Y qué?")
    assert fields(path, Layout("text")) == [("Había una vez,\t«un» ñandú.",), ("¿Y qué?",)]
    read, problems = lines(path, Layout("text"))
    assert read == [1, 4]
    assert len(problems) == 0


def test_bad_lines_of_plain_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"a\n\xe9\nb\0\nc\n")
    read, problems = lines(path, Layout("text"))
    assert read == [1, 4]
    assert account(problems) == [("not utf-8", 2), ("a NUL character", 3)]
    with pytest.raises(DataError, match=r"a.txt, line 2: not utf-8"):
        fields(path, Layout("text"))
    assert fields(write(tmp_path, "b.txt", b"\xe9\n"), Layout("text"), encoding="latin-1") == [("é",)]


def test_label_tab_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.labelled", "good\t¡Qué bien!\nbad \t a\tb\n")
    assert fields(path, Layout("labelled")) == [("good", "¡Qué bien!"), ("bad", "a\tb")]


def test_bad_lines_of_labelled_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.labelled", "no tab\n\n\ttext\nlabel\t \ngood\ttext\n")
    read, problems = lines(path, Layout("labelled"))
    assert read == [5]
    reasons = ["no tab between label and text", "an empty line", "empty label", "empty text"]
    assert account(problems) == list(zip(reasons, range(1, 5), strict=True))
    with pytest.raises(DataError, match=r"a.labelled, line 1: no tab between label and text: 'no tab'"):
        fields(path, Layout("labelled"))
