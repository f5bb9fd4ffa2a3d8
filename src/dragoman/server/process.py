"""The front process's side of one worker: jobs go in, results come back, and its death is noticed."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

from dragoman.server.frames import Message, Unpacker, pack

log = logging.getLogger("dragoman.server")

Receive = Callable[[Message | None], None]  # takes the messages of a job; None if the worker died


class WorkerDied(Exception):
    """The worker ended before it answered."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """A worker and the jobs it has.

    about    what it said when it was ready: its models and problems with them
    failure  why it cannot work
    silence  seconds in which it must confirm that a job is cancelled; one that does not hangs, and is killed
    """

    def __init__(self, given: Message, ended: Callable[[WorkerProcess], None], silence: float) -> None:
        self._given, self._ended, self._silence = given, ended, silence
        self._cancelled: set[int] = set()  # jobs whose end is not confirmed
        self._jobs: dict[int, Receive] = {}
        self._unpacker = Unpacker()
        self._written: list[bytes] = []  # messages that go out together
        self._process: asyncio.SubprocessTransport | None = None
        self._gone = asyncio.Event()
        self.about: Message | None = None
        self.failure: str | None = None
        self.settled = asyncio.Event()  # it is ready, or failed, or ended

    @property
    def ready(self) -> bool:
        return self.about is not None

    @property
    def load(self) -> int:
        """Jobs that it has."""
        return len(self._jobs)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.get_pid()

    async def start(self) -> None:
        command = (sys.executable, "-m", "dragoman.server.worker", json.dumps(self._given))
        loop = asyncio.get_running_loop()
        self._process, _ = await loop.subprocess_exec(lambda: self, *command, stderr=None)

    # What the event loop calls

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        for message in self._unpacker.feed(data):
            self._received(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, and everything that it wrote has been read."""
        self.about = None
        for receive in list(self._jobs.values()):
            receive(None)
        self.settled.set()
        self._gone.set()
        if self._process is not None:
            self._process.close()
        self._ended(self)

    def _received(self, message: Message) -> None:
        if "ready" in message:
            self.about = message["ready"]
            self.settled.set()
        elif "cancelled" in message:
            self._cancelled.discard(message["cancelled"])
        elif "failed" in message:
            self.failure = message["failed"]
        elif message["id"] in self._jobs:  # nobody waits for a cancelled one
            self._jobs[message["id"]](message)

    # What the pool calls

    def send(self, number: int, kind: str, model: str, payload: Message, receive: Receive) -> None:
        """Give it a job."""
        self._jobs[number] = receive
        self._write({"id": number, "kind": kind, "model": model, "payload": payload})

    def forget(self, number: int, finished: bool) -> None:
        """Nobody waits for a job any more; one that is not finished is cancelled."""
        self._jobs.pop(number, None)
        if not finished and not self._gone.is_set():
            self._cancelled.add(number)
            self._write({"cancel": number})
            asyncio.get_running_loop().call_later(self._silence, self._kill_if_silent, number)

    def _kill_if_silent(self, number: int) -> None:
        if number in self._cancelled and self._process is not None and not self._gone.is_set():
            log.error("worker %s hangs: it has not given up a job for %g s, and is killed", self.pid, self._silence)
            self._process.kill()

    def _write(self, message: Message) -> None:
        """Send a message with all others of this turn of the event loop: each write wakes the worker up."""
        if not self._written:
            asyncio.get_running_loop().call_soon(self._flush)
        self._written.append(pack(message))

    def _flush(self) -> None:
        pipe = self._pipe()
        if pipe is not None and not pipe.is_closing():
            pipe.write(b"".join(self._written))
        self._written.clear()

    def _pipe(self) -> Any:
        return None if self._process is None else self._process.get_pipe_transport(0)

    def close(self) -> None:
        """Let it finish what it has, and end."""
        self._flush()
        if (pipe := self._pipe()) is not None:
            pipe.close()

    async def stop(self, grace: float) -> None:
        """End it, by force after some seconds."""
        self.close()
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._gone.wait(), grace)
        except TimeoutError:
            log.warning("worker %s did not end in %g s and is killed", self.pid, grace)
            self._process.kill()
            await self._gone.wait()
