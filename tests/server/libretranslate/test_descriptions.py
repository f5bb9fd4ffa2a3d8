"""Suggestions, settings for pages, the description of the routes, and metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dragoman.server.libretranslate import suggestions
from tests.server.libretranslate.serving import Client, error_of

SUGGESTION = {"q": "Hello\n«x»", "s": "Hola", "source": "EN", "target": "es"}


def test_suggestions_are_refused_unless_there_is_a_file_for_them(client: Client) -> None:
    answer = client("POST", "/suggest", data=SUGGESTION)
    assert error_of(answer, 403) == "Suggestions are disabled on this server."


def test_suggestions_are_appended_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.jsonl"
    client = Client(suggestions=path)
    assert client("POST", "/suggest", data=SUGGESTION).json() == {"success": True}
    assert client("POST", "/suggest", json=SUGGESTION).json() == {"success": True}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [{k: v for k, v in line.items() if k != "time"} for line in lines] == [{**SUGGESTION, "source": "en"}] * 2
    assert "missing s" in error_of(client("POST", "/suggest", json={**SUGGESTION, "s": ""}), 400)
    assert "zz" in error_of(client("POST", "/suggest", json={**SUGGESTION, "target": "zz"}), 400)
    assert "must be a text" in error_of(client("POST", "/suggest", json={**SUGGESTION, "s": ["Hola"]}), 400)


def test_suggestions_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MOST", 10)
    client = Client(suggestions=tmp_path / "suggestions.jsonl")
    assert client("POST", "/suggest", data=SUGGESTION).status_code == 200
    assert client("POST", "/suggest", data=SUGGESTION).status_code == 503


def test_suggestions_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    answer = Client(suggestions=tmp_path)("POST", "/suggest", data=SUGGESTION)
    assert error_of(answer, 503) == "the suggestion cannot be stored"


def test_settings_of_a_page() -> None:
    assert Client(characters=500, keys=frozenset("k"))("GET", "/frontend/settings").json() == {
        "charLimit": 500,
        "frontendTimeout": 500,
        "apiKeys": True,
        "keyRequired": True,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [".txt", ".html", ".htm"],
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "de", "name": "German"},
        },
    }


def test_a_server_without_translators_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    monkeypatch.setattr(client.backend, "models", list)
    assert client("GET", "/languages").json() == []
    assert client("GET", "/frontend/settings").json()["filesTranslation"] is False
    assert client.error(400, "Hello", "auto") == "es is not supported"


def test_metrics_are_off_unless_asked_for(client: Client) -> None:
    assert client("GET", "/metrics").status_code == 404


def test_metrics_count_texts_and_need_their_token() -> None:
    client = Client(metrics=True, metrics_token="secret")
    client.translate(["Hello", "World!"])
    assert error_of(client("GET", "/metrics"), 401) == "Unauthorized"
    assert error_of(client("GET", "/metrics", headers={"Authorization": "Bearer other"}), 401) == "Unauthorized"
    answer = client("GET", "/metrics", headers={"Authorization": "Bearer secret"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(re.findall(r"^([^#\s]+) (\S+)$", answer.text, flags=re.MULTILINE))
    assert values["dragoman_texts_total"] == "2.0"
    assert values["dragoman_characters_total"] == "11.0"
    assert values["dragoman_workers"] == "2.0"
    assert values['libretranslate_http_request_duration_seconds_count{endpoint="/translate",status="200"}'] == "1.0"
    assert values['libretranslate_http_request_duration_seconds_count{endpoint="/metrics",status="401"}'] == "2.0"
    assert values['libretranslate_http_requests_in_flight{endpoint="/metrics"}'] == "1"
    assert values['libretranslate_http_requests_in_flight{endpoint="/translate"}'] == "0"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/translate", 405), ("POST", "/nowhere", 404)])
def test_routes_that_are_not_there_answer_in_json(method: str, path: str, status: int, client: Client) -> None:
    assert path in error_of(client(method, path), status)
