"""Python packages for LibreTranslate, unchanged, against a live server."""

from __future__ import annotations

import urllib.error

import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI

from tests.server.libretranslate.conftest import KEY
from tests.waiting import LONGEST


def test_libretranslatepy_translates_detects_and_lists(port: int) -> None:
    api = LibreTranslateAPI(f"http://127.0.0.1:{port}/")
    assert api.translate("¿Qué? & 100 % «sí»", "es", "en", timeout=LONGEST) == "¿Qué? & 100 % «sí»>en"
    assert api.detect("hola la planta", timeout=LONGEST) == [{"confidence": 100.0, "language": "es"}]
    assert api.languages(timeout=LONGEST)[0] == {"code": "en", "name": "English", "targets": ["en", "es"]}


def test_libretranslatepy_sends_its_key(locked_port: int) -> None:
    address = f"http://127.0.0.1:{locked_port}/"
    assert LibreTranslateAPI(address, api_key=KEY).translate("Hello", timeout=LONGEST) == "Hello>es"
    with pytest.raises(urllib.error.HTTPError) as missing:
        LibreTranslateAPI(address).translate("Hello", timeout=LONGEST)
    assert missing.value.code == 400
    missing.value.close()
    with pytest.raises(urllib.error.HTTPError) as wrong:
        LibreTranslateAPI(address, api_key="wrong").detect("Hello", timeout=LONGEST)
    assert wrong.value.code == 403
    wrong.value.close()


def test_deep_translator_translates_with_a_query_string(port: int) -> None:
    translator = LibreTranslator("en", "es", api_key="any", custom_url=f"http://127.0.0.1:{port}/")
    assert translator.translate("50 % & more? #1 +ñ") == "50 % & more? #1 +ñ>es"
    assert translator.translate_batch(["One", "Two"]) == ["One>es", "Two>es"]


def test_deep_translator_tells_a_wrong_key_from_other_errors(port: int, locked_port: int) -> None:
    locked = LibreTranslator("en", "es", api_key="wrong", custom_url=f"http://127.0.0.1:{locked_port}/")
    with pytest.raises(AuthorizationException):
        locked.translate("Hello")
    unserved = LibreTranslator("en", "fr", api_key="any", custom_url=f"http://127.0.0.1:{port}/")
    with pytest.raises(ServerException):
        unserved.translate("Hello")
