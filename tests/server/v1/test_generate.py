"""A text as it is written, and what happens when nobody reads it any more."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from tests.server.v1.fake import Client, FakeBackend


def events(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n\n")
    return [json.loads(event.removeprefix("data: ")) for event in text[:-2].split("\n\n")]


def test_a_text_is_streamed() -> None:
    client = Client()
    answer = client.post("/v1/generate", {"prompt": "Once", "tokens": 3, "temperature": 0.5, "stop": ["\n"], "seed": 4})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events(answer.text) == [
        {"text": "0 "}, {"text": "1 "}, {"text": "2 "}, {"done": True, "tokens": 3, "reason": "length"},
    ]  # fmt: skip
    assert client.backend.asked == [
        ("generate", "writer", {"prompt": "Once", "tokens": 3, "temperature": 0.5, "stop": ["\n"], "seed": 4})
    ]


def test_or_given_as_a_whole() -> None:
    found = Client().post("/v1/generate", {"tokens": 3, "stream": False}).json()
    assert found == {"model": "writer", "text": "0 1 2 ", "tokens": 3, "reason": "length"}


def test_an_error_before_the_first_part_has_its_status() -> None:
    backend = FakeBackend()
    backend.fail_after = 0
    for stream in (True, False):
        assert Client(backend).error("/v1/generate", {"stream": stream}, 503) == "the worker died"


def test_an_error_in_the_middle_is_the_last_event() -> None:
    backend = FakeBackend()
    backend.fail_after = 2
    found = events(Client(backend).post("/v1/generate", {}).text)
    assert found == [{"text": "0 "}, {"text": "1 "}, {"error": "the worker died"}]


def leave(body: dict[str, Any], how: str) -> FakeBackend:
    """Send a request and leave when the answer begins (or at once): by a message, or by an error on sending."""
    client = Client()
    sent: list[Any] = []

    async def call() -> None:
        left = asyncio.Event()
        messages = iter([{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}])

        async def receive() -> Any:
            for message in messages:
                return message
            if body.get("stream", True):
                await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if len(sent) == 4:
                left.set()
                if how == "error":
                    raise OSError("the connection is closed")
            await asyncio.sleep(0.001)

        headers = [(b"content-type", b"application/json"), (b"host", b"test")]
        version = "2.4" if how == "error" else "2.3"
        scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": version}, "http_version": "1.1"}
        scope |= {"method": "POST", "scheme": "http", "path": "/v1/generate", "raw_path": b"/v1/generate"}
        scope |= {"query_string": b"", "headers": headers, "client": ("1.2.3.4", 5), "server": ("test", 80)}
        scope |= {"root_path": ""}
        try:
            await asyncio.wait_for(client.app(scope, receive, send), 10)
        finally:
            closed.append(client.backend.closed)  # at once, not when the loop ends or garbage is collected

    closed: list[int] = []
    with suppress(ClientDisconnect):
        asyncio.run(call())
    assert closed == [1]
    return client.backend


@pytest.mark.parametrize("how", ["message", "error"])
def test_the_job_stops_when_the_client_leaves(how: str) -> None:
    backend = leave({"tokens": 2000}, how)
    assert 0 < backend.written < 1000


def test_the_job_stops_when_the_client_leaves_before_the_answer() -> None:
    backend = leave({"tokens": 2000, "stream": False}, "message")
    assert backend.written < 10
