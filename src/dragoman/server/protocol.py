"""Connections within limits: not too many, and none that stays silent or does not read."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOOKS = 4  # at a connection in the time that it may be silent
LINGER = 2.0  # seconds that the rest of a refused request is read: an early close would take back the answer
HEAD = 64 * 2**10  # bytes of the headers of a request
CHUNKS = 10_000  # of the body of a request; a chunk of a byte costs as much as one of a megabyte
TOGETHER = 64 * 2**10  # bytes of an answer that are sent at a time
NOT_HTTP = "the request is not valid HTTP/1.1, its head is too long, or its body is in too many chunks"
TOO_MANY = "the server has too many connections; try again in a moment"


class LimitedConnection(h11.Connection):
    """HTTP as h11 reads it, within limits."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD)
        self._chunks = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > CHUNKS:
                raise h11.RemoteProtocolError("too many chunks")
        return event


class Joined:
    """A transport that sends together what is written in one turn of the event loop: head and body of an answer.

    Each part that is sent wakes the client up, which takes longer than the rest of sending it.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._ended:  # an application that has not heard yet that its request was refused
            return
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > TOGETHER:
            self._flush()

    def _flush(self) -> None:
        if self._size and not self._transport.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts, self._size = [], 0

    def write_eof(self) -> None:
        self._flush()
        self._ended = True
        self._transport.write_eof()

    def close(self) -> None:
        self._flush()
        self._transport.close()


class LimitedProtocol(H11Protocol):
    """HTTP over connections that are not too many, none of them silent or deaf.

    most  connections at a time
    slow  seconds in which the headers of a request must arrive, and in which a client must read something of its
          answer; uvicorn itself would wait for ever
    """

    most: ClassVar[int]
    slow: ClassVar[float]
    _timer: asyncio.TimerHandle | None = None
    _silent: float | None = None  # since when the headers of a request are awaited
    _unsent, _moved = 0, 0.0  # bytes that the client has not taken, and when that was right or became less
    _refused = False

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn = LimitedConnection()

    def connection_made(self, transport: Any) -> None:
        joined: Any = Joined(transport, self.loop)
        super().connection_made(joined)
        self._silent = self._moved = self.loop.time()
        self._timer = self.loop.call_later(self.slow / LOOKS, self._look)
        if len(self.connections) > self.most:
            self.connections.discard(self)
            self._refuse(503, TOO_MANY, "Retry-After: 1\r\n")

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        self._note_silence()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_silence()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._refuse(400, NOT_HTTP)
        else:  # in the middle of an answer, or after it
            self.transport.close()

    def _refuse(self, status: int, message: str, headers: str = "") -> None:
        self._refused = True
        self.transport.write(_answer(status, message, headers))
        with suppress(OSError):  # the client has gone
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.abort)

    def _note_silence(self) -> None:
        """Run the clock while headers are awaited."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._silent = None
        elif self._silent is None:
            self._silent = self.loop.time()

    def _look(self) -> None:
        """Close a connection that is silent; end one that does not take its answer."""
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._moved = now
        self._unsent = unsent
        if now - self._moved > self.slow:
            self.transport.abort()
        elif self._silent is not None and now - self._silent > self.slow:
            self.transport.close()
        self._timer = self.loop.call_later(self.slow / LOOKS, self._look)


def limited_protocol(connections: int, slow: float) -> type[H11Protocol]:
    """The protocol of a server with so many connections at a time: uvicorn makes one object for each."""
    return type("ServerProtocol", (LimitedProtocol,), {"most": connections, "slow": slow})


def _answer(status: int, message: str, headers: str) -> bytes:
    body = json.dumps({"error": message}).encode()
    reason = {400: "Bad Request", 503: "Service Unavailable"}[status]
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{headers}X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n".encode() + body
