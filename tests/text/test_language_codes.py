"""Codes of languages as users and files write them."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigurationError
from dragoman.text.language_codes import (
    closest_languages,
    language_code,
    language_codes,
    languages_agree,
    languages_of_extensions,
)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("en", "en"),
        ("EN", "en"),
        (" es ", "es"),
        ("pt-br", "pt-BR"),
        ("PT_BR", "pt-BR"),
        ("zh-hans", "zh-Hans"),
        ("zh_HANT_tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("ast", "ast"),
        ("ca-valencia", "ca-valencia"),
        ("de-1996", "de-1996"),
    ],
)
def test_a_code_is_written_in_one_way(written: str, code: str) -> None:
    assert language_code(written) == code
    assert language_code(code) == code


@pytest.mark.parametrize(
    "written", ["", "e", "english", "en-", "-en", "en--us", "e1", "en us", "en,es", "en-USA", "ñu", "../x"]
)
def test_what_is_no_code_is_told(written: str) -> None:
    with pytest.raises(ConfigurationError, match="is not the code of a language; expected one such as en, pt-BR"):
        language_code(written)


def test_what_a_file_names_may_be_no_code() -> None:
    assert language_codes(("EN-us", "ES")) == ("en-US", "es")
    assert language_codes(("English", "Spanish")) is None
    assert language_codes(("en", "EN")) is None
    assert language_codes(None) is None


def test_extensions_that_are_codes() -> None:
    assert languages_of_extensions("en", "es") == ("en", "es")
    assert languages_of_extensions("en", "pt-br") == ("en", "pt-BR")
    for extensions in (("txt", "txt"), ("src", "tgt"), ("en", "txt"), ("xx", "yy"), ("en", "en"), ("", "")):
        assert languages_of_extensions(*extensions) is None


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ("en", "en_US", True),
        ("EN-us", "en-US", True),
        ("en-US", "en-GB", False),
        ("en", "es", False),
        ("en", "eng", False),
        ("es-ES_tradnl", "es-ES", True),
        ("en-US-x-acme", "en-US", True),
        ("zh-CN", "zh-Hans", True),
        ("zh-Hans", "zh-TW", False),
        ("zh-TW", "zh-Hant-TW", True),
        ("zh", "zh-Hant", True),
        ("sr-Latn", "sr-Cyrl-RS", False),
        ("iw", "he-IL", True),
        ("nb-NO", "no", True),
        ("", "", False),
    ],
)
def test_tags_that_may_mean_the_same(first: str, second: str, agree: bool) -> None:
    assert languages_agree(first, second) is agree
    assert languages_agree(second, first) is agree


@pytest.mark.parametrize(
    ("wanted", "available", "closest"),
    [
        ("en", ["es-ES", "en-US"], ["en-US"]),
        ("EN_us", ["en-GB", "en-US", "en"], ["en-US"]),
        ("en-US", ["en-GB", "en"], ["en"]),
        ("en", ["en-US", "en", "en-GB"], ["en"]),
        ("en", ["en-US", "es", "en_GB"], ["en-US", "en_GB"]),
        ("en-AU", ["en-US", "es"], ["en-US"]),
        ("es-MX", ["es-ES", "es-ES"], ["es-ES"]),
        ("zh", ["zh-Hant", "zh-Hans"], ["zh-Hans"]),
        ("zh", ["zh-Hant"], ["zh-Hant"]),
        ("zh-TW", ["zh-CN", "zh-HK", "zh-Hans"], ["zh-HK"]),
        ("zh-TW", ["zh-CN"], []),
        ("pt-BR", ["es-BR"], []),
        ("en", [], []),
        ("", ["en", ""], []),
    ],
)
def test_the_closest_language(wanted: str, available: list[str], closest: list[str]) -> None:
    assert closest_languages(wanted, available) == closest
