"""Clients for benchmarks/serving.py: each sends its next request when it has the answer to the last one.

    python benchmarks/serving_load.py PORT CLIENTS SECONDS < requests.json

Standard input is JSON: {"texts": [...], "source": "en", "target": "es"}. A text is a sentence, or a list of them; every
request takes the next one, and after the last the first again. Prints JSON: answers and errors, latencies in
milliseconds. Plain sockets and prepared requests, because the clients run on the same cores as the servers.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

WARM_UP = 1.0  # seconds whose answers are not counted
LAST = 60.0  # seconds in which the last answers must come
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Load:
    """What all clients share: the requests to send, and what came back."""

    def __init__(self, requests: Iterator[bytes], seconds: float) -> None:
        self.requests = requests
        self.began = time.perf_counter() + WARM_UP
        self.until = self.began + seconds
        self.seconds = seconds
        self.times: list[float] = []
        self.answers = self.errors = self.in_time = 0
        self.problems: list[str] = []

    def answered(self, sent: float, problem: str | None) -> None:
        now = time.perf_counter()
        self.answers += 1
        if problem is not None:
            self.errors += 1
            self.problems.append(problem)
            return
        self.in_time += self.began <= now < self.until
        if sent >= self.began:
            self.times.append(now - sent)


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.ended = asyncio.get_running_loop().create_future()
        self.buffer = b""
        self.sent: float | None = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send()

    def _send(self) -> None:
        self.sent = time.perf_counter()
        if self.sent >= self.load.until:
            self.sent = None
            self.transport.close()
        else:
            self.transport.write(next(self.load.requests))

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head) if found else None
        if length is None or len(body) < int(length[1]):
            return
        self.buffer = b""
        assert self.sent is not None
        right = head.startswith(b"HTTP/1.1 200 ") and b'"translatedText"' in body
        self.load.answered(self.sent, None if right else f"{head[:30]!r} {body[:100]!r}")
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.sent is not None:
            self.load.answered(self.sent, f"the connection was closed: {exc}")
        if not self.ended.done():
            self.ended.set_result(None)


def prepared(texts: list[Any], source: str, target: str) -> list[bytes]:
    found = []
    for text in texts:
        body = json.dumps({"q": text, "source": source, "target": target}, ensure_ascii=False).encode()
        head = (
            "POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: serving.py\r\nAccept: application/json\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


async def run(port: int, clients: int, seconds: float, requests: list[bytes]) -> Load:
    load, loop = Load(itertools.cycle(requests), seconds), asyncio.get_running_loop()
    connected = [await loop.create_connection(lambda: Client(load), "127.0.0.1", port) for _ in range(clients)]
    ends = [client.ended for _, client in connected]
    _, silent = await asyncio.wait(ends, timeout=WARM_UP + seconds + LAST)
    load.errors += len(silent)
    load.problems += ["no answer"] * len(silent)
    return load


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main() -> None:
    port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    load = asyncio.run(run(port, clients, seconds, prepared(**json.load(sys.stdin))))
    ordered = sorted(load.times)
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "answers": load.answers,
        "errors": load.errors,
        "problems": load.problems[:5],
        "requests_per_second": load.in_time / load.seconds,
        "client_seconds": used.ru_utime + used.ru_stime,
        **{f"p{share}": 1000 * percentile(ordered, share / 100) for share in (50, 95, 99)},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
