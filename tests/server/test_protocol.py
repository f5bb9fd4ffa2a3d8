"""Connections of slow, silent, deaf and too many clients, and what is not HTTP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from dragoman.server.limits import Limits
from dragoman.server.protocol import CHUNKS, limited_protocol
from dragoman.server.settings import ServerSettings

SLOW = 0.6  # seconds that a client may be silent
LARGE = 20 * 2**20  # bytes of an answer that no socket buffers
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"] if scope["path"] == "/" else LARGE * b"x"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(connections: int = 100) -> Iterator[tuple[tuple[str, int], uvicorn.Server]]:
    limits = Limits(app, ServerSettings(slow=SLOW, body_bytes=1000))
    protocol = limited_protocol(connections, SLOW)
    config = uvicorn.Config(limits, http=protocol, ws="none", lifespan="off", log_config=None, access_log=False)
    server, listening = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname(), server
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with serving() as (found, _):
        yield found


def said(address: tuple[str, int], *parts: bytes, pause: float = 0.0) -> bytes:
    """Everything that the server says until it closes the connection."""
    with socket.create_connection(address, 20) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


def error_of(answer: bytes) -> str:
    return str(json.loads(answer.partition(b"\r\n\r\n")[2])["error"])


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no Host
        POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * (CHUNKS + 1),
        b"GET / HTTP/1.1\r\nX: " + b"y" * 5_000_000,
    ],
    ids=["words", "no host", "two lengths", "no chunk", "too many chunks", "long head"],
)
def test_what_is_not_http_is_told_so(address: tuple[str, int], raw: bytes) -> None:
    answer = said(address, raw)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n")
    assert "not valid HTTP" in error_of(answer)


def test_nothing_is_written_after_a_refusal(address: tuple[str, int], caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be read is refused, and then the name of the host, to which the connection no longer listens."""
    head = b"POST / HTTP/1.1\r\nHost: elsewhere.example\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert said(address, head + b"zz\r\n").startswith(b"HTTP/1.1 400 ")
    assert "write_eof" not in caplog.text


def test_a_head_that_trickles_in_is_given_up(address: tuple[str, int]) -> None:
    began = time.monotonic()
    assert said(address, GET[:10]) == b""
    assert SLOW * 0.9 < time.monotonic() - began < 20 * SLOW


def test_a_silent_connection_is_closed(address: tuple[str, int]) -> None:
    assert said(address) == b""


def test_a_large_request_is_refused_while_it_is_sent(address: tuple[str, int]) -> None:
    """The client sends all of it, and then reads: a closed connection would have lost the answer."""
    answer = said(address, POST + b"Content-Length: 9000000\r\n\r\n" + 9_000_000 * b"x")
    assert answer.startswith(b"HTTP/1.1 413 ")
    answer = said(address, POST + b"Content-Length: 9000000\r\nExpect: 100-continue\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_a_body_is_asked_for(address: tuple[str, int]) -> None:
    head = POST + b"Connection: close\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    answer = said(address, head, b"abcd", pause=0.1)
    assert answer.startswith(b"HTTP/1.1 100 ")
    assert answer.endswith(b"\r\n\r\nabcd")


def test_a_body_in_chunks_and_an_absolute_address(address: tuple[str, int]) -> None:
    head = (
        b"POST http://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert said(address, head, b"2\r\nab\r\n", b"2\r\ncd\r\n0\r\n\r\n").endswith(b"\r\n\r\nabcd")


def test_head_is_answered_without_a_body(address: tuple[str, int]) -> None:
    answer = said(address, b"HEAD /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")


def test_a_client_that_does_not_read_is_dropped() -> None:
    with serving() as (address, server), socket.create_connection(address) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        _wait(lambda: len(server.server_state.connections) == 1)
        _wait(lambda: not server.server_state.connections)


def test_a_client_that_reads_slowly_is_not() -> None:
    with serving() as (address, _), socket.create_connection(address, 20) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        read, until = 0, time.monotonic() + 4 * SLOW
        while data := connection.recv(2**20):
            read += len(data)
            time.sleep(SLOW / 8 if time.monotonic() < until else 0)
    assert read > LARGE


def test_too_many_connections() -> None:
    with serving(connections=3) as (address, server):
        silent = [socket.create_connection(address) for _ in range(3)]
        _wait(lambda: len(server.server_state.connections) == 3)
        answer = said(address, GET)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in answer
        assert "too many connections" in error_of(answer)
        for connection in silent:
            connection.close()
        _wait(lambda: not server.server_state.connections)
        assert said(address, GET).startswith(b"HTTP/1.1 200 ")


def _wait(condition: Any, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
