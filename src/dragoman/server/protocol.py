"""Connections within limits: not too many, and none that stays silent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def limited_protocol(connections: int, slow: float) -> type[H11Protocol]:
    """The HTTP protocol of a server with so many connections at a time.

    slow  seconds in which the headers of a request must arrive; uvicorn itself would wait for ever
    """

    class LimitedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > connections:
                _refuse(transport)
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Run the clock while headers are awaited."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._unwatch()
            elif self._timer is None:
                self._timer = self.loop.call_later(slow, self._give_up)

        def _unwatch(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
                self.transport.close()

    return LimitedProtocol


def _refuse(transport: Any) -> None:
    body = json.dumps({"error": "the server has too many connections; try again in a moment"}).encode()
    head = f"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    transport.write(head.encode() + b"Retry-After: 1\r\nConnection: close\r\n\r\n" + body)
    transport.close()
