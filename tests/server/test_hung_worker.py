"""A worker that hangs in a job is killed and replaced; one that is only slow is left alone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dragoman.server import pool, process
from dragoman.server.errors import Unavailable
from dragoman.server.pool import WorkerPool
from dragoman.server.settings import ServerSettings

WORKER = """#!{python}
import os, sys, time
from pathlib import Path
from dragoman.server.frames import Unpacker, pack

started = Path({started!r})
with started.open("a") as file:
    file.write("x")
first, unpacker = len(started.read_text()) == 1, Unpacker()


def send(message):
    os.write(1, pack(message))


send({{"ready": {{"models": [], "problems": []}}}})
while data := os.read(0, 1 << 16):
    for message in unpacker.feed(data):
        if first and {hangs}:
            time.sleep(60)
        if "cancel" in message:
            send({{"cancelled": message["cancel"]}})
        elif not first or not {slow}:
            send({{"id": message["id"], "result": {{"number": len(started.read_text())}}}})
"""


def pool_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: bool) -> WorkerPool:
    """A pool whose first worker hangs in every job, or is slow: it gives jobs up when it is told, and not before."""
    script, started = tmp_path / "worker", tmp_path / "started"
    script.write_text(WORKER.format(python=sys.executable, started=str(started), hangs=hangs, slow=not hangs))
    script.chmod(0o755)
    monkeypatch.setattr(process.sys, "executable", str(script))
    monkeypatch.setattr(pool, "HANGS", 0.3)
    return WorkerPool({}, ServerSettings(timeout=0.3, workers=1), {})


async def asked_again(workers: WorkerPool, tries: int) -> int | None:
    """The number of the worker that answers after one has let a request wait for too long; None if nobody does."""
    await workers.start()
    workers._infos = [object()]  # type: ignore[list-item]  # it serves something
    try:
        with pytest.raises(Unavailable, match=r"took longer than 0.3 s"):
            await workers.run("predict", "", {})
        for _ in range(tries):
            try:
                return int((await workers.run("predict", "", {}))["number"])
            except Unavailable:
                await asyncio.sleep(0.1)
        return None
    finally:
        await workers.stop()


def test_a_worker_that_hangs_is_killed_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert asyncio.run(asked_again(pool_of(tmp_path, monkeypatch, hangs=True), 100)) == 2
    assert "hangs: it has not given up a job for 0.3 s" in caplog.text


def test_a_slow_worker_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert asyncio.run(asked_again(pool_of(tmp_path, monkeypatch, hangs=False), 3)) is None
    assert "hangs" not in caplog.text
    assert (tmp_path / "started").read_text() == "x"
