"""Requests of clients that are not Python, as they go over the wire; answers read as each client reads them."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGEST

PATH = Path(__file__).parent / "clients.http"
SENTENCE = "The plant is green."


def _recorded() -> dict[str, str]:
    """Requests by their titles."""
    _, *blocks = re.split(r"^### ", PATH.read_text(encoding="utf-8"), flags=re.MULTILINE)
    titled = (block.partition("\n") for block in blocks)
    return {title: request for title, _, request in titled}


def _send(request: str, port: int) -> tuple[int, Any]:
    """Send a request as it stands; status and JSON of the answer."""
    head, _, body = request.rstrip("\n").partition("\n\n")
    multipart = "multipart/form-data" in head
    content = (body.replace("\n", "\r\n") + "\r\n" if multipart else body).encode()
    lines = head.replace("{host}", f"127.0.0.1:{port}").split("\n")
    if content and body:
        lines.append(f"Content-Length: {len(content)}")
    with socket.create_connection(("127.0.0.1", port), timeout=LONGEST) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + (content if body else b""))
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())


def _codes(answer: Any) -> bool:
    return [language["code"] for language in answer] == ["en", "de", "es"]


def _mastodon_languages(answer: Any) -> bool:
    targets = {one["code"]: [code for code in one["targets"] if code != one["code"]] for one in answer}
    return targets == {"en": ["es"], "de": ["en", "es"], "es": ["en"]}


READ: dict[str, Callable[[Any], bool]] = {
    "npm libretranslate 1.0.1: languages": _codes,
    "npm libretranslate 1.0.1: translate": lambda a: a["translatedText"] == f"{SENTENCE}>es",
    "npm libretranslate-ts 0.5.12: detect": lambda a: a[0] == {"confidence": 100.0, "language": "en"},
    "npm libretranslate-ts 0.5.12: translate": lambda a: (
        a == {"translatedText": f"{SENTENCE}>es", "alternatives": [f"{SENTENCE}>es1", f"{SENTENCE}>es2"]}
    ),
    "npm libretranslate-ts 0.5.12: an unknown language": lambda a: a == {"error": "zz is not supported"},
    "npm translate 3.1.0": lambda a: not a.get("error") and a["translatedText"] == f"{SENTENCE}>es",
    "Weblate: languages": _codes,
    "Weblate: translate": lambda a: a["translatedText"] == [f"{SENTENCE}>es", "Hello>es"],
    "Mastodon: languages": _mastodon_languages,
    "Mastodon: translate": lambda a: (
        a["translatedText"] == ["<p>The plant is <em>green</em>.</p>>es", "Hello>es"]
        and [one["language"] for one in a["detectedLanguage"]] == ["en", "en"]
    ),
    "Discourse: detect": lambda a: a[0]["language"] == "en",
    "Discourse: translate": lambda a: a["translatedText"] == "<p>The plant is «green».</p>>es",
    "Akkoma: languages": lambda a: (a[0]["code"], a[0]["name"]) == ("en", "English"),
    "Akkoma: translate, language unknown": lambda a: (
        a["detectedLanguage"]["language"] == "en" and a["translatedText"] == "The plant is <b>green</b>.>es"
    ),
    "Akkoma: translate, language known": lambda a: a == {"translatedText": "The plant is <b>green</b>.>es"},
    "Nextcloud (PHP before 7.4): settings, an empty multipart form with GET": lambda a: a["charLimit"] == 100_000,
    "Nextcloud: settings": lambda a: a["language"]["source"]["code"] == "auto",
    "Nextcloud: languages": lambda a: {one["code"]: one["name"] for one in a}["de"] == "German",
    "Nextcloud: detect": lambda a: a[0]["language"] == "en",
    "Nextcloud (PHP before 7.4): detect, an empty multipart form": lambda a: a[0]["language"] == "en",
    "Nextcloud: translate": lambda a: a["translatedText"] == "The plant is «green».\nHello>es",
    "SearXNG": lambda a: (
        a.get("translatedText") == f"{SENTENCE}>es"
        and a.get("alternatives", []) == [f"{SENTENCE}>es{n}" for n in (1, 2, 3)]
    ),
}


@pytest.mark.parametrize("title", READ)
def test_client_understands_the_answer(title: str, port: int) -> None:
    status, answer = _send(_recorded()[title], port)
    assert status == (400 if "unknown language" in title else 200)
    assert READ[title](answer), answer


def test_every_recorded_request_is_read() -> None:
    assert set(_recorded()) == set(READ)
