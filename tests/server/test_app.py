"""The whole application, without processes: methods, origins, and one form of error."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from dragoman.server.app import create_app
from dragoman.server.pool import WorkerPool
from dragoman.server.settings import ServerSettings
from tests.server.v1.fake import FakeBackend

PREFLIGHT = {"Access-Control-Request-Method": "POST"}


def ask(method: str, path: str, headers: dict[str, str] | None = None, **settings: Any) -> httpx.Response:
    return send(application(ServerSettings(**settings)), method, path, headers=headers)


@cache
def application(settings: ServerSettings) -> FastAPI:
    """Kept for the tests that want the same: an application takes long to build."""
    return create_app(FakeBackend(), settings)


def send(app: FastAPI, method: str, path: str, address: str = "127.0.0.1", **given: Any) -> httpx.Response:
    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **given)

    return asyncio.run(sent())


@pytest.mark.parametrize("path", ["/health", "/languages", "/v1/models", "/", "/docs", "/openapi.json"])
def test_head_has_the_headers_of_get(path: str) -> None:
    found, expected = ask("HEAD", path), ask("GET", path)
    assert found.status_code == expected.status_code == 200
    assert found.headers == expected.headers


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/<script>", 404, "there is no /<script>"),
        ("GET", "/%00%ff", 404, "there is no /\x00\ufffd"),
        ("OPTIONS", "/translate", 405, "/translate does not take OPTIONS"),
        ("PUT", "/health", 405, "/health does not take PUT"),
    ],
)
def test_errors_are_json(method: str, path: str, status: int, message: str) -> None:
    answer = ask(method, path)
    assert (answer.status_code, answer.json()) == (status, {"error": message})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_origins() -> None:
    ours, theirs = ({**PREFLIGHT, "Origin": f"https://{name}.example"} for name in ("ours", "theirs"))
    assert ask("OPTIONS", "/translate", ours, cors=("https://ours.example",)).status_code == 200
    refused = ask("OPTIONS", "/translate", theirs, cors=("https://ours.example",))
    assert (refused.status_code, refused.json()) == (400, {"error": "Disallowed CORS origin"})
    assert "access-control-allow-origin" not in ask("GET", "/health", ours).headers, "off unless named"


LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"


@pytest.mark.parametrize(
    ("host", "bound", "allowed", "status"),
    [
        ("localhost:5000", LOOPBACK, (), 200),
        ("LOCALHOST.:5000", LOOPBACK, (), 200),
        ("me.localhost", LOOPBACK, (), 200),
        ("127.0.0.1:5000", LOOPBACK, (), 200),
        ("[::1]:5000", LOOPBACK, (), 200),
        ("evil.example", LOOPBACK, (), 403),  # its name leads to this machine
        ("localhost.evil.example", LOOPBACK, (), 403),
        ("10.0.0.5", LOOPBACK, (), 403),
        ("[::1", LOOPBACK, (), 200),
        ("[", LOOPBACK, (), 403),
        ("", LOOPBACK, (), 403),
        ("ours.example", LOOPBACK, ("ours.example",), 200),
        ("a.ours.example", LOOPBACK, ("ours.example",), 403),
        ("a.ours.example:80", LOOPBACK, (".OURS.example",), 200),
        ("evilours.example", LOOPBACK, (".ours.example",), 403),
        ("evil.example", LOOPBACK, ("*",), 200),
        ("mine.example", "mine.example", (), 200),
        ("10.0.0.5:5000", EVERYWHERE, (), 200),
        ("[fe80::1]:5000", "::", (), 200),
        ("translator:5000", EVERYWHERE, (), 200),  # a service beside other containers
        ("evil.example", EVERYWHERE, (), 403),
    ],
)
def test_names_of_the_server(host: str, bound: str, allowed: tuple[str, ...], status: int) -> None:
    answer = ask("GET", "/health", {"Host": host}, host=bound, allowed_hosts=allowed)
    assert answer.status_code == status
    if status == 403:
        assert "--allowed-hosts" in answer.json()["error"]
        assert "evil" not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 400),  # no browser; the request itself has no text
        ({"Origin": "http://localhost"}, 400),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"}, 400),
        ({"Sec-Fetch-Site": "none"}, 400),
        ({"Origin": "https://ours.example", "Sec-Fetch-Site": "cross-site"}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/suggest", "/translate", "/v1/predict"])
def test_pages_of_other_sites_cannot_post(path: str, headers: dict[str, str], status: int) -> None:
    """A form that a page of another site sends, which no preflight precedes."""
    headers = {
        **headers,
        "Content-Type": "text/plain" if path == "/v1/predict" else "application/x-www-form-urlencoded",
    }
    answer = ask("POST", path, headers, cors=("https://ours.example",))
    if path == "/suggest" and status == 400:
        assert answer.json()["error"] == "Suggestions are disabled on this server."
    else:
        assert answer.status_code == status, answer.text
        assert ("other sites" in answer.json()["error"]) == (status == 403)


@pytest.mark.parametrize("path", ["/translate", "/v1/detect", "/v1/models/writer", "/metrics"])
def test_wrong_keys_count_against_their_address_alone(path: str) -> None:
    settings = ServerSettings(keys=frozenset(["right"]), metrics=True, metrics_token="right")
    app, method = create_app(FakeBackend(), settings), "GET" if path in ("/metrics", "/v1/models/writer") else "POST"

    def status(key: str | None, address: str) -> int:
        given = {"headers": {} if key is None else {"Authorization": f"Bearer {key}"}}
        body = {"q": "a", "source": "en", "target": "es"} if path == "/translate" else {"text": "a"}
        return send(app, method, path, address, **given, json=body if method == "POST" else None).status_code

    refused = [status("wrong", "1.1.1.1") for _ in range(12)]
    assert refused == ([401] if path == "/metrics" else [403]) * 10 + [429] * 2
    assert status("right", "1.1.1.1") == 429  # or guessing would go on
    assert status("right", "2.2.2.2") == 200
    assert send(app, "GET", "/health", "1.1.1.1").status_code == 200


def test_wrong_keys_that_come_together_are_all_counted() -> None:
    """All of them are let in before the first one is found to be wrong; the address waits the longer afterwards."""
    app = create_app(FakeBackend(), ServerSettings(keys=frozenset(["right"])))

    async def guess() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            guesses = (client.post("/detect", json={"q": "a", "api_key": f"{number}"}) for number in range(100))
            return [*await asyncio.gather(*guesses), await client.post("/detect", json={"q": "a", "api_key": "right"})]

    *guesses, after = asyncio.run(guess())
    assert {answer.status_code for answer in guesses} == {403}
    assert after.status_code == 429
    assert int(after.headers["retry-after"]) > 500


@pytest.mark.parametrize("path", ["/languages", "/v1/models", "/frontend/settings", "/readyz", "/health"])
def test_while_models_load_the_answer_is_503(path: str) -> None:
    app = create_app(WorkerPool({}, ServerSettings(), {}), ServerSettings())
    answer = send(app, "GET", path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert send(app, "GET", "/livez").status_code == 200
