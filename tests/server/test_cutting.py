"""Sentences that are too long for one piece of work."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.cutting import cut, joined
from dragoman.tasks.translation.results import Alternative, Translation

WORDS = st.lists(
    st.sampled_from(["red", "house", " ", "\n", "  ", "<b>", "</b>", "<a href='x y z'>", "<", ">", "a" * 40])
)


@given(WORDS, st.integers(8, 60))
def test_the_parts_are_the_text(words: list[str], longest: int) -> None:
    text = "".join(words)
    parts = cut(text, longest)
    assert "".join(parts) == text
    assert all(parts[:-1])


def test_cuts_are_before_white_space_and_not_in_tags() -> None:
    assert cut("one two three four", 10) == ["one two", " three", " four"]
    assert cut("one two<a href='x y'>three</a> four", 16) == ["one two", "<a href='x y'>", "three</a> four"]
    assert cut("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]
    assert cut("a short one") == ["a short one"]


def test_translations_of_parts_are_joined_with_the_white_space_between_them() -> None:
    found = [Translation((Alternative(text, -0.5, 2), Alternative("x", -2.0, 1))) for text in ("uno dos", "tres")]
    whole = joined(["one two", " three"], found)
    assert whole.text == "uno dos tres"
    assert (whole.pieces, len(whole.alternatives), whole.alternatives[0].tokens) == (2, 1, 4)
    assert joined(["three"], found[1:]) is found[1]
