"""Tokenizers that keep white space as it is: what a language model writes."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import UNKNOWN
from dragoman.data.tokenizer import Kind, Tokenizer

TEXT = "It was  the best of times,\n\n\tit was the worst of times - no.\n  Áé ñ? It's 3.14!\n"
KINDS = get_args(Kind)
LETTERS = "It wasbe\n\t,.ñ"


def trained(kind: Kind) -> Tokenizer:
    return Tokenizer.train([TEXT * 3], kind, frequent=1, spacing="kept")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_comes_back_with_its_white_space(kind: Kind) -> None:
    tokenizer = trained(kind)
    assert tokenizer.keeps_spacing
    assert tokenizer.decode(tokenizer.encode([TEXT])) == [TEXT]
    assert not tokenizer.unknown_in([TEXT])


@given(st.text(LETTERS, max_size=60))
def test_any_text_over_known_characters_comes_back(text: str) -> None:
    for kind in ("characters", "bpe", "unigram", "wordpiece"):
        tokenizer = known(kind)
        assert tokenizer.decode(tokenizer.encode([text])) == [text]


_KNOWN: dict[str, Tokenizer] = {}


def known(kind: Kind) -> Tokenizer:
    if kind not in _KNOWN:
        _KNOWN[kind] = Tokenizer.train([LETTERS + " " + TEXT], kind, frequent=1, spacing="kept")
    return _KNOWN[kind]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(LETTERS, max_size=60))
def test_a_text_cut_after_a_line_or_before_a_space_has_the_labels_of_its_pieces(kind: Kind, text: str) -> None:
    tokenizer = known(kind)
    whole = tokenizer.encode([text])[0]
    for i, character in enumerate(text):
        if character == " " or (i and text[i - 1] == "\n"):
            pieces = np.concatenate(tokenizer.encode([text[:i], text[i:]]))
            np.testing.assert_array_equal(pieces, whole)


def test_every_kind_of_line_end_is_the_same_label() -> None:
    tokenizer = trained("characters")
    assert tokenizer.decode(tokenizer.encode(["a\r\nb\rt\n"])) == ["a\nb\nt\n"]


def test_characters_are_looked_up_as_the_library_finds_them() -> None:
    tokenizer = trained("characters")
    text = TEXT + "日\u2581\U0001f600e\u0301"
    expected = tokenizer.engine.encode(text, add_special_tokens=False).ids
    found = tokenizer.encode([text])[0]
    np.testing.assert_array_equal(found, expected)
    assert (found == UNKNOWN).sum() >= 2


def test_it_is_the_same_when_loaded(tmp_path: Path) -> None:
    tokenizer = trained("bpe")
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.keeps_spacing
    np.testing.assert_array_equal(loaded.encode([TEXT])[0], tokenizer.encode([TEXT])[0])


def test_other_tokenizers_still_collapse_white_space() -> None:
    tokenizer = Tokenizer.train([TEXT], "characters")
    assert not tokenizer.keeps_spacing
    assert tokenizer.decode(tokenizer.encode([" It  was\n"])) == ["It was"]
