"""Which language a text is in, and how certain that is."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.builtin import phrases
from dragoman.errors import FileFormatError
from dragoman.text.language_calibration import KNOWN, RIDGE, _logistic_regression, learn_profiles
from dragoman.text.language_id import (
    MOST,
    LanguageProfile,
    count_words,
    identify,
    looks_foreign,
    profiles_from_json,
    profiles_to_json,
    spelled,
)

ENGLISH = [
    "The government announced new measures yesterday.",
    "My neighbour kindly offered to water our tomatoes while we travelled abroad.",
    "Where did you put the keys of the other house?",
    "I would like to know how much this costs.",
    "Nobody believed what he told them about the accident.",
    "We should have left before it started to rain.",
]
SPANISH = [
    "El gobierno anunció ayer nuevas medidas.",
    "Mi vecina se ofreció a regar nuestros tomates mientras viajábamos.",
    "¿Dónde pusiste las llaves de la otra casa?",
    "Me gustaría saber cuánto cuesta esto.",
    "Nadie creyó lo que les contó sobre el accidente.",
    "Deberíamos haber salido antes de que empezara a llover.",
]
STRANGE = [
    "Дети играют в саду, пока их мать готовит ужин.",
    "Dzieci bawią się w ogrodzie, podczas gdy ich matka przygotowuje kolację.",
    "Çocuklar bahçede oynarken anneleri akşam yemeği hazırlıyor.",
    "Les enfants jouent dans le jardin pendant que leur mère prépare le dîner.",
    "子供たちは庭で遊んでいます。",
    "zxqv wkjh qqqq zzzz",
]


@cache
def profiles() -> dict[str, LanguageProfile]:
    """Of a corpus whose few words hardly occur in the sentences above."""
    pairs = phrases()[::7]
    held_out, training = pairs[::10], [pair for i, pair in enumerate(pairs) if i % 10]
    sides = enumerate(("en", "es"))
    texts = {code: ([pair[side] for pair in training], [pair[side] for pair in held_out]) for side, code in sides}
    return learn_profiles(*({code: both[part] for code, both in texts.items()} for part in (0, 1)))


def test_sentences_of_other_words_than_the_corpus_has_are_told() -> None:
    for texts, language in ((ENGLISH, "en"), (SPANISH, "es")):
        found = [identify(text, profiles())[0] for text in texts]
        assert [code for code, _ in found] == [language] * len(texts)
        assert sum(confidence for _, confidence in found) / len(found) > 0.75


def test_sentences_of_the_corpus_are_certain() -> None:
    assert identify("My sister wants to buy a red car.", profiles())[0][1] > 0.99
    assert identify("Mi hermana quiere comprar un coche rojo.", profiles())[0] > ("es", 0.99)


@pytest.mark.parametrize(
    ("text", "language", "told"),
    [
        ("Mi hermana quiere comprar un coche rojo.", "en", (True, "es")),
        ("Mi hermana quiere un coche.", "en", (True, "es")),  # too short to be said to be in none
        ("Mi hermana quiere un coche.", "es", (False, None)),
        ("Mi hermana.", "en", (False, None)),
        (STRANGE[0], "en", (False, None)),
        (f"{STRANGE[0]} {STRANGE[0]}", "en", (True, None)),
    ],
)
def test_a_text_in_another_language_than_a_model_reads_is_told(
    text: str, language: str, told: tuple[bool, str | None]
) -> None:
    assert looks_foreign(text, language, profiles()) == told


@pytest.mark.parametrize("text", STRANGE)
def test_a_text_in_another_language_is_in_none(text: str) -> None:
    assert sum(confidence for _, confidence in identify(text, profiles())) < 0.25


def test_a_word_of_both_languages_is_not_certain() -> None:
    assert identify("no", profiles())[0][1] < 0.95
    assert identify("animal", profiles())[0][1] < 0.95


def test_certainty_is_what_it_says() -> None:
    """Of single words that are told with about p, about p are right: less certain is allowed, more is not."""
    judged = []
    for pair in phrases()[3::70]:
        for side, language in enumerate(("en", "es")):
            for word in pair[side].split():
                if spelled(word):
                    found, confidence = identify(word, profiles())[0]
                    judged.append((confidence, found == language))
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 1.01)):
        inside = [right for confidence, right in judged if low <= confidence < high]
        assert len(inside) > 20
        assert sum(inside) / len(inside) > low - 0.02


@pytest.mark.parametrize(
    "text", ["", "  ", "12.345 %", "!?", "https://example.com/the/house", "<b></b>", "{name} %s", "🎉"]
)
def test_without_a_word_nothing_is_said(text: str) -> None:
    assert identify(text, profiles()) == [("en", 0.0), ("es", 0.0)]
    assert identify("The house.", {}) == []


def test_what_is_no_text_does_not_count() -> None:
    plain, marked = (
        "Mi casa es roja",
        '<a href="the/house/with/the/garden">Mi</a> casa de tom@whatever.com es {thing} roja',
    )
    assert identify(marked, profiles())[0][0] == identify(plain, profiles())[0][0] == "es"


def test_case_and_composition_do_not_matter() -> None:
    assert identify("¿DÓNDE ESTÁ?", profiles()) == identify("¿do\u0301nde esta\u0301?", profiles())


@given(st.text(max_size=80))
@settings(max_examples=80, deadline=None)
def test_any_text_has_probabilities(text: str) -> None:
    found = identify(text, profiles())
    assert {code for code, _ in found} == {"en", "es"}
    assert found[0][1] >= found[1][1] >= 0
    assert sum(confidence for _, confidence in found) <= 1 + 1e-9


def test_a_huge_text_takes_no_longer_than_a_page() -> None:
    assert identify("The house is red. " * 500_000, profiles())[0] > ("en", 0.99)
    assert identify("a" * 5_000_000, profiles())
    assert identify("12 " * 1_000_000 + "house", profiles())[0][1] == 0.0


# Learning


def test_a_profile_is_bounded_whatever_it_reads() -> None:
    texts = (f"{chr(0x4E00 + i % 5000)}{chr(0x4E00 + i * 7 % 4999)} word{chr(97 + i % 26)}" for i in range(200_000))
    words = count_words(texts, 100_000)
    assert words.total() < 60_000
    assert len(LanguageProfile.learn(words).counts) <= MOST


def test_the_probabilities_of_all_next_letters_add_up() -> None:
    """p of every letter that can follow a beginning, of the end of the word, and of unseen letters is 1 together."""
    profile = LanguageProfile.learn(count_words(["the cat sat on the mat", "a cat ate that"]))
    letters = {ngram for ngram in profile.counts if len(ngram) == 1}
    shares, left = profile._shares
    for beginning in ("", " ", " t", "cat", "th"):
        total = 0.0
        for letter in letters:
            probability = 0.0
            for start in range(len(beginning), -1, -1):
                ngram = beginning[start:] + letter
                probability = shares.get(ngram, 0.0) + left.get(ngram[:-1], 1.0) * probability
            total += probability
        unseen = math.prod(left.get(beginning[start:], 1.0) for start in range(len(beginning) + 1))
        assert unseen < 0.5
        assert total + unseen == pytest.approx(1)


def test_few_sentences_and_one_language_are_enough() -> None:
    few = learn_profiles({"en": ENGLISH, "es": SPANISH}, {"en": [], "es": []})
    assert identify("the house", few)[0][0] == "en"
    assert identify("la casa", few)[0][0] == "es"
    alone = learn_profiles({"en": ENGLISH * 10}, {"en": ENGLISH * 5})
    assert identify("Where is the government?", alone)[0][1] > identify("子供たち", alone)[0][1]
    nothing = learn_profiles({"en": ["1 2 3"] * 50, "es": ["4"] * 50}, {"en": ["1"] * 50, "es": ["2"] * 50})
    assert {code for code, _ in identify("house", nothing)} == {"en", "es"}


def test_learning_again_gives_the_same(tmp_path: Path) -> None:
    again = profiles.__wrapped__()
    assert profiles_to_json(again) == profiles_to_json(profiles())


def test_profiles_are_text() -> None:
    text = profiles_to_json(profiles())
    back = profiles_from_json(text)
    assert back == profiles()
    assert [identify(each, back) for each in ENGLISH] == [identify(each, profiles()) for each in ENGLISH]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"en": 3}',
        '{"en": {}}',
        json.dumps({"en": {"temperature": 0, "familiar": [1, 1], "counts": {}}}),
        json.dumps({"en": {"temperature": 1, "familiar": [1], "counts": {}}}),
        json.dumps({"en": {"temperature": 1, "familiar": [1, 1], "counts": {"": 3}}}),
        '{"en": {"temperature": NaN, "familiar": [1, 1], "counts": {}}}',
    ],
)
def test_what_is_no_profile_is_told(text: str) -> None:
    with pytest.raises(FileFormatError, match="profiles of languages cannot be read"):
        profiles_from_json(text)


def test_a_letter_is_predicted_from_the_beginning_of_its_word() -> None:
    """Of words that all begin with "ab", each letter is all but certain, the first one too."""
    profile = LanguageProfile.learn({"ab": 10_000})
    assert profile.log_likelihood(["ab"]) == pytest.approx(0, abs=0.01)


def test_the_certainty_that_is_learned_is_the_likeliest() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 2)), (rng.random(200) < 0.5).astype(float)
    weights = np.full(200, 1 / 200)

    def loss(w: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-(x @ w + KNOWN)))
        return float(-weights @ np.log(np.where(y == 1, p, 1 - p)) + RIDGE / 2 * ((w - (0.3, 0.9)) ** 2).sum())

    found = _logistic_regression(x, y, weights)
    assert all(loss(found) < loss(found + change) for change in 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]))
