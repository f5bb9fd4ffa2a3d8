"""A text as words: what counts as a word, how much of it is held, what is given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.data.source import Source
from dragoman.errors import DataError
from dragoman.tasks.vectors import text as text_of
from dragoman.tasks.vectors.text import count_words, frequent_words, numbered, sentences


def written(path: Path, text: str) -> Source:
    path.write_text(text, encoding="utf-8")
    return Source(str(path))


def test_words_and_marks_are_what_the_tokenizer_takes_for_words(tmp_path: Path) -> None:
    source = written(tmp_path / "t.txt", "\ufeffIt's n\u0303a, ¿no?\r\n\n  \nLast_line 3.14 — हिन्दी में")
    assert list(sentences(source)) == [
        ["It", "'", "s", "ña", ",", "¿", "no", "?"],
        ["Last_line", "3", ".", "14", "—", "हिन्दी", "में"],
    ]
    spaces = list(sentences(source, "spaces", lower_case=True))
    assert spaces == [["it's", "n\u0303a,", "¿no?"], ["last_line", "3.14", "—", "हिन्दी", "में"]]


@pytest.mark.parametrize("limit", [7, 12, 50])
def test_a_text_without_line_ends_is_read_in_parts(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "once upon a time there was a word " * 5
    source = written(tmp_path / "t.txt", text + "\n" + text)
    monkeypatch.setattr(text_of, "LONGEST_PART", limit)
    parts = list(sentences(source))
    assert [word for part in parts for word in part] == text.split() * 2
    assert max(map(len, parts)) <= limit + 1


def test_what_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"fine\nfine\n\xff\n")
    with pytest.raises(DataError, match=r"t\.txt, about line 1: not utf-8 .*; save the text as UTF-8"):
        list(sentences(Source(str(tmp_path / "t.txt"))))


def test_more_words_than_fit_are_given_up_from_the_rarest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_of, "MOST_COUNTED", 10)
    said: list[str] = []
    counts = count_words(([f"rare{i}", "often", "often"] for i in range(100)), said.append)
    assert counts["often"] == 200
    assert len(counts) <= 11
    assert "more than 10 different words" in said[0]


def test_the_most_frequent_come_first_and_rare_ones_are_left_out() -> None:
    counts = count_words([["b", "a", "b", "rare", "c", "a"], ["c", "b"]])
    assert frequent_words(counts, 2) == ["b", "a", "c"]
    with pytest.raises(DataError, match="1 of 4 different words occur 3 times or more"):
        frequent_words(counts, 3)


def test_labels_stand_where_the_words_stood(tmp_path: Path) -> None:
    store = numbered([["a", "rare", "b"], ["rare"], ["b", "b", "a"]], ["b", "a"], tmp_path / "labels")
    assert [list(store[i]) for i in range(len(store))] == [[1, 0], [0, 0, 1]]
    with pytest.raises(DataError, match="no line of this text has two frequent words"):
        numbered([["a"], ["b"]], ["b", "a"], tmp_path / "few")
    with pytest.raises(DataError, match=r"gone: the labels of the text could not be written .*; free some disk space"):
        numbered([["a", "b"]], ["b", "a"], tmp_path / "gone" / "labels")
