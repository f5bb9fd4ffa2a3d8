"""Connections of slow, silent, deaf and too many clients, and what is not HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
import uvicorn

from dragoman.server.limits import Limits
from dragoman.server.protocol import CHUNKS, LOOKS, limited_protocol
from dragoman.server.settings import ServerSettings
from tests.waiting import LONGEST, wait_for

SLOW = 100.0  # seconds that a client may be silent, by the clock of the server
LARGE = 20 * 2**20  # bytes of an answer that no socket buffers
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/hard":
        await asyncio.sleep(2 * SLOW)
    body = LARGE * b"x" if scope["path"] == "/large" else (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class ClockedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test moves on, however fast or slow the machine is."""

    passed = 0.0

    def time(self) -> float:
        return super().time() + self.passed

    def let_pass(self, seconds: float) -> None:
        """Move the clock; timers that are due have run when this returns."""
        for _ in range(4 * LOOKS):
            self.passed += seconds / (4 * LOOKS)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self).result(LONGEST)


class Clocked(NamedTuple):
    """A server with a clock of its own."""

    address: tuple[str, int]
    server: uvicorn.Server
    loop: ClockedLoop

    @property
    def connections(self) -> list[Any]:
        return list(self.server.server_state.connections)

    @property
    def unsent(self) -> int:
        """Bytes of answers that clients have not taken."""
        return sum(connection.transport.get_write_buffer_size() for connection in self.connections)


@contextmanager
def serving(connections: int = 100) -> Iterator[Clocked]:
    limits = Limits(app, ServerSettings(slow=SLOW, timeout=10 * SLOW, body_bytes=1000))
    protocol = limited_protocol(connections, SLOW)
    config = uvicorn.Config(limits, http=protocol, ws="none", lifespan="off", log_config=None, access_log=False)
    server, listening, loop = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0)), ClockedLoop()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)  # an answer leaves bit by bit

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(lambda: server.started)
        yield Clocked(listening.getsockname(), server, loop)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def clocked() -> Iterator[Clocked]:
    with serving() as found:
        yield found


@pytest.fixture
def address(clocked: Clocked) -> tuple[str, int]:
    return clocked.address


def said(address: tuple[str, int], *parts: bytes, until: bytes | None = None) -> bytes:
    """Everything that the server says until it closes the connection, or until an ending."""
    with socket.create_connection(address, LONGEST) as connection:
        for part in parts:
            connection.sendall(part)
        return heard(connection, until)


def heard(connection: socket.socket, until: bytes | None = None) -> bytes:
    answer = b""
    while (until is None or not answer.endswith(until)) and (data := connection.recv(2**16)):
        answer += data
    return answer


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


def test_a_client_that_waits_for_a_hard_answer_is_not_silent(clocked: Clocked) -> None:
    body = b"what takes long"
    with socket.create_connection(clocked.address, 60) as connection:
        connection.sendall(POST.replace(b"/ ", b"/hard ") + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: any(found.cycle is not None for found in clocked.connections))
        clocked.loop.let_pass(2.5 * SLOW)
        answer = b""
        while not answer.endswith(body) and (data := connection.recv(2**16)):
            answer += data
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(body)


def test_nothing_is_written_after_a_refusal() -> None:
    """What cannot be read is refused, and then the name of the host, to which the connection no longer listens."""
    problems = list[Any]()
    with serving() as clocked:
        clocked.loop.set_exception_handler(lambda _, context: problems.append(context))
        head = b"POST / HTTP/1.1\r\nHost: elsewhere.example\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert said(clocked.address, head + b"zz\r\n").startswith(b"HTTP/1.1 400 ")
    gc.collect()  # what went wrong in a task is told when the task goes
    assert not problems


@pytest.mark.parametrize("beginning", [GET[:10], b""], ids=["a head that trickles in", "silence"])
def test_a_request_that_does_not_come_is_given_up(clocked: Clocked, beginning: bytes) -> None:
    before = set(clocked.connections)
    with socket.create_connection(clocked.address, LONGEST) as connection:
        connection.sendall(beginning)
        wait_for(lambda: set(clocked.connections) - before)
        clocked.loop.let_pass(0.9 * SLOW)
        assert set(clocked.connections) - before
        clocked.loop.let_pass(0.5 * SLOW)
        assert connection.recv(2**16) == b""


def test_a_large_request_is_refused_while_it_is_sent(address: tuple[str, int]) -> None:
    """The client sends all of it, and then reads: a closed connection would have lost the answer."""
    answer = said(address, POST + b"Content-Length: 9000000\r\n\r\n" + 9_000_000 * b"x", until=b"}")
    assert answer.startswith(b"HTTP/1.1 413 ")
    answer = said(address, POST + b"Content-Length: 9000000\r\nExpect: 100-continue\r\n\r\n", until=b"}")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_a_body_is_asked_for(address: tuple[str, int]) -> None:
    head = POST + b"Connection: close\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(address, LONGEST) as connection:
        connection.sendall(head)
        assert heard(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"abcd")
        assert heard(connection).endswith(b"\r\n\r\nabcd")


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
    with serving() as clocked, socket.create_connection(clocked.address) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        wait_for(lambda: clocked.unsent)
        clocked.loop.let_pass(2 * SLOW)
        wait_for(lambda: not clocked.connections)


def test_a_client_that_reads_slowly_is_not() -> None:
    """It takes some of the answer each time before it could be given up."""
    with serving() as clocked, socket.socket() as connection:
        connection.settimeout(LONGEST)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        connection.connect(clocked.address)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        wait_for(lambda: clocked.unsent)
        read, left, passed = 0, clocked.unsent, 0.0
        while data := connection.recv(2**16):
            read += len(data)
            if passed < 3 * SLOW and 0 < clocked.unsent < left:
                clocked.loop.let_pass(SLOW / 2)
                left, passed = clocked.unsent, passed + SLOW / 2
    assert read > LARGE
    assert passed >= 3 * SLOW


def test_too_many_connections() -> None:
    with serving(connections=3) as clocked:
        silent = [socket.create_connection(clocked.address) for _ in range(3)]
        wait_for(lambda: len(clocked.connections) == 3)
        answer = said(clocked.address, GET)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in answer
        assert "too many connections" in error_of(answer)
        for connection in silent:
            connection.close()
        wait_for(lambda: not clocked.connections)
        assert said(clocked.address, GET, until=b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
