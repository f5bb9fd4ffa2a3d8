"""What happens to every request before and after its route: limits, headers, log. Plain ASGI, one layer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dragoman.server.errors import BadRequest, ServerError, TooLarge, TooMany, Unavailable, places
from dragoman.server.exchange import Answer, Disconnected, Scope, more, run, understood
from dragoman.server.origins import check_host, check_origin
from dragoman.server.settings import ServerSettings

ADDRESSES = 10_000  # whose requests are counted; the one that was seen longest ago is forgotten
LOGGED = 2_000  # bytes of a request, if they are to be logged
GRACE = 2.0  # seconds in which a job that takes too long is given up with its own message
METHOD = 10  # letters of a method that are logged: a stranger makes them up
DIGITS = 15  # of a length in bytes
WRONG_KEYS = 10  # a minute from one address
WRONG_KEY = "dragoman.wrong_key"  # of a scope: whether the request had one
log = logging.getLogger("dragoman.access")

Observer = Callable[[str, str, int, float], None]


class Limits:
    """Reads a request within its limits, hands it on whole, and adds headers to the answer.

    observe  is told method, route, status and seconds of each answer
    """

    def __init__(self, app: Any, settings: ServerSettings, observe: Observer = lambda *_: None) -> None:
        self._app, self._settings, self._observe = app, settings, observe
        self._buffered = 0
        self._rates, self._guesses = Rates(settings.rate), Rates(WRONG_KEYS)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, scope, headers, body = scope["method"], understood(scope), dict(scope["headers"]), bytearray()
        address = (scope.get("client") or ("",))[0]
        answer, started, unread, buffered = Answer(send, self._settings.slow), time.monotonic(), True, 0
        try:
            check_host(headers, self._settings.host, self._settings.allowed_hosts)
            check_origin(scope["method"], headers, self._settings.cors)
            self._check_rates(scope, address, headers)
            self._check_head(headers)
            async with asyncio.timeout(self._settings.slow):
                while unread:
                    unread = await more(receive, body)
                    self._check_size(len(body), len(body) - buffered)
                    self._buffered += len(body) - buffered
                    buffered = len(body)
            await run(self._app, scope, bytes(body), receive, answer, self._settings.timeout + GRACE)
        except Disconnected:
            pass
        except TimeoutError:
            late = ServerError(f"the request did not arrive within {self._settings.slow:g} s", 408)
            await answer.fail(late, close=True)
        except ServerError as error:
            # Other connections stay open: a client that is still sending would not see the answer.
            await answer.fail(error, close=unread and (error.status == 400 or b"expect" in headers))
        except Exception as bug:
            logging.getLogger("dragoman.server").error("%s in a request\n%s", type(bug).__name__, places(bug))
            await answer.fail(ServerError("internal error; the server's log has more"))
        finally:
            self._buffered -= buffered
            if scope.get(WRONG_KEY):
                self._guesses.count(address)
            self._note(method, scope, answer.status, time.monotonic() - started, body)

    def _check_rates(self, scope: Scope, address: str, headers: dict[bytes, bytes]) -> None:
        """Refuse too many requests that make work (not files of the page, nor probes), and too many wrong keys."""
        if scope["method"] == "POST":
            if wait := self._rates.wait(address):
                raise TooMany(f"Slowdown: {self._settings.rate} per 1 minute", retry_after=wait)
            self._rates.count(address)
        may_have_key = scope["method"] == "POST" or b"authorization" in headers or scope["query_string"]
        if may_have_key and (wait := self._guesses.wait(address)):
            raise TooMany("too many wrong API keys from this address; try again later", retry_after=wait)

    def _check_head(self, headers: dict[bytes, bytes]) -> None:
        """Refuse what can be refused before the body is read."""
        length = headers.get(b"content-length")
        if length is not None and b"transfer-encoding" in headers:  # a proxy before us may believe the other one
            raise BadRequest("a request has Content-Length or Transfer-Encoding, not both")
        if length is not None and length.isdigit():
            self._check_size(int(length) if len(length) <= DIGITS else 10**DIGITS, 0)

    def _check_size(self, size: int, new: int) -> None:
        if size > self._settings.body_bytes:
            raise TooLarge(f"the request has more than {self._settings.body_bytes:,} bytes")
        if self._buffered + new > self._settings.buffered_bytes:
            raise Unavailable("the server is reading too many requests; try again in a moment", retry_after=1)

    def _note(self, method: str, scope: Scope, status: int, seconds: float, body: bytearray) -> None:
        """A line in the log: neither the query nor the body, which hold what people write, unless asked for."""
        route = getattr(scope.get("route"), "path", "other")
        self._observe(method, route, status, seconds)
        said = f" {scope['query_string'] + bytes(body[:LOGGED])!r}" if self._settings.log_text else ""
        log.info("%s %s %d %.0f ms%s", method[:METHOD], route, status, 1000 * seconds, said)


class Rates:
    """Requests of each address: so many a minute, saved up for at most a minute."""

    def __init__(self, rate: int | None) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when that was

    def wait(self, address: str) -> int:
        """Seconds until the address may send its next request; 0: now."""
        if self._rate is None or (left := self._now(address)) >= 1:
            return 0
        return max(1, round((1 - left) * 60 / self._rate))

    def count(self, address: str) -> None:
        """Count a request. Those that came at the same time, before one of them was counted, are waited for too."""
        if self._rate is None:
            return
        left = self._now(address)
        self._left.pop(address, None)
        self._left[address] = (left - 1, time.monotonic())
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)

    def _now(self, address: str) -> float:
        assert self._rate is not None
        left, then = self._left.get(address, (float(self._rate), 0.0))
        return min(self._rate, left + (time.monotonic() - then) * self._rate / 60)
