"""Mistakes in a request come back as one sentence that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.v1.fake import NOTHING, Client


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("translate", {}, "'text' is missing"),
        ("translate", {"text": 5}, "'text' must be a text or a list of texts"),
        ("translate", {"text": ["a", None]}, "'text' must be a text or a list of texts"),
        ("translate", {"text": ["a\ud800"]}, "'text' has half a surrogate pair, from a wrong decoding"),
        ("detect", {"text": "a\ud800"}, "'text' has half a surrogate pair, from a wrong decoding"),
        ("translate", {"text": "a", "best": 11}, "'best' must be less than or equal to 10"),
        ("translate", {"text": "a", "best": "3"}, "'best' must be a whole number"),
        ("translate", {"text": "a", "best": True}, "'best' must be a whole number"),
        ("translate", {"text": "a", "best": 3, "beam": 2}, "'beam' must be at least as wide as 'best', 3; got 2"),
        ("translate", {"text": "a", "sample": True, "best": 2}, "sampling gives one translation: leave 'best' out"),
        ("translate", {"text": "a", "format": "pdf"}, "'format' must be 'text' or 'html'"),
        ("translate", {"text": "a", "txet": "b"}, "'txet' is not a field of this request"),
        ("translate", {"text": "a", "\ud800\n" + "x" * 100: 1}, "'?\ufffdxxxx"),
        ("score", {"pairs": [{"source": "a"}]}, "'pairs[0].target' is missing"),
        ("score", {"pairs": []}, "'pairs' must have at least 1 item"),
        ("score", {}, "give either 'pairs', for a translator, or 'texts', for a language model"),
        ("generate", {"stop": ["a"] * 9}, "'stop' must have at most 8 items"),
        ("generate", {"stop": [""]}, "'stop[0]' must have at least 1 character"),
        ("generate", {"temperature": -1}, "'temperature' must be greater than or equal to 0"),
        ("generate", {"top_p": 2.0}, "'top_p' must be less than or equal to 1"),
        ("detect", [], "the body must be a JSON object, sent with Content-Type: application/json"),
        ("detect", NOTHING, "the request has no body; send a JSON object with Content-Type: application/json"),
    ],
)
def test_one_sentence(path: str, given: Any, message: str) -> None:
    client = Client()
    found = client.error(f"/v1/{path}", given)
    assert found.startswith(message)
    assert len(found) < 200
    assert client.backend.asked == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the body is not valid JSON: Expecting property name"),
        (b'{"text": "a", "temperature": NaN}', "'temperature' must be a finite number"),
        (b'{"text": "a", "temperature": 1e999}', "'temperature' must be a finite number"),
        (b"", "the request has no body"),
    ],
)
def test_bodies_that_are_not_json(content: bytes, message: str) -> None:
    given: dict[str, Any] = {"content": content, "headers": {"content-type": "application/json"}}
    answer = Client().request("POST", "/v1/translate", **given)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)


def test_without_a_content_type() -> None:
    answer = Client().request("POST", "/v1/detect", content=b'{"text": "a"}')
    assert answer.status_code == 400
    assert answer.json()["error"] == "the body must be a JSON object, sent with Content-Type: application/json"


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("features", b'{"texts":[' + b"1," * 20_000 + b"1]}", "'texts' has more than 10,000 items"),
        ("translate", b'{"text":' + b"[" * 500 + b"]" * 500 + b"}", "'text' is nested too deeply"),
        ("translate", b'{"text":' + b'{"a":' * 400 + b"1" + b"}" * 401, "'text' is nested too deeply"),
        ("predict", b'{"texts":' + b"[" * 500 + b"]" * 500 + b"}", "'texts' is nested too deeply"),
        ("score", b'{"pairs":[' + b"{}," * 20_000 + b"{}]}", "'pairs' has more than 10,000 items"),
        ("score", b'{"pairs":[' + b'{"a":1,"b":1,"c":1},' * 9_000 + b"{}]}", "'pairs' has too many fields"),
        ("detect", b"{" + b",".join(b'"%d":1' % i for i in range(30_000)) + b"}", "the request has too many fields"),
        ("predict", b'{"series":{"columns":{"x":[' + b"1e999," * 20_000 + b"1]}}}", "'series.columns.x' must have"),
        ("predict", b'{"series":{"columns":{"x":[' + b'"",' * 20_000 + b"1]}}}", "'series.columns.x' must have"),
        ("predict", b'{"series":{"columns":{"x":[1]},"times":[' + b"1," * 20_000 + b"1]}}", "'series.times' must be"),
    ],
)
def test_thousands_of_mistakes_are_one(path: str, content: bytes, message: str) -> None:
    """Validation writes down every mistake: megabytes of wrong items would become gigabytes, so they stop it early."""
    headers = {"content-type": "application/json"}
    answer = Client().request("POST", f"/v1/{path}", content=content, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)
