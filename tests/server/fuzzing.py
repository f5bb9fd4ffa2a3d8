"""A client that sends whatever bytes it is given, and says how the server took them."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass

PATIENCE = 300.0  # seconds until an answer; more is a hang
SOON = 0.05  # seconds that a client waits before it stops sending half a request
END = b"\r\n\r\n"  # of a head
HTML = (b"/", b"/docs")  # what is shown in a browser


@dataclass(frozen=True)
class Message:
    """Bytes to send.

    kind      what kind of nonsense it is
    complete  whether it is one whole request of HTTP, which must be answered
    pieces    it is sent in so many
    leave     when to close: "" after the answer, "early" before it, "half" the sending side only
    """

    kind: str
    data: bytes
    complete: bool = True
    pieces: int = 1
    leave: str = ""

    @property
    def target(self) -> bytes:
        return self.data.split(b" ", 2)[1].partition(b"?")[0] if self.data.count(b" ") > 1 else b""


@dataclass(frozen=True)
class Outcome:
    """status is 0 where the connection was closed without an answer, -1 where nothing happened for too long."""

    message: Message
    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def problem(self) -> str | None:
        """What a server must not do, if it did that."""
        if self.status < 0:
            return f"no answer in {PATIENCE:g} s"
        if self.status == 0:
            return "closed without an answer" if self.message.complete and not self.message.leave else None
        if self.status >= 500 and (self.status != 503 or "retry-after" not in self.headers):
            return f"status {self.status}"
        if self.status >= 400 and not self._explained():
            return f"status {self.status} without a message"
        return "HTML" if self._is_html() else None

    def _explained(self) -> bool:
        if self.message.data.startswith(b"HEAD "):
            return True
        try:
            found = json.loads(self.body)
        except ValueError:
            return False
        return list(found) == ["error"] and isinstance(found["error"], str)

    def _is_html(self) -> bool:
        """Whether a browser would show what a stranger wrote."""
        shown = self.headers.get("content-type", "").startswith("text/html")
        safe = self.headers.get("content-security-policy", "").startswith(("sandbox", "default-src 'none'"))
        return shown and not safe and self.message.target not in HTML

    def __str__(self) -> str:
        shown = self.message.data if len(self.message.data) < 2000 else self.message.data[:2000] + b"..."
        return f"{self.problem or self.status} ({self.seconds:.1f} s) after {self.message.kind}: {shown!r}"


def send(address: tuple[str, int], message: Message) -> Outcome:
    """Send a message on a connection of its own, and read one answer."""
    started = time.monotonic()
    with socket.create_connection(address, PATIENCE) as connection:
        try:
            _write(connection, message)
            bodiless = message.data.startswith(b"HEAD ")
            status, headers, body = (0, {}, b"") if message.leave == "early" else _read(connection, bodiless)
        except TimeoutError:
            status, headers, body = -1, {}, b""
        except OSError:  # a reset: the server did not want the rest
            status, headers, body = 0, {}, b""
    return Outcome(message, status, headers, body, time.monotonic() - started)


def _write(connection: socket.socket, message: Message) -> None:
    size = max(1, -(-len(message.data) // message.pieces))
    for start in range(0, len(message.data), size):
        try:
            connection.sendall(message.data[start : start + size])
        except (BrokenPipeError, ConnectionResetError):  # it has answered already
            return
        if message.pieces > 1:
            time.sleep(0.02)
    if message.leave == "half" or not message.complete:
        time.sleep(SOON)
        connection.shutdown(socket.SHUT_WR)


def _read(connection: socket.socket, bodiless: bool) -> tuple[int, dict[str, str], bytes]:
    """The status of an answer, its headers, and its body as far as it is told how long that is."""
    data, head = b"", b""
    while not head or head.startswith(b"HTTP/1.1 100"):
        if END in data:
            head, _, data = data.partition(END)
        elif more := connection.recv(2**16):
            data += more
        else:
            return 0, {}, data
    status, *given = head.split(b"\r\n")
    lines = (line.partition(b":") for line in given)
    headers = {name.decode("latin-1").lower(): value.strip().decode("latin-1") for name, _, value in lines}
    body, length = data, 0 if bodiless else int(headers.get("content-length", 0))
    while len(body) < min(length, 2**20) and (more := connection.recv(2**16)):
        body += more
    return int(status.split()[1]), headers, body[:length]
