"""Workers that hang, stop or do not read are noticed and replaced; those that are only slow are left alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.server import process
from dragoman.server.backend import ModelInfo
from dragoman.server.errors import Unavailable
from dragoman.server.pool import WorkerPool
from dragoman.server.settings import ServerSettings
from tests.waiting import LONGEST

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


if number == 2 and behaviour == "stops loading":
    send({{"alive": True}})
    time.sleep(600)
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
            async with asyncio.timeout(LONGEST):
                return await use(workers)
        finally:
            await workers.stop()


@pytest.fixture
def pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pools:
    monkeypatch.setattr("dragoman.server.pool.STOPPED", 0.2)
    return Pools(tmp_path, monkeypatch)


async def asked(workers: WorkerPool) -> int:
    """The number of the worker that answers."""
    while True:
        with suppress(Unavailable):
            return int((await workers.run("predict", "", {}))["number"])
        await asyncio.sleep(0.05)


async def asked_in_vain(workers: WorkerPool) -> None:
    with pytest.raises(Unavailable, match=r"took longer than 0.3 s"):
        await workers.run("predict", "", {})


async def met(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def pid_of_worker(workers: WorkerPool) -> int:
    (worker,) = workers._workers
    assert worker.pid is not None
    return worker.pid


def test_a_worker_that_hangs_is_killed_and_replaced(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "LATE", 0.3)

    async def hung(workers: WorkerPool) -> int:
        await asked_in_vain(workers)
        await met(lambda: "hangs: it has not given up a job" in caplog.text)
        monkeypatch.setattr(process, "LATE", 10**6)
        return await asked(workers)

    assert pools.run("hangs", hung) >= 2


def test_a_slow_worker_is_left_alone(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it has given up what nobody waits for, and is not taken for one that hangs."""
    monkeypatch.setattr(process, "LATE", 10**6)

    async def slow(workers: WorkerPool) -> None:
        pid, (worker,) = pid_of_worker(workers), workers._workers
        await asked_in_vain(workers)
        await met(lambda: not worker._cancelled)
        worker._kill_if_late(1)  # its time is over
        await asked_in_vain(workers)
        assert pid_of_worker(workers) == pid

    pools.run("slow", slow)


def test_a_stopped_worker_is_replaced_and_its_requests_are_answered(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "BEAT", 0.1)

    async def stopped(workers: WorkerPool) -> int:
        os.kill(pid_of_worker(workers), signal.SIGSTOP)
        request = asyncio.create_task(workers.run("predict", "", {}))
        await met(lambda: "no sign of life" in caplog.text)
        monkeypatch.setattr(process, "SILENT", 10**6)
        return int((await request)["number"])

    assert pools.run("", stopped, timeout=LONGEST) >= 2


def test_with_no_worker_but_a_stopped_one_the_server_is_not_ready(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "BEAT", 0.1)
    monkeypatch.setattr(process, "SILENT", 10**6)

    async def stopped(workers: WorkerPool) -> None:
        pid = pid_of_worker(workers)
        await met(workers.ready)
        os.kill(pid, signal.SIGSTOP)
        await met(lambda: workers.status()["status"] == "starting")
        assert (workers.ready(), workers.status()["workers"]) == (False, 0)
        os.kill(pid, signal.SIGCONT)
        await met(workers.ready)

    pools.run("", stopped)


def test_a_worker_that_stops_while_it_loads_models_is_replaced(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def killed(workers: WorkerPool) -> int:
        os.kill(pid_of_worker(workers), signal.SIGKILL)
        await met(lambda: pools.started.read_text() == "xx")
        monkeypatch.setattr(process, "LOADING", 0)
        await met(lambda: "no sign of life" in caplog.text)
        monkeypatch.setattr(process, "LOADING", 10**6)
        return await asked(workers)

    assert pools.run("stops loading", killed, timeout=60) >= 3


def test_reloads_that_fail_are_one_problem_until_one_works(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reloaded(workers: WorkerPool) -> list[list[str]]:
        found, models = [], workers._models
        for each in ({"model": Path("nowhere")}, {"model": Path("elsewhere")}, models):
            workers._models = each
            await workers.reload()
            found.append(workers.status()["problems"])
        return found

    first, second, last = pools.run("", reloaded, timeout=60)
    assert [len(first), len(second), last] == [1, 1, []]
    assert "not reloaded: model cannot be read" in second[0]


def test_a_request_is_told_why_no_worker_starts(pools: Pools) -> None:
    async def without_workers(workers: WorkerPool) -> None:
        running, workers._workers, workers._failure = workers._workers, [], "it broke"
        workers._available.clear()
        try:
            with pytest.raises(Unavailable, match="the server is not ready: it broke"):
                await asyncio.wait_for(workers.run("predict", "", {}), 10)
        finally:
            workers._workers = running

    pools.run("", without_workers)


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
        assert not worker._jobs
        return int(pipe.get_write_buffer_size())

    assert pools.run("deaf", leave, timeout=60) < 2**21
