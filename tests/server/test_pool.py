"""Workers that hang, stop or do not read are noticed and replaced; those that are only slow are left alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.server import process
from dragoman.server.backend import ModelInfo
from dragoman.server.errors import Unavailable
from dragoman.server.pool import WorkerPool
from dragoman.server.settings import ServerSettings

WORKER = """#!{python}
import os, sys, threading, time
from pathlib import Path
from dragoman.server.frames import Unpacker, pack

behaviour, started = {behaviour!r}, Path({started!r})
with started.open("a") as file:
    file.write("x")
number, unpacker = len(started.read_text()), Unpacker()


def send(message):
    os.write(1, pack(message))


def live():
    while True:
        send({{"alive": True}})
        time.sleep(0.02)


send({{"ready": {{"models": [], "problems": [], "unchecked": []}}}})
threading.Thread(target=live, daemon=True).start()
while behaviour == "deaf":
    time.sleep(60)
while data := os.read(0, 1 << 16):
    for message in unpacker.feed(data):
        if number == 1 and behaviour == "hangs":
            time.sleep(60)
        if "cancel" in message:
            send({{"cancelled": message["cancel"]}})
        elif number > 1 or behaviour != "slow":
            send({{"id": message["id"], "result": {{"number": number}}}})
"""


class Pools:
    """Makes pools of one worker, the first of which behaves as it is told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started, self._script, self._monkeypatch = folder / "started", folder / "worker", monkeypatch

    def run(self, behaviour: str, use: Callable[[WorkerPool], Any], timeout: float = 0.3) -> Any:
        text = WORKER.format(python=sys.executable, started=str(self.started), behaviour=behaviour)
        self._script.write_text(text)
        self._script.chmod(0o755)
        self._monkeypatch.setattr(process.sys, "executable", str(self._script))
        return asyncio.run(self._use(use, WorkerPool({}, ServerSettings(timeout=timeout, workers=1), {})))

    async def _use(self, use: Callable[[WorkerPool], Any], workers: WorkerPool) -> Any:
        assert await workers.start() is None
        workers._infos = [ModelInfo("model", "classification")]
        try:
            return await use(workers)
        finally:
            await workers.stop()


@pytest.fixture
def pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pools:
    monkeypatch.setattr("dragoman.server.pool.STOPPED", 0.2)
    return Pools(tmp_path, monkeypatch)


async def asked(workers: WorkerPool, tries: int = 100) -> int | None:
    """The number of the worker that answers; None if nobody does."""
    for _ in range(tries):
        try:
            return int((await workers.run("predict", "", {}))["number"])
        except Unavailable:
            await asyncio.sleep(0.05)
    return None


async def asked_again(workers: WorkerPool, tries: int = 100) -> int | None:
    with pytest.raises(Unavailable, match=r"took longer than 0.3 s"):
        await workers.run("predict", "", {})
    return await asked(workers, tries)


def test_a_worker_that_hangs_is_killed_and_replaced(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "LATE", 0.3)
    assert pools.run("hangs", asked_again) == 2
    assert "hangs: it has not given up a job 0.3 s after its time was over" in caplog.text


def test_a_slow_worker_is_left_alone(pools: Pools, caplog: pytest.LogCaptureFixture) -> None:
    assert pools.run("slow", lambda workers: asked_again(workers, 3)) is None
    assert "hangs" not in caplog.text
    assert pools.started.read_text() == "x"


def test_a_stopped_worker_is_replaced_and_its_requests_are_answered(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "BEAT", 0.1)

    async def stopped(workers: WorkerPool) -> int | None:
        (worker,) = workers._workers
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)
        return await asked(workers, 1)

    assert pools.run("", stopped, timeout=60) >= 2
    assert "no sign of life" in caplog.text


def test_requests_of_clients_that_left_do_not_stay_in_memory(pools: Pools) -> None:
    """A worker that does not read has at most one of them in its pipe; the others are dropped."""

    async def leave(workers: WorkerPool) -> int:
        payload = {"text": "x" * 2**20}
        jobs = [asyncio.create_task(workers.run("predict", "", payload)) for _ in range(50)]
        (worker,) = workers._workers
        assert worker._process is not None
        pipe: Any = worker._process.get_pipe_transport(0)
        while not pipe.get_write_buffer_size():
            await asyncio.sleep(0.01)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        assert worker.load == (False, 0)
        return int(pipe.get_write_buffer_size())

    assert pools.run("deaf", leave, timeout=60) < 2**21
