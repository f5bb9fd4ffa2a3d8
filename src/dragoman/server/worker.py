"""A worker process: loads models, checks them, and answers jobs that arrive on standard input.

    python -m dragoman.server.worker '{"models": {"name": "directory"}, "threads": 2, ...}'

The front process starts it. When its standard input ends, it finishes what it has and exits.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.engines import let_threads_sleep
from dragoman.errors import DragomanError
from dragoman.server.frames import Message, Unpacker, pack
from dragoman.server.loading import load_models
from dragoman.server.scheduling import BATCH, Scheduler

GATHER = 0.005  # seconds at most that a worker waits for more requests
SHARE = 0.25  # of the time that the last step took: waiting longer would cost more than it gains
READ = 2**20  # bytes at a time
BEAT = 0.5  # seconds between two signs of life
log = logging.getLogger("dragoman.server")


def main() -> None:
    given = json.loads(sys.argv[1])
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the front process tells when to end
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    log.setLevel(logging.INFO)
    warnings.showwarning = lambda message, *_: log.warning("%s", message)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the messages
    send = Sender(out)
    threading.Thread(target=send.beat, args=(threading.Event(),), daemon=True).start()
    let_threads_sleep()  # the front process needs the cores too
    try:
        models, about = load_models({name: Path(place) for name, place in given["models"].items()}, given)
    except DragomanError as error:
        send({"failed": str(error)})
        send.flush()
        return
    send({"ready": about})
    send.flush()
    gc.collect()
    gc.freeze()  # searching all modules and models for garbage would take longer than a translation
    serve(Scheduler(models, answers(), send, given["sentences"], send.flush), Inbox(sys.stdin.fileno()))


class Sender:
    """Writes messages to the front process, many at a time; ends this process when nobody reads them."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._messages: list[bytes] = []
        self._lock = threading.Lock()

    def __call__(self, message: Message) -> None:
        self._messages.append(pack(message))

    def flush(self) -> None:
        if self._messages:
            self._write(b"".join(self._messages))
            self._messages.clear()

    def _write(self, data: bytes) -> None:
        with self._lock:
            try:
                self._stream.write(data)
                self._stream.flush()
            except BrokenPipeError:
                os._exit(0)

    def beat(self, ended: threading.Event) -> None:
        """Send signs of life, on a thread of its own: a long piece of work is not silence."""
        while not ended.wait(BEAT):
            self._write(pack({"alive": True}))


def answers() -> dict[str, Any]:
    """What is done for each kind of job besides translation."""
    from dragoman.server.answers import ANSWERS
    from dragoman.server.detection import detect

    return {**ANSWERS, "detect": detect}


def serve(scheduler: Scheduler, inbox: Inbox) -> None:
    """Answer jobs until the inbox ends."""
    took = 0.0
    while not inbox.ended:
        _accept(scheduler, inbox, min(GATHER, took * SHARE))
        if rest := scheduler.rest:
            _take(scheduler, inbox.receive(rest))
        began = time.monotonic()
        scheduler.step()
        took = time.monotonic() - began
    while scheduler.busy:
        time.sleep(scheduler.rest)
        scheduler.step()


class Inbox:
    """Messages of the front process, read between two steps: a thread that reads would take turns with the work."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._unpacker = descriptor, Unpacker()
        self.ended = False

    def receive(self, seconds: float | None) -> list[Message]:
        """What has arrived; if nothing has, wait so long for it, or (None) until it comes."""
        if self.ended or not select.select([self._descriptor], [], [], seconds)[0]:
            return []
        data = os.read(self._descriptor, READ)
        self.ended = not data
        return self._unpacker.feed(data)


def _accept(scheduler: Scheduler, inbox: Inbox, patience: float) -> None:
    """Take what has arrived, and wait for work if there is none.

    Who got an answer often sends the next request at once. One batch of all these sentences costs less than two of
    some of them, so as many sentences as there were before are waited for, but not for long.
    """
    _take(scheduler, inbox.receive(0))
    expected = scheduler.translated + scheduler.waiting
    _gather(scheduler, inbox, expected, patience)
    while not scheduler.busy and not inbox.ended:
        _take(scheduler, inbox.receive(None))
        _gather(scheduler, inbox, expected, patience)


def _gather(scheduler: Scheduler, inbox: Inbox, expected: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while scheduler.waiting < min(BATCH, expected) and not inbox.ended and (left := until - time.monotonic()) > 0:
        _take(scheduler, inbox.receive(left))


def _take(scheduler: Scheduler, messages: Iterable[Message]) -> None:
    for message in messages:
        scheduler.add(message)


if __name__ == "__main__":
    main()
