"""Texts encoded word by word have the labels that the tokenizer gives them."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import word_cache
from dragoman.data.tokenizer import MARK, Kind, Tokenizer, count_words
from dragoman.data.word_cache import WordCache

TEXTS = ["¿Dónde está el libro? It's 3.14, no² ½ x_y!", "No lo sé, pero cuesta 3.50 aquí."] * 5
CACHES = {kind: WordCache(Tokenizer.train(TEXTS, kind)) for kind in get_args(Kind)}
texts = st.text(
    st.characters(exclude_categories=["Cs"], max_codepoint=0x330) | st.sampled_from("  abcn.,"), max_size=80
)


def assert_same(cache: WordCache, some: list[str]) -> None:
    expected = [labels.tolist() for labels in cache.tokenizer.encode(some)]
    assert [labels.tolist() for labels in cache.encode(some)] == expected


@pytest.mark.parametrize("kind", get_args(Kind))
@given(some=st.lists(texts, max_size=5))
def test_labels_are_those_of_the_tokenizer(kind: Kind, some: list[str]) -> None:
    assert_same(CACHES[kind], some)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_every_character_is_found_where_the_tokenizer_finds_it(kind: Kind) -> None:
    places = (f"{c} a{c}b {c}{c}c" for c in map(chr, range(0x3000)))
    assert_same(CACHES[kind], [*places, "a" * 200 + " " + "b" * 64 + "c", "", " ", "\n"])


def test_few_words_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_cache, "MOST", 3)
    cache = WordCache(CACHES["bpe"].tokenizer)
    assert_same(cache, ["el libro está aquí, pero no lo sé"])
    assert len(cache._known) <= 3


@given(some=st.lists(texts, max_size=5))
def test_words_are_counted_as_the_tokenizer_finds_them(some: list[str]) -> None:
    """In the order in which they come, on which ties of a training depend."""
    engine = CACHES["words"].tokenizer.engine
    found = [
        engine.pre_tokenizer.pre_tokenize_str(engine.normalizer.normalize_str(text))  # type: ignore[union-attr]
        for text in some
    ]
    expected = Counter(word for words in found for word, _ in words if word != MARK)
    assert list(count_words(some).items()) == list(expected.items())
