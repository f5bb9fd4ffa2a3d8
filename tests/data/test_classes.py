"""Classes and lexicons: what the labels of a corpus are, and which word has which."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.data.classes import Classes
from dragoman.data.lexicon import Lexicon
from dragoman.errors import DataError, FileFormatError


def test_classes_are_in_the_order_of_their_names() -> None:
    found = Classes.learn((name,) for name in ["b", "a", "c", "c", "ñ"])
    assert (found.names, found.counts, found.size) == (("a", "b", "c", "ñ"), (1, 1, 2, 1), 4)
    assert Classes.learn((name,) for name in ["10", "9", "9"]).names == ("9", "10"), "numbers by their value"
    assert [found.index(name) for name in found.names] == [0, 1, 2, 3]
    assert "a" in found
    assert "d" not in found


def test_an_unknown_class() -> None:
    found = Classes.learn([("positive",), ("negative",)])
    with pytest.raises(DataError, match="'postive' is not a class of the training data; did you mean 'positive'"):
        found.index("postive")
    with pytest.raises(DataError, match=r"the classes are negative, positive$"):
        found.index("x")
    with pytest.raises(DataError, match="no training example has a label"):
        Classes.learn([])


def test_classes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "tags-classes.json"
    path.write_text(Classes(("ñ", "b"), (2, 0)).to_json(), encoding="utf-8")
    assert "ñ" in path.read_text(encoding="utf-8")
    assert Classes.load(path) == Classes(("ñ", "b"), (2, 0))
    for bad in (
        "",
        "[]",
        "{}",
        '{"names": [1], "counts": [1], "several": false}',
        '{"names": ["a"], "counts": [], "several": false}',
        '{"names": ["a", "a"], "counts": [1, 1], "several": false}',
        '{"names": [], "counts": [], "several": false}',
        '{"names": ["a"], "counts": [1], "several": 2}',
    ):
        path.write_text(bad, encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"tags-classes.json"):
            Classes.load(path)


def test_the_most_frequent_tag_of_each_word() -> None:
    sentences = [(["a", "a", "a", "b", "c", "d"], ["X", "Y", "Y", "Z", "Z", "X"])]
    found = Lexicon.learn(sentences)
    assert [found.tag(word) for word in "abcd"] == ["Y", "Z", "Z", "X"]
    assert found.tag("never seen") == found.default == "Z", "most words that occur once have it"
    assert ("a" in found, "e" in found, found.size) == (True, False, 4)
    assert Lexicon.learn([(["a", "a"], ["X", "X"])]).default == "X", "no word occurs once"


def test_a_lexicon_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "words-lexicon.json"
    found = Lexicon.learn([(["niño", "b", "a"], ["X", "Y", "X"])])
    path.write_text(found.to_json(), encoding="utf-8")
    assert Lexicon.load(path) == found
    assert Lexicon.load(path).to_json() == found.to_json()
    for bad in ("", "[]", "{}", '{"default": "X", "words": 3}'):
        path.write_text(bad, encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"words-lexicon.json"):
            Lexicon.load(path)
