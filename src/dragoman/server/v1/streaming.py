"""/v1/generate: parts of a text as server-sent events; nobody writes for a client that has left."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from dragoman.server.backend import Payload
from dragoman.server.errors import ServerError

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies must not wait for the end


class EventStream(StreamingResponse):
    """Sends parts as they come. However it ends, the iterator is closed, and so the job is stopped."""

    media_type = "text/event-stream"

    def __init__(self, first: Payload | None, parts: AsyncIterator[Payload]) -> None:
        self._parts = parts
        super().__init__(_events(first, parts), headers=HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await close(self.body_iterator)
            await close(self._parts)


async def event_stream(parts: AsyncIterator[Payload]) -> EventStream:
    """A response that begins when the first part is there, so that a mistake has its own status."""
    try:
        first = await anext(parts, None)
    except BaseException:
        await close(parts)
        raise
    return EventStream(first, parts)


async def _events(first: Payload | None, parts: AsyncIterator[Payload]) -> AsyncIterator[str]:
    if first is None:
        return
    yield _event(first)
    try:
        async for part in parts:
            yield _event(part)
    except ServerError as error:
        yield _event({"error": str(error)})


def _event(part: Payload) -> str:
    return f"data: {json.dumps(part, ensure_ascii=False, allow_nan=False)}\n\n"


async def collect(parts: AsyncIterator[Payload], request: Request) -> Payload | None:
    """All parts as one answer; None if the client has left."""
    text: list[str] = []
    end: Payload = {"tokens": 0, "reason": "end"}
    try:
        async for part in parts:
            if await request.is_disconnected():
                return None
            if part.get("done"):
                end = {name: part[name] for name in ("tokens", "reason")}
            else:
                text.append(part["text"])
    finally:
        await close(parts)
    return {"text": "".join(text), **end}


async def close(parts: Any) -> None:
    """Close an asynchronous iterator that can be closed."""
    aclose = getattr(parts, "aclose", None)
    if aclose is not None:
        await aclose()
