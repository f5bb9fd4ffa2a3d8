"""The whole application, without processes: methods, origins, and one form of error."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.v1.fake import FakeBackend

PREFLIGHT = {"Access-Control-Request-Method": "POST"}


def ask(method: str, path: str, headers: dict[str, str] | None = None, **settings: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(FakeBackend(), ServerSettings(**settings)))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(send())


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
