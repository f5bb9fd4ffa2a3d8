"""Plain text: translated sentence by sentence, and everything between the sentences stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError
from dragoman.text.documents import split_text
from tests.text.documents.timing import assert_linear

TEXTS = st.lists(
    st.sampled_from(
        [*"aÑ.!?。,;-\n\r\t \u00a0\u2028\x0b5*#>", "\r\n", "\n\n", "Hi. ", "Mr. X ", "    ", "- ", "1. ", "(b) ", "😀"]
    ),
    max_size=60,
).map("".join) | st.text(max_size=40)


@given(text=TEXTS)
def test_an_identical_translation_gives_the_text_back(text: str) -> None:
    document = split_text(text)
    assert document.join(document.segments) == text


@given(text=TEXTS)
def test_segments_have_letters_and_no_space_around_them_nor_line_breaks_inside(text: str) -> None:
    for segment in split_text(text).segments:
        assert any(map(str.isalpha, segment))
        assert segment == segment.strip()
        assert len(segment.splitlines()) == 1
        assert "\t" not in segment


@given(text=TEXTS)
def test_what_is_between_the_segments_stays_whatever_the_translations_are(text: str) -> None:
    document = split_text(text)
    written = document.join([f"({segment})" for segment in document.segments])
    assert re.sub(r"[()]", "", written) == re.sub(r"[()]", "", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi. How are you?", "[Hi.] [How are you?]"),
        ("A title\n\n  Some text.  More.\r\nLast", "[A title]\n\n  [Some text.]  [More.]\r\n[Last]"),
        ("one line\nanother line", "[one line]\n[another line]"),
        ("- milk\n  * two eggs\n3. Beat it.\n(a) b) c", "- [milk]\n  * [two eggs]\n3. [Beat it.]\n(a) b) [c]"),
        ("> > quoted\n## Head\n- [x] done", "> > [quoted]\n## [Head]\n- [x] [done]"),
        ("3 people came. 4 left.", "[3 people came.] [4 left.]"),
        ("name\tage\nAna\t31", "[name]\t[age]\n[Ana]\t31"),
        ("name     age", "[name]     [age]"),
        ("two  spaces", "[two  spaces]"),
        ("***\n\n12:30 😀\n", "***\n\n12:30 😀\n"),
        ("", ""),
        ("你好。再见！", "[你好。][再见！]"),
    ],
)
def test_cut_where_a_reader_would(text: str, expected: str) -> None:
    document = split_text(text)
    assert document.join([f"[{segment}]" for segment in document.segments]) == expected


def test_another_number_of_translations_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="2 segments takes as many translations, not 1"):
        split_text("One. Two.").join(["Uno."])


@pytest.mark.parametrize("piece", ["a ", " ", "\t", " \t", "- ", ". ", "1.", "  a", ">"])
def test_the_time_is_linear(piece: str) -> None:
    assert_linear(split_text, piece)
