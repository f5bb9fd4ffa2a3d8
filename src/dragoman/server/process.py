"""The front process's side of one worker: jobs go in, results come back, and its death or silence is noticed."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.server.frames import Message, Unpacker, pack
from dragoman.server.pinning import PinnedModels

BEAT = 1.0  # seconds between two looks at a worker, which sends a sign of life as often
SILENT = 6  # looks in a row without a message after which a worker is killed
LOADING = 60  # the same while it loads models: it may compile kernels, and do nothing else meanwhile
DOUBTED = 2  # after which it gets no new jobs if there is another
LATE = 5.0  # seconds after the time limit of a job in which a worker must have given it up
TOGETHER = 2**16  # bytes of messages that go out in one write
log = logging.getLogger("dragoman.server")

Receive = Callable[[Message | None], None]  # takes the messages of a job; None if the worker died


class WorkerDied(Exception):
    """The worker ended before it answered."""


@dataclass(frozen=True)
class Job:
    """A job of a worker: who takes its messages, and when its time is over (on the clock of the event loop)."""

    receive: Receive
    deadline: float


class WorkerProcess(asyncio.SubprocessProtocol):
    """A worker and the jobs it has.

    given    what it is told when it starts
    pinned   the models that it loads
    about    what it said when it was ready: its models and problems with them
    failure  why it cannot work
    """

    def __init__(self, given: Message, pinned: PinnedModels, ended: Callable[[WorkerProcess], None]) -> None:
        self.pinned = pinned
        self._given, self._ended = given, ended
        self._jobs: dict[int, Job] = {}
        self._unwritten: dict[int, Message] = {}  # jobs that wait until the worker has taken others
        self._urgent: list[bytes] = []  # messages that go out before them
        self._cancelled: set[int] = set()  # jobs whose end is not confirmed
        self._full = False  # the worker does not read what was written
        self._closing = False
        self._flushing: asyncio.Handle | None = None
        self._unpacker = Unpacker()
        self._missed = 0  # looks since its last message
        self._process: asyncio.SubprocessTransport | None = None
        self._gone = asyncio.Event()
        self.about: Message | None = None
        self.failure: str | None = None
        self.settled = asyncio.Event()  # it is ready, or failed, or ended

    @property
    def ready(self) -> bool:
        return self.about is not None

    @property
    def silent(self) -> bool:
        """Whether it may be stopped, or dead without being noticed."""
        return self._missed >= DOUBTED

    @property
    def load(self) -> tuple[bool, int]:
        """Whether it is silent, and how many jobs it has: the least of several workers gets the next job."""
        return self.silent, len(self._jobs)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.get_pid()

    async def start(self) -> None:
        models = {name: str(place) for name, place in self.pinned.places.items()}
        command = (sys.executable, "-m", "dragoman.server.worker", json.dumps({"models": models, **self._given}))
        loop = asyncio.get_running_loop()
        self._process, _ = await loop.subprocess_exec(lambda: self, *command, stderr=None)
        loop.call_later(BEAT, self._look)

    # What the event loop calls

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._missed = 0
        for message in self._unpacker.feed(data):
            self._received(message)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._flush_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, and everything that it wrote has been read."""
        self.about = None
        for job in list(self._jobs.values()):
            job.receive(None)
        self._unwritten.clear()
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
        elif message.get("id") in self._jobs:  # nobody waits for a cancelled one; a sign of life has none
            self._jobs[message["id"]].receive(message)

    def _look(self) -> None:
        """Kill a worker that is silent. Looks are counted, not seconds: this process may have been stopped too."""
        if self._gone.is_set():
            return
        self._missed += 1
        if self._missed > (SILENT if self.ready else LOADING):
            self._kill("gives no sign of life")
        else:
            asyncio.get_running_loop().call_later(BEAT, self._look)

    def _kill(self, reason: str) -> None:
        if self._process is not None and not self._gone.is_set():
            log.error("worker %s %s, and is killed", self.pid, reason)
            self._process.kill()

    # What the pool calls

    def send(self, number: int, message: Message, job: Job) -> None:
        """Give it a job; it is written when the worker takes it."""
        self._jobs[number] = job
        self._unwritten[number] = {"id": number, **message}
        self._flush_soon()

    def forget(self, number: int, finished: bool) -> None:
        """Nobody waits for a job any more; one that is not finished is cancelled."""
        job = self._jobs.pop(number)
        if self._unwritten.pop(number, None) is None and not finished and not self._gone.is_set():
            loop = asyncio.get_running_loop()
            self._cancelled.add(number)
            self._urgent.append(pack({"cancel": number}))
            self._flush_soon()
            loop.call_at(max(loop.time(), job.deadline) + LATE, self._kill_if_late, number)

    def _kill_if_late(self, number: int) -> None:
        if number in self._cancelled:
            self._kill(f"hangs: it has not given up a job {LATE:g} s after its time was over")

    def _flush_soon(self) -> None:
        """Write what there is in this turn of the event loop together: each write wakes the worker up."""
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = None
        pipe = None if self._process is None else self._process.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
            return
        self._write(pipe, self._urgent)
        while self._unwritten and not self._full:
            parts = list[bytes]()
            while self._unwritten and sum(map(len, parts)) < TOGETHER:
                parts.append(pack(self._unwritten.pop(next(iter(self._unwritten)))))
            self._write(pipe, parts)
        if self._closing and not self._unwritten:
            pipe.close()

    def _write(self, pipe: asyncio.WriteTransport, parts: list[bytes]) -> None:
        if parts:
            pipe.write(b"".join(parts))
            parts.clear()

    def close(self) -> None:
        """Let it finish what it has, and end."""
        self._closing = True
        self._flush_soon()

    async def stop(self, grace: float) -> None:
        """End it, by force after some seconds."""
        self.close()
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._gone.wait(), grace)
        except TimeoutError:
            self._kill(f"did not end in {grace:g} s")
            await self._gone.wait()
