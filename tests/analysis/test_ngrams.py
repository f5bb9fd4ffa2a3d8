"""Models that only count: probabilities that add up to 1, by hand on a small text."""

from __future__ import annotations

import math

import pytest

from dragoman.analysis.ngrams import CharacterNgrams
from dragoman.errors import ConfigurationError, DataError

TEXT = "the cat sat on the mat, and the rat sat on the cat\n" * 3 + "that hat!"


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("context", ["", "t", "the ", "xyz", "on the ca"])
def test_probabilities_add_up_to_1(order: int, context: str) -> None:
    model = CharacterNgrams.count(TEXT, order)
    characters = [*map(chr, model.alphabet), "日"]
    assert sum(model.probabilities(context + c)[-1] for c in characters) == pytest.approx(1)


def test_a_small_text_by_hand() -> None:
    model = CharacterNgrams.count("aab", 2)  # aa, ab: each once; a comes after 1 letter, b after 1
    # order 1: counts of different letters before: a 1, b 1; both once, so D = 1, and only the uniform third is left
    assert model.probabilities("b")[0] == pytest.approx(1 / 3)
    # order 2 after a: 2 bigrams, 2 kinds, D = 1: max(1 - 1, 0) / 2 + 1 * 2 / 2 * 1 / 3
    assert model.probabilities("ab")[1] == pytest.approx(1 / 3)
    model = CharacterNgrams.count("abab" + "abac", 1)  # a 4, b 3, c 1: D = 1 / (1 + 0) = 1
    assert model.probabilities("a")[0] == pytest.approx(3 / 8 + 3 / 8 / 4)
    assert model.probabilities("c")[0] == pytest.approx(3 / 8 / 4)


def test_more_context_predicts_a_known_text_better() -> None:
    bits = [CharacterNgrams.count(TEXT, order).bits("the cat sat on the mat") for order in (1, 2, 3, 5)]
    assert bits == sorted(bits, reverse=True)
    assert bits[-1] < 1 < bits[0] < math.log2(CharacterNgrams.count(TEXT).kinds)


def test_unknown_characters_have_a_probability() -> None:
    assert 0 < CharacterNgrams.count(TEXT).probabilities("日")[0] < 0.1


def test_what_cannot_be_counted() -> None:
    with pytest.raises(DataError, match="no text"):
        CharacterNgrams.count("")
    with pytest.raises(ConfigurationError, match="order 1 to 5"):
        CharacterNgrams.count("a", 6)
