"""Send a server what a hostile stranger would, and count what it does.

    python -m benchmarks.fuzz_server --requests 20000 MODEL ...

Serves the models (directories that `dragoman train` wrote; the first translates from en to es) in processes of their
own. Requests come from the strategies of tests/server/hostile.py, many at a time. Every answer must be 2xx, 3xx or 4xx
with a message, or 503 with Retry-After; a connection may be closed without an answer only if it did not carry a whole
request. Now and then megabytes are sent, and afterwards hundreds of connections that say nothing or do not read.
Prints the counts by kind and status, the longest times, and the memory of all processes before and after.

    python -m benchmarks.fuzz_server --attacked 20 MODEL

measures instead how long healthy requests take: for each of the attacks, so many seconds without others and then as
many beside it. The attacks are texts that once held up a worker, sent by clients that leave before they are answered.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.server.fuzzing import Message, Outcome, send
from tests.server.hostile import large_message, messages
from tests.server.hostile.http import request
from tests.server.serving import Served, served

TOGETHER = 8  # requests that are sent at the same time
QUARTERS = 4  # times that the memory is looked at
BATCHES = 40  # between large ones
LARGE = 4  # large requests at the same time
BUGS = ("Traceback", " in a job", " in a request")  # in the log
CLIENTS = 300  # that say nothing, and as many that do not read
HEALTHY, ATTACKERS = 4, 4  # clients
LEAVE = 2.0  # seconds after which an attacker leaves
SENTENCE = "The plant is green and the house is {number}."
INTERFACE = [
    f"{verb} <b>%1$s</b> {{count}} {noun} &amp; [link](http://example.org/{noun}?a=%s)"
    for verb in ("Open", "Delete", "Move", "Copy") for noun in ("file", "item", "page", "user", "team", "note", "task")
]  # fmt: skip
DOCUMENT = "<p>The <b>plant</b> in %s is <i>green</i> and {name} has 3 houses.</p>\n"
ATTACKS: dict[str, dict[str, Any]] = {
    "3 kB of %a%": {"q": 1_000 * "%a%"},
    "300 characters of %a%": {"q": 100 * "%a%"},
    "28 strings of an interface": {"q": INTERFACE, "format": "html"},
    "100 kB of http://a[": {"q": (11_000 * "http://a[")[:99_000]},
    "document of 16 kB": {"q": 16_000 // len(DOCUMENT) * DOCUMENT, "format": "html", "alternatives": 3},
    "sentence of 16 kB": {"q": 3_200 * "word "},
    "16,000 brackets": {"q": 8_000 * "[" + 8_000 * "]", "format": "html"},
    "word of 16 kB": {"q": 16_000 * "a", "alternatives": 3},
    "5,000 digits": {"q": "&#" + 5_000 * "1" + " the plant", "format": "html", "source": "auto"},
}


class Campaign:
    """Counts outcomes, and keeps those that must not be."""

    def __init__(self, server: Served) -> None:
        self.server, self.address = server, _address(server)
        self.counts: dict[str, Counter[int]] = defaultdict(Counter)
        self.longest: dict[str, float] = defaultdict(float)
        self.problems: list[Outcome] = []
        self.threads = ThreadPoolExecutor(TOGETHER)

    @property
    def total(self) -> int:
        return sum(sum(counts.values()) for counts in self.counts.values())

    def send(self, batch: Sequence[Message]) -> None:
        for outcome in self.threads.map(lambda message: send(self.address, message), batch):
            kind = outcome.message.kind
            self.counts[kind][outcome.status] += 1
            self.longest[kind] = max(self.longest[kind], outcome.seconds)
            if outcome.problem:
                self.problems.append(outcome)
                print(str(outcome)[:3000], file=sys.stderr, flush=True)

    def run(self, requests: int, number: int, seconds: float) -> None:
        """Draw and send batches until there are enough, or the time is over."""
        until = time.monotonic() + seconds
        while self.total < requests and time.monotonic() < until:
            self._some(min(BATCHES, -(-(requests - self.total) // TOGETHER)), number)
            number += 1

    def _some(self, batches: int, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=batches, deadline=None, database=None, phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(st.lists(messages(), min_size=TOGETHER, max_size=TOGETHER))
        def draw(batch: list[Message]) -> None:
            self.send(batch)

        draw()
        self.send([large_message(LARGE * number + i) for i in range(LARGE)])

    def crowd(self) -> str:
        """Connections that stay silent, and connections that do not read what they asked for."""
        silent = [socket.create_connection(self.address) for _ in range(CLIENTS)]
        deaf = [_deaf(self.address) for _ in range(CLIENTS)]
        time.sleep(2)
        began = time.monotonic()
        answer = httpx.get(f"{self.server.url}/health", timeout=30)
        took = time.monotonic() - began
        closed = sum(_closed(connection) for connection in silent)
        for connection in (*silent, *deaf):
            connection.close()
        return f"/health answered {answer.status_code} in {took:.2f} s; {closed} of {CLIENTS} silent ones closed"


def _deaf(address: tuple[str, int]) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(address)
    connection.sendall(b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
    return connection


def _closed(connection: socket.socket) -> bool:
    """Wait for the server to close a silent connection."""
    connection.settimeout(40)
    try:
        return connection.recv(1) == b""
    except OSError:
        return False


def attacked(server: Served, seconds: float) -> Iterator[str]:
    """Lines of a table: how long healthy requests take without others, and then beside an attack."""
    _healthy(server, 2.0)
    yield "| beside | answers | errors | p50 ms (quiet) | p99 ms (quiet) | p99 / quiet |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, fields in ATTACKS.items():
        quiet = _healthy(server, seconds)
        ended = threading.Event()
        threads = [threading.Thread(target=_attack, args=(server, fields, ended)) for _ in range(ATTACKERS)]
        for thread in threads:
            thread.start()
        yield _row(name, _healthy(server, seconds), quiet)
        ended.set()
        for thread in threads:
            thread.join()
        while server.client.get("/health").json().get("waiting"):
            time.sleep(0.2)


def _healthy(server: Served, seconds: float) -> list[float]:
    """Seconds of each answer to clients with a sentence at a time; infinite for an error."""
    until = time.monotonic() + seconds

    def client(number: int) -> list[float]:
        times = []
        with closing(HTTPConnection(*_address(server), timeout=120)) as connection:
            while (began := time.monotonic()) < until:
                text = SENTENCE.format(number=number + len(times))
                connection.request("POST", "/translate", _body({"q": text}), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                times.append(time.monotonic() - began if answer.status == 200 else float("inf"))
        return times

    with ThreadPoolExecutor(HEALTHY) as threads:
        return sorted(took for times in threads.map(client, range(HEALTHY)) for took in times)


def _attack(server: Served, fields: dict[str, Any], ended: threading.Event) -> None:
    """Ask again and again, and leave. This takes next to no time of the process that measures."""
    asked = request("/translate", _body(fields), head=b"Connection: close\r\n")
    while not ended.is_set():
        with suppress(OSError), socket.create_connection(_address(server), timeout=LEAVE) as connection:
            connection.sendall(asked)
            while connection.recv(2**16):
                pass


def _body(fields: dict[str, Any]) -> bytes:
    return json.dumps({"source": "en", "target": "es", **fields}).encode()


def _address(server: Served) -> tuple[str, int]:
    host, port = server.url.removeprefix("http://").split(":")
    return host, int(port)


def _row(name: str, times: list[float], quiet: list[float]) -> str:
    shares = (0.5, 0.99)
    beside, before = ([1000 * some[int(share * len(some))] for share in shares] for some in (times, quiet))
    p50, p99 = (f"{after:.1f} ({first:.1f})" for after, first in zip(beside, before, strict=True))
    errors = sum(took == float("inf") for took in times)
    return f"| {name} | {len(times):,} | {errors} | {p50} | {p99} | {beside[1] / before[1]:.1f} |"


def memory(server: Served) -> dict[str, int]:
    """Resident megabytes of the front process and of its workers."""
    found = {"front": _resident(server.process.pid)}
    return found | {f"worker {i}": _resident(pid) for i, pid in enumerate(server.workers(), start=1)}


def _resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def table(campaign: Campaign) -> str:
    statuses = sorted({status for counts in campaign.counts.values() for status in counts})
    lines = ["| kind | requests | " + " | ".join(str(status or "closed") for status in statuses) + " | longest, s |"]
    lines.append("|---|" + "---:|" * (len(statuses) + 2))
    for kind, counts in sorted(campaign.counts.items()):
        numbers = " | ".join(f"{counts[status]:,}" if counts[status] else "" for status in statuses)
        lines.append(f"| {kind} | {sum(counts.values()):,} | {numbers} | {campaign.longest[kind]:.1f} |")
    total: Counter[int] = sum(campaign.counts.values(), Counter())
    numbers = " | ".join(f"{total[status]:,}" for status in statuses)
    lines.append(f"| all | {campaign.total:,} | {numbers} | {max(campaign.longest.values()):.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=15.0, help="after which it ends in any case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--attacked", type=float, metavar="SECONDS", help="measure healthy requests beside attacks")
    given = parser.parse_args()
    languages = ["--languages", f"{given.models[0].resolve().name}=en,es"]
    with served(*given.models, *languages) as server:
        if given.attacked:
            for line in attacked(server, given.attacked):
                print(line, flush=True)
            return
        campaign = Campaign(server)
        campaign.run(min(500, given.requests), given.seed, 60 * given.minutes)  # memory grows at first: caches, pools
        before, began, along = memory(server), time.monotonic(), list[int]()
        for count in range(500, given.requests, max(1, (given.requests - 500) // QUARTERS)):
            campaign.run(count, given.seed + 1_000 * len(along), 60 * given.minutes)
            along.append(sum(memory(server).values()))
        campaign.run(given.requests, given.seed + 1_000_000, 60 * given.minutes)
        print(table(campaign))
        print(f"{campaign.total:,} requests in {(time.monotonic() - began) / 60:.1f} minutes")
        print(f"memory in MB after the first 500: {before}; at the end: {memory(server)}; of all on the way: {along}")
        print(f"{CLIENTS} silent connections and {CLIENTS} that do not read: {campaign.crowd()}")
        answer = server.translate("red house")
        print(f"afterwards /translate answers {answer.status_code} {answer.text}; memory {memory(server)}")
        errors = [
            line for line in server.lines if "Traceback" in line or " in a job" in line or " in a request" in line
        ]
        print(f"problems: {len(campaign.problems)}; errors in the log: {len(errors)} {errors[:3]}")
    sys.exit(bool(campaign.problems or errors or answer.status_code != 200))


if __name__ == "__main__":
    main()
