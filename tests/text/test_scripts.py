"""Scripts of letters, and texts in one that a vocabulary was not learnt from."""

from __future__ import annotations

import pytest

from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.text.scripts import Alphabet, script_of

ENGLISH = ["The man sees bread.", "My friend buys the old book quickly.", "Ask jovial wizards, please."] * 20
RUSSIAN = ["Привет, мир!", "Мы видим старый дом и хлеб."]


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("a", "Latin"),
        ("Ñ", "Latin"),
        ("Ａ", "Latin"),
        ("я", "Cyrillic"),
        ("中", "Han"),
        ("ひ", "Hiragana"),
        ("ｶ", "Katakana"),
        ("한", "Hangul"),
        ("ψ", "Greek"),
        ("ع", "Arabic"),
        ("ก", "Thai"),
        ("ᠠ", "Mongolian"),
        ("𐎠", "Old Persian"),
        ("7", None),
        (".", None),
        ("😀", None),
        ("µ", None),
        ("𝐀", None),
        ("\ue000", None),
    ],
)
def test_the_script_of_a_character(character: str, expected: str | None) -> None:
    assert script_of(character) == expected


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words", "characters"])
def test_a_text_in_a_script_that_was_not_learnt(kind: Kind) -> None:
    """Neither special labels nor bytes nor a stray word make a script known."""
    alphabet = Alphabet.of(Tokenizer.train([*ENGLISH, "Это"], kind).learned_pieces())
    assert [alphabet.unseen_script(text) for text in RUSSIAN] == ["Cyrillic", "Cyrillic"]
    assert alphabet.unseen_script("你好，世界") == "Han"
    for text in (ENGLISH[0], "", "3.14!", "😀", "The word мир is bread.", "Bread costs 3 µ"):
        assert alphabet.unseen_script(text) is None, text


def test_two_scripts_that_were_learnt() -> None:
    alphabet = Alphabet.of(Tokenizer.train([*ENGLISH, *RUSSIAN * 20]).learned_pieces())
    assert alphabet.scripts == {"Latin", "Cyrillic"}
    assert not any(map(alphabet.unseen_script, [*ENGLISH, *RUSSIAN]))


def test_a_model_that_has_learnt_no_latin() -> None:
    for kind in ("wordpiece", "bpe"):
        alphabet = Alphabet.of(Tokenizer.train(RUSSIAN * 20, kind).learned_pieces())
        assert alphabet.unseen_script("The man sees bread.") == "Latin"


def test_letters_that_were_not_learnt_though_their_script_was() -> None:
    alphabet = Alphabet.of(Tokenizer.train(["abc cab", "bca"]).learned_pieces())
    assert alphabet.unseen_script("xyz") == "Latin"
    assert alphabet.unseen_script("abcx") is None
    assert alphabet.unseen_script("Go, cab") is None
