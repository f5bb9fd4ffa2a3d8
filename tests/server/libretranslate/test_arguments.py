"""Requests in every form that is read, and wrong ones: LibreTranslate's status and words, never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.libretranslate.conftest import KEY
from tests.server.libretranslate.serving import Client, error_of

FIELDS = {"q": "50 % & «ñ»", "source": "en", "target": "es"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=b"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("form", ["json", "data", "files", "params"])
def test_every_form_of_a_request(form: str, client: Client) -> None:
    fields: Any = {name: (None, value) for name, value in FIELDS.items()} if form == "files" else FIELDS
    assert client("POST", "/translate", **{form: fields}).json() == {"translatedText": "50 % & «ñ»>es"}


def test_query_string_and_form_are_merged_and_the_query_wins(client: Client) -> None:
    answer = client("POST", "/translate", params={"q": "Query", "source": "en"}, data={"q": "Form", "target": "es"})
    assert answer.json() == {"translatedText": "Query>es"}


def test_json_by_any_name_and_encoding(client: Client) -> None:
    for kind in ("application/json; charset=utf-8", "application/vnd.api+json", "Application/JSON"):
        answer = client("POST", "/translate", content=json.dumps(FIELDS), headers={"Content-Type": kind})
        assert answer.status_code == 200
    assert client("POST", "/translate", content=json.dumps(FIELDS).encode("utf-16"), headers=JSON).status_code == 200


def test_lines_of_a_form_end_in_a_line_feed(client: Client) -> None:
    answer = client("POST", "/translate", data={**FIELDS, "q": "One\r\nTwo\r"})
    assert answer.json()["translatedText"] == "One\nTwo\n>es"
    assert client.translate("One\r\nTwo").json()["translatedText"] == "One\r\nTwo>es"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": 5}, "Invalid request: q parameter must be a text or a list of texts"),
        ({"q": {"a": 1}}, "Invalid request: q parameter must be a text or a list of texts"),
        ({"q": [["Hello"]]}, "Invalid request: q parameter must be a text or a list of texts"),
        ({"q": ["Hello", None]}, "Invalid request: q parameter must be a text or a list of texts"),
        ({"q": "\ud83d"}, "Invalid request: q parameter has half of a surrogate pair"),
        ({"source": ""}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"source": "ZZ"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"target": "auto"}, "auto is not supported"),
        ({"target": 5}, "5 is not supported"),
        ({"target": ["es"]}, "['es'] is not supported"),
        ({"target": "\udc00"}, "? is not supported"),
        ({"target": "x" * 99}, "x" * 50 + "... is not supported"),
        ({"format": "md"}, "md format is not supported"),
        ({"format": ["text"]}, "['text'] format is not supported"),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": ""}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": [1]}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": "inf"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 4}, "Invalid request: alternatives parameter must be <= 3"),
    ],
)
def test_wrong_values_have_the_words_of_libretranslate(change: dict[str, Any], message: str, client: Client) -> None:
    body = json.dumps({**FIELDS, **change})  # half of a surrogate pair is written \ud83d, as JavaScript does
    assert error_of(client("POST", "/translate", content=body, headers=JSON), 400) == message


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", '"Hello"', "null", "[" * 100_000, '{"q": NaN}', '{"q": "\x01"}', '{"q": ' + "9" * 5000 + "}"],
)
def test_invalid_json(body: str, client: Client) -> None:
    assert error_of(client("POST", "/translate", content=body, headers=JSON), 400) == "Invalid JSON format"


@pytest.mark.parametrize(
    "body",
    [
        b"Hello",
        b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\nHello',
        b"--b\r\nContent-Disposition: form-data\r\n\r\nHello\r\n--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\nHello\r\n' * 101 + b"--b--\r\n",
    ],
    ids=["no boundary", "no end", "no name", "too many fields"],
)
def test_broken_forms(body: bytes, client: Client) -> None:
    answer = client("POST", "/translate", content=body, headers=MULTIPART)
    assert error_of(answer, 400) == "Invalid request: the form cannot be read"


def test_other_content_is_not_read(client: Client) -> None:
    answer = client("POST", "/translate", content=json.dumps(FIELDS), headers={"Content-Type": "text/plain"})
    assert error_of(answer, 400) == "Invalid request: missing q parameter"
    many = "&".join(f"x{n}=1" for n in range(101))
    assert "cannot be read" in error_of(client("POST", "/translate", content=many, headers=FORM), 400)


def test_control_characters_reach_the_model(client: Client) -> None:
    assert client.translate("a\x00b\x1b[31m").json() == {"translatedText": "a\x00b\x1b[31m>es"}


def test_texts_are_limited_in_number_and_in_characters_together() -> None:
    client = Client(characters=10, texts=2)
    assert client.translate(["12345", "1234a"]).status_code == 200
    assert client.error(400, ["12345", "12345a"]) == "Invalid request: request (11) exceeds text limit (10)"
    assert client.error(400, ["a", "b", "c"]) == "Invalid request: request (3) exceeds text limit (2)"
    assert "(11)" in error_of(client("POST", "/detect", json={"q": "a" * 11}), 400)


def test_a_key_in_every_form_that_clients_send() -> None:
    client = Client(keys=frozenset({KEY}))
    for name in ("api_key", "apiKey"):
        assert client.translate(**{name: KEY}).status_code == 200
        assert client("POST", "/translate", params={**FIELDS, name: KEY}).status_code == 200
    bearer = client("POST", "/translate", json=FIELDS, headers={"Authorization": f"Bearer {KEY}"})
    assert bearer.status_code == 200
    for key in (None, ""):
        assert "API key" in client.error(400, api_key=key)
    for key in ("wrong", "\ud800", "ñ"):
        body = json.dumps({**FIELDS, "api_key": key})
        assert error_of(client("POST", "/translate", content=body, headers=JSON), 403) == "Invalid API key"
    assert client("GET", "/languages").status_code == 200


@pytest.mark.parametrize("path", ["/translate", "/detect", "/translate_file", "/suggest"])
def test_nothing_is_done_without_the_key(path: str) -> None:
    client = Client(keys=frozenset({KEY}))
    assert "API key" in error_of(client("POST", path, data=FIELDS), 400)
    assert client.backend.jobs == []


TEXTS = st.text(st.characters(exclude_categories=()))  # with halves of surrogate pairs
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["q", "source", "target", "format", "alternatives", "api_key"]), VALUES))
def test_any_json_is_answered(fields: dict[str, Any]) -> None:
    client = Client()
    for path in ("/translate", "/detect", "/suggest"):
        answer = client("POST", path, content=json.dumps({**FIELDS, **fields}), headers=JSON)
        assert answer.status_code in (200, 400, 403)
        answer.json()


@given(st.binary(max_size=200), st.sampled_from([FORM, MULTIPART, JSON]))
def test_any_bytes_are_answered(body: bytes, headers: dict[str, str]) -> None:
    content = b"--b\r\n" + body if headers is MULTIPART else body
    answer = Client()("POST", "/translate", content=content, headers=headers)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize(
    ("headers", "content"), [(FORM, b"q=" + b"%ff" * 100_000), (JSON, b'{"q":[' + b"[]," * 100_000)]
)
def test_what_is_certainly_too_long_is_not_read(headers: dict[str, str], content: bytes) -> None:
    answer = Client(characters=100)("POST", "/translate", content=content, headers=headers)
    assert error_of(answer, 400) == f"Invalid request: request ({len(content)} bytes) exceeds text limit (100)"


@pytest.mark.parametrize("form", ["json", "data"])
def test_the_longest_way_to_write_a_text_is_not_too_long(form: str) -> None:
    answer = Client(characters=20_000)("POST", "/translate", **{form: {**FIELDS, "q": "😀" * 20_000}})
    assert answer.json() == {"translatedText": "😀" * 20_000}


@pytest.mark.parametrize("name", ["api_key", "apiKey"])
def test_a_key_is_a_text_or_null(client: Client, name: str) -> None:
    """Also where nobody needs one."""
    assert client("POST", "/translate", json={**FIELDS, name: None}).status_code == 200
    answer = client("POST", "/translate", json={**FIELDS, name: ["secret"]})
    assert answer.status_code == 400
    assert answer.json() == {"error": f"Invalid request: {name} parameter must be a text"}
