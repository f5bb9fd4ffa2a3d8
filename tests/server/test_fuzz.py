"""A server that runs as its users run it takes whatever a stranger sends, and stays well."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.server.fuzzing import Message, send
from tests.server.hostile import LARGE, large_message, messages
from tests.server.hostile.http import POST, RAW, request
from tests.server.serving import Served, served
from tests.tasks import models
from tests.waiting import LONGEST, wait_for

PEAK = 700  # megabytes that a process may need for a while, for requests of at most 8
LONG, DOCUMENTS = "red house red house. " * 2000, 10  # take a worker some seconds together


@pytest.fixture(scope="module")
def server(own_cache: None) -> Iterator[Served]:
    with served(models.taught(), "--languages", "en,es") as found:
        yield found
        assert found.translate("red house").status_code == 200
        peaks = [_peak(pid) for pid in (found.process.pid, *found.workers())]
        assert max(peaks) < PEAK, peaks
        assert "Traceback" not in found.log()
        assert " in a request" not in found.log(), "a bug of the front process"
        assert " in a job" not in found.log(), "a bug of a worker"


@pytest.fixture(scope="module")
def address(server: Served) -> tuple[str, int]:
    host, port = server.url.removeprefix("http://").split(":")
    return host, int(port)


def _peak(pid: int) -> int:
    """The most memory that a process ever had, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


@settings(
    max_examples=180,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
@given(message=messages())
def test_strangers(address: tuple[str, int], message: Message) -> None:
    outcome = send(address, message)
    assert outcome.problem is None, str(outcome)


@pytest.mark.parametrize("number", range(len(RAW)))
def test_what_is_hardly_http(address: tuple[str, int], number: int) -> None:
    outcome = send(address, Message("raw", RAW[number], complete=False))
    assert outcome.problem is None, str(outcome)


@pytest.mark.parametrize("number", range(3 * len(LARGE)))
def test_megabytes(address: tuple[str, int], number: int) -> None:
    outcome = send(address, large_message(number))
    assert outcome.problem is None, str(outcome)
    assert outcome.status in ((400, 413) if number >= len(LARGE) else (200, 400))


def test_a_smuggled_request_is_not_answered(address: tuple[str, int]) -> None:
    """Of two lengths a proxy may believe the other one: then the rest would be the next stranger's request."""
    rest = b"GET /languages HTTP/1.1\r\nHost: localhost\r\n\r\n"
    raw = POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + rest
    with socket.create_connection(address, LONGEST) as connection:
        connection.sendall(raw)
        answer = b"".join(iter(lambda: connection.recv(2**16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_clients_that_leave_take_their_documents_along(server: Served, address: tuple[str, int]) -> None:
    """The worker does not go on with what nobody waits for."""
    (worker,) = server.workers()
    began = _processor_seconds(worker)
    assert server.translate(LONG, alternatives=3).status_code == 200
    one = _processor_seconds(worker) - began
    body = json.dumps({"q": LONG, "source": "en", "target": "es", "alternatives": 3}).encode()
    connections = [socket.create_connection(address) for _ in range(DOCUMENTS)]
    for connection in connections:
        connection.sendall(request("/translate", body))
    wait_for(lambda: _waiting(server) == DOCUMENTS)
    began = _processor_seconds(worker)
    for connection in connections:
        connection.close()
    wait_for(lambda: _waiting(server) == 0)
    wait_for(lambda: _idle(worker))
    assert _processor_seconds(worker) - began < one * DOCUMENTS / 2


def _idle(pid: int) -> bool:
    before = _processor_seconds(pid)
    time.sleep(0.3)
    return _processor_seconds(pid) - before < 0.02


def _waiting(server: Served) -> int:
    return int(server.client.get("/health").json()["waiting"])


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
