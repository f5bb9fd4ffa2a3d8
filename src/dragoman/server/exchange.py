"""One request and its answer: what is asked for, the application that answers it, and a client that may leave."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from dragoman.server.errors import ServerError, Unavailable

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}
MODELS = b"dragoman-model"  # a header: which models answered, by their digests
_models: ContextVar[dict[str, str] | None] = ContextVar("models", default=None)  # of the request that runs
_ABSOLUTE = re.compile(r"https?://[^/]*", re.IGNORECASE)

Scope = dict[str, Any]


def note_model(name: str, digest: str) -> None:
    """Have the answer to the request that runs name a model that takes part in it."""
    found = _models.get()
    if found is not None:
        found[name] = digest


class Disconnected(Exception):
    """The client has gone before its request was complete, or before it was answered."""


def understood(scope: Scope) -> Scope:
    """A request as routes know it: HEAD is GET (uvicorn leaves the body out), and `GET http://host/path` is a path."""
    absolute = _ABSOLUTE.match(scope["path"])
    path = scope["path"][absolute.end() :] or "/" if absolute else scope["path"]
    return {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"], "path": path}


async def more(receive: Any, body: bytearray) -> bool:
    """Add the next part of a request's body; whether more comes."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body += message.get("body", b"")
    return bool(message.get("more_body", False))


async def run(app: Any, scope: Scope, body: bytes, receive: Any, answer: Answer, seconds: float) -> None:
    """Let an application answer a request. It is cancelled, and with it its jobs, when the client leaves.

    seconds  in which the answer must begin
    """
    gone = asyncio.Event()
    _models.set(answer.models)
    running = asyncio.ensure_future(app(scope, _replayed(body, gone), answer))
    watching = asyncio.ensure_future(_leave(receive, gone))
    try:
        await asyncio.wait({running, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.status and not gone.is_set():  # a stream, which ends when its job does
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
        if answer.complete:  # then the connection also says that it has gone
            await asyncio.wait({running})
    finally:
        late = not running.done() and not gone.is_set()
        for task in (running, watching):
            task.cancel()
        await asyncio.wait({running, watching})
        bug = None if running.cancelled() else running.exception()
    if late:
        raise Unavailable("the request took too long; send less at a time, or try again later", retry_after=5)
    if running.cancelled():
        raise Disconnected
    if bug is not None:
        raise bug


async def _leave(receive: Any, gone: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _replayed(body: bytes, gone: asyncio.Event) -> Any:
    """A `receive` that gives the whole body, and then waits until the client has gone."""
    given = False

    async def replay() -> Any:
        nonlocal given
        if given:
            await gone.wait()
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class Answer:
    """A `send` that adds headers, remembers the status, and gives up on a client that does not read."""

    def __init__(self, send: Any, slow: float) -> None:
        self._send, self._slow = send, slow
        self.status = 0
        self.complete = False
        self.models: dict[str, str] = {}

    async def __call__(self, message: Scope) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((n, v) for n, v in HEADERS.items() if n not in given)]
            if self.models:
                named = ", ".join(f"{quote(name)}={digest}" for name, digest in self.models.items())
                message["headers"].append((MODELS, named.encode()))
        else:
            self.complete = not message.get("more_body", False)
        try:
            async with asyncio.timeout(self._slow):
                await self._send(message)
        except TimeoutError:
            raise Disconnected from None

    async def fail(self, error: ServerError, close: bool = False) -> None:
        """Answer with an error, unless the answer has begun.

        close  also end the connection: what the client sends next could be taken for something else
        """
        if self.status:
            return
        body = json.dumps({"error": str(error)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if close:
            headers.append((b"connection", b"close"))
        if error.retry_after is not None:
            headers.append((b"retry-after", str(error.retry_after).encode()))
        with suppress(Disconnected):  # it does not read the error either
            await self({"type": "http.response.start", "status": error.status, "headers": headers})
            await self({"type": "http.response.body", "body": body})
