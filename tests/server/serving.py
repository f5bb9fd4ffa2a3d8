"""A real server in processes of its own, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.waiting import LONGEST, wait_for

STOP = 10  # seconds until one that does not end is killed


class Served:
    """A running `dragoman serve`."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str], url: str) -> None:
        self.process, self.lines, self.url = process, lines, url
        self.client = httpx.Client(base_url=url, timeout=LONGEST)

    def translate(self, q: Any, **fields: Any) -> httpx.Response:
        return self.client.post("/translate", json={"q": q, "source": "en", "target": "es", **fields})

    def workers(self) -> list[int]:
        """The processes that run models."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                stat = (place / "stat").read_text()
            except OSError:
                continue
            state, parent = stat.rpartition(")")[2].split()[:2]
            if int(parent) == self.process.pid and state != "Z":
                found.append(int(place.name))
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def log(self) -> str:
        return "".join(self.lines)


@contextmanager
def served(*arguments: str | Path, **environment: str) -> Iterator[Served]:
    """Run `dragoman serve` on a free port until it is ready."""
    command = [sys.executable, "-m", "dragoman", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    lines: list[str] = []
    reading = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reading.start()
    try:
        found = Served(process, lines, _address(process, lines))
        with found.client:
            yield found
    finally:
        process.terminate()  # it removes its files
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reading.join(10)
        assert process.stderr is not None
        process.stderr.close()


def _read(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line)


def _address(process: subprocess.Popen[str], lines: list[str]) -> str:
    def place() -> re.Match[str] | None:
        return re.search(r" at (http://\S+)", " ".join("".join(lines).split()))

    wait_for(lambda: place() or process.poll() is not None)
    found = place()
    assert found, f"the server did not start: {''.join(lines)}"
    return found[1]
