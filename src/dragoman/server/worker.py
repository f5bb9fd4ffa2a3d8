"""A worker process: loads models, checks them, and answers jobs that arrive on standard input.

    python -m dragoman.server.worker '{"models": {"name": "directory"}, "threads": 2, ...}'

The front process starts it. When its standard input ends, it finishes what it has and exits.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.errors import DragomanError
from dragoman.server.frames import pack, read
from dragoman.server.loading import load_models
from dragoman.server.scheduling import Scheduler

GATHER = 0.002  # seconds that a first request waits for companions; a busy worker does not wait
log = logging.getLogger("dragoman.server")


def main() -> None:
    given = json.loads(sys.argv[1])
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the front process tells when to end
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    warnings.showwarning = lambda message, *_: log.warning("%s", message)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the messages
    send = Sender(out)
    try:
        models, about = load_models({name: Path(place) for name, place in given["models"].items()}, given)
    except DragomanError as error:
        send({"failed": str(error)})
        return
    send({"ready": about})
    serve(Scheduler(models, answers(), send, given["sentences"]), sys.stdin.buffer)


class Sender:
    """Writes messages to the front process; ends this process when nobody reads them."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __call__(self, message: dict[str, Any]) -> None:
        try:
            self._stream.write(pack(message))
            self._stream.flush()
        except BrokenPipeError:
            os._exit(0)


def answers() -> dict[str, Any]:
    """What is done for each kind of job besides translation."""
    from dragoman.server.answers import ANSWERS
    from dragoman.server.detection import detect

    return {**ANSWERS, "detect": detect}


def serve(scheduler: Scheduler, stream: BinaryIO) -> None:
    """Answer jobs until the stream ends."""
    inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_read_all, args=(stream, inbox), daemon=True).start()
    while _receive(inbox, scheduler):
        scheduler.step()
    while scheduler.busy:
        scheduler.step()


def _read_all(stream: BinaryIO, inbox: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    while (message := read(stream)) is not None:
        inbox.put(message)
    inbox.put(None)


def _receive(inbox: queue.SimpleQueue[dict[str, Any] | None], scheduler: Scheduler) -> bool:
    """Accept what has arrived, or wait for it if there is nothing to do. False at the end."""
    for message in _arrived(inbox, wait=not scheduler.busy):
        if message is None:
            return False
        scheduler.add(message)
    return True


def _arrived(inbox: queue.SimpleQueue[dict[str, Any] | None], wait: bool) -> Iterator[dict[str, Any] | None]:
    if wait:
        yield inbox.get()
    until = time.monotonic() + (GATHER if wait else 0)
    while True:
        try:
            yield inbox.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return


if __name__ == "__main__":
    main()
