"""What happens to every request before and after its route: limits, headers, log. Plain ASGI, one layer."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dragoman.server.errors import ServerError, TooLarge, TooMany, Unavailable
from dragoman.server.settings import ServerSettings

ADDRESSES = 10_000  # whose requests are counted; the one that was seen longest ago is forgotten
LOGGED = 2_000  # bytes of a request, if they are to be logged
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}
log = logging.getLogger("dragoman.access")

Scope = dict[str, Any]
Observer = Callable[[str, str, int, float], None]


class Limits:
    """Reads a request within its limits, hands it on whole, and adds headers to the answer.

    observe  is told method, route, status and seconds of each answer
    """

    def __init__(self, app: Any, settings: ServerSettings, observe: Observer = lambda *_: None) -> None:
        self._app, self._settings, self._observe = app, settings, observe
        self._buffered = 0
        self._rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer, body = Answer(send, self._settings.slow), bytearray()
        started, buffered = time.monotonic(), 0
        try:
            self._rates.check((scope.get("client") or ("",))[0])
            async with asyncio.timeout(self._settings.slow):
                while await _more(receive, body):
                    self._check_size(len(body), len(body) - buffered)
                    self._buffered += len(body) - buffered
                    buffered = len(body)
            self._check_size(len(body), 0)
            await self._app(scope, _replayed(bytes(body), receive), answer)
        except Disconnected:
            return
        except TimeoutError:
            await answer.fail(ServerError(f"the request did not arrive within {self._settings.slow:g} s", 408))
        except ServerError as error:
            await answer.fail(error)
        finally:
            self._buffered -= buffered
            self._note(scope, answer.status, time.monotonic() - started, body)

    def _check_size(self, size: int, new: int) -> None:
        if size > self._settings.body_bytes:
            raise TooLarge(f"the request has more than {self._settings.body_bytes:,} bytes")
        if self._buffered + new > self._settings.buffered_bytes:
            raise Unavailable("the server is reading too many requests; try again in a moment", retry_after=1)

    def _note(self, scope: Scope, status: int, seconds: float, body: bytearray) -> None:
        """A line in the log: neither the query nor the body, which hold what people write, unless asked for."""
        route = getattr(scope.get("route"), "path", "other")
        self._observe(scope["method"], route, status, seconds)
        said = f" {scope['query_string'] + bytes(body[:LOGGED])!r}" if self._settings.log_text else ""
        log.info("%s %s %d %.0f ms%s", scope["method"], route, status, 1000 * seconds, said)


class Disconnected(Exception):
    """The client has gone before its request was complete."""


async def _more(receive: Any, body: bytearray) -> bool:
    """Add the next part of a request's body; whether more comes."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body += message.get("body", b"")
    return bool(message.get("more_body", False))


def _replayed(body: bytes, receive: Any) -> Any:
    """A `receive` that gives the whole body, and then what the connection says."""
    given = False

    async def replay() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class Answer:
    """A `send` that adds headers, remembers the status, and gives up on a client that does not read."""

    def __init__(self, send: Any, slow: float) -> None:
        self._send, self._slow = send, slow
        self.status = 0

    async def __call__(self, message: Scope) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((n, v) for n, v in HEADERS.items() if n not in given)]
        try:
            async with asyncio.timeout(self._slow):
                await self._send(message)
        except TimeoutError:
            raise Disconnected from None

    async def fail(self, error: ServerError) -> None:
        """Answer with an error, unless the answer has begun."""
        if self.status:
            return
        body = json.dumps({"error": str(error)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if error.status in (408, 413):  # the rest of the request is not read
            headers.append((b"connection", b"close"))
        if error.retry_after is not None:
            headers.append((b"retry-after", str(error.retry_after).encode()))
        await self({"type": "http.response.start", "status": error.status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


class Rates:
    """Requests of each address: so many a minute, saved up for at most a minute."""

    def __init__(self, rate: int | None) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when that was

    def check(self, address: str) -> None:
        if self._rate is None:
            return
        now = time.monotonic()
        left, then = self._left.pop(address, (float(self._rate), now))
        left = min(self._rate, left + (now - then) * self._rate / 60)
        self._left[address] = (max(0.0, left - 1), now)
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) * 60 / self._rate))
            raise TooMany(f"Slowdown: {self._rate} per 1 minute", retry_after=wait)
