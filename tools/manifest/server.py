"""A real `dragoman serve`, and requests that are sent to it byte for byte."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.manifest import commands, values

START, PATIENCE = 240, 60  # seconds until the server is ready; for an answer
UNSTEADY = {"date"}
RANDOM_NAME = re.compile(r"/download_file/[0-9a-f-]+")


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, list[str]()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.port = self._wait()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def _wait(self) -> int:
        until = time.monotonic() + START
        while time.monotonic() < until and self.process.poll() is None:
            if found := re.search(r" at http://\S+?:(\d+)", " ".join("".join(self.lines).split())):
                return int(found[1])
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start: {''.join(self.lines)}")

    def send(self, request: bytes) -> bytes:
        """Everything that comes back until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> dict[str, Any]:
        """Status, headers and body of an answer, without the date."""
        return parsed(self.send(written(method, path, {"Host": f"127.0.0.1:{self.port}", **headers}, body)), self.port)

    def processes(self) -> list[int]:
        """The front process and those that it started."""
        found, waiting = [], [self.process.pid]
        while waiting:
            found.append(waiting.pop())
            task = Path(f"/proc/{found[-1]}/task/{found[-1]}/children")
            waiting += [int(each) for each in task.read_text().split()] if task.exists() else []
        return found


def written(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request; a header of value "" is left out."""
    fields = {"Connection": "close", **({"Content-Length": str(len(body))} if body or method == "POST" else {})}
    lines = [f"{name}: {value}" for name, value in {**fields, **headers}.items() if value]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body


def parsed(answer: bytes, port: int) -> dict[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(": ")[::2] for line in lines]
    headers: dict[str, str] = {}
    for name, value in pairs:
        if name.lower() not in UNSTEADY:
            headers[name.lower()] = ", ".join(filter(None, [headers.get(name.lower()), value]))
    if headers.get("transfer-encoding") == "chunked":
        body = unchunked(body)
    return {"status": status, "headers": headers, "body": content(body, headers, port)}


def unchunked(body: bytes) -> bytes:
    """The chunks one after the other: where they are cut depends on the clock."""
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        found, body = found + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return found


def content(body: bytes, headers: Mapping[str, str], port: int) -> Any:
    text = RANDOM_NAME.sub("/download_file/NAME", body.decode("utf-8", "replace")).replace(f":{port}", ":PORT")
    if headers.get("content-type", "").startswith("application/json"):
        try:
            return values.plain(json.loads(text))
        except ValueError:
            return text
    return values.plain(text)


@contextmanager
def served(*arguments: Any, environment: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a server on a free port until it is ready."""
    command = [*commands.DRAGOMAN, "serve", *map(str, arguments), "--port", "0", "--threads", "1"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, **(environment or {})}
    )
    try:
        yield Served(process)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
