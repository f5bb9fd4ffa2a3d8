"""Codes of languages as users and files write them."""

from __future__ import annotations

import pytest

from dragoman.data.language_codes import language_code, language_codes, languages_of_extensions
from dragoman.errors import ConfigurationError


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
