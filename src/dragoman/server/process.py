"""The front process's side of one worker: jobs go in, results come back, and its death is noticed."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable

from dragoman.server.frames import Message, pack, read_async

log = logging.getLogger("dragoman.server")


class WorkerDied(Exception):
    """The worker ended before it answered."""


class WorkerProcess:
    """A worker and the jobs it has.

    about    what it said when it was ready: its models and problems with them
    failure  why it cannot work
    """

    def __init__(self, given: Message, ended: Callable[[WorkerProcess], None]) -> None:
        self._given, self._ended = given, ended
        self._jobs: dict[int, asyncio.Queue[Message | None]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
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
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        command = (sys.executable, "-m", "dragoman.server.worker", json.dumps(self._given))
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            while (message := await read_async(self._process.stdout)) is not None:
                self._received(message)
        finally:
            await self._process.wait()
            self._end()

    def _received(self, message: Message) -> None:
        if "ready" in message:
            self.about = message["ready"]
            self.settled.set()
        elif "failed" in message:
            self.failure = message["failed"]
        elif message["id"] in self._jobs:  # nobody waits for a cancelled one
            self._jobs[message["id"]].put_nowait(message)

    def _end(self) -> None:
        self.about = None
        for waiting in self._jobs.values():
            waiting.put_nowait(None)
        self.settled.set()
        self._ended(self)

    def send(self, number: int, kind: str, model: str, payload: Message) -> asyncio.Queue[Message | None]:
        """Give it a job; its messages come into the queue, None if it died."""
        waiting: asyncio.Queue[Message | None] = asyncio.Queue()
        self._jobs[number] = waiting
        self._write({"id": number, "kind": kind, "model": model, "payload": payload})
        return waiting

    def forget(self, number: int, finished: bool) -> None:
        """Nobody waits for a job any more; one that is not finished is cancelled."""
        self._jobs.pop(number, None)
        if not finished:
            self._write({"cancel": number})

    def _write(self, message: Message) -> None:
        pipe = None if self._process is None else self._process.stdin
        if pipe is not None and not pipe.is_closing():
            pipe.write(pack(message))

    def close(self) -> None:
        """Let it finish what it has, and end."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def stop(self, grace: float) -> None:
        """End it, by force after some seconds."""
        self.close()
        if self._process is None or self._reading is None:
            return
        try:
            await asyncio.wait_for(asyncio.shield(self._reading), grace)
        except TimeoutError:
            log.warning("worker %s did not end in %g s and is killed", self.pid, grace)
            self._process.kill()
            await self._reading
