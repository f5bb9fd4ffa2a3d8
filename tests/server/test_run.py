"""A running server: how many files it may open, errors that repeat, and signals that come while models load."""

from __future__ import annotations

import asyncio
import errno
import resource
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.server import run
from dragoman.server.pool import WorkerPool
from dragoman.server.run import Repeated, Server, allow_connections
from dragoman.server.settings import ServerSettings


@pytest.mark.parametrize(
    ("files", "connections", "allowed"),
    [((64, 64), 1_000, 17), ((64, 10_000), 1_000, 1_000), ((1_024, 1_024), 1_000, 384), ((1_024, 1_024), 100, 100)],
)
def test_connections_fit_into_the_files_that_may_be_open(
    files: tuple[int, int],
    connections: int,
    allowed: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    set_to = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda _: files)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: set_to.append(limits))
    assert allow_connections(ServerSettings(connections=connections)).connections == allowed
    assert all(soft <= hard == files[1] for soft, hard in set_to)
    assert (f"{allowed} connections at a time instead of 1000" in caplog.text) == (allowed < connections)


def test_too_few_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (30, 30))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    with pytest.raises(ConfigurationError, match="ulimit -n 2256"):
        allow_connections(ServerSettings())


def test_an_error_that_repeats_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def repeat() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(Repeated())
        full = OSError(errno.EMFILE, "Too many open files")
        for _ in range(1_000):
            loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": full})
        loop.call_exception_handler({"message": "another", "exception": KeyError("what somebody wrote")})

    asyncio.run(repeat())
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "socket.accept() out of system resource: OSError Too many open files",
        "another: KeyError",
    ]


def test_a_hangup_while_models_load_is_not_lost() -> None:
    """What is being loaded may be older than the signal; many signals are one more load."""
    loads = list[str]()

    class Pool(WorkerPool):
        async def reload(self) -> str | None:
            loads.append("began")
            if len(loads) == 1:
                for _ in range(3):
                    server._hang_up()
            await asyncio.sleep(0)
            return None

    async def hang_up() -> Any:
        server._hang_up()
        assert server._reloading is not None
        await server._reloading

    settings = ServerSettings()
    server = Server(Pool({}, settings, {}), settings)
    asyncio.run(hang_up())
    assert len(loads) == 2


@pytest.mark.parametrize(
    ("name", "address"), [(("127.0.0.1", 5000), "http://127.0.0.1:5000"), (("::1", 5000, 0, 0), "http://[::1]:5000")]
)
def test_it_says_where_it_listens(name: Any, address: str) -> None:
    async def started() -> None:
        return None

    told = list[str]()
    pool: Any = SimpleNamespace(start=started)
    server: Any = SimpleNamespace(should_exit=False)
    asyncio.run(run._start(pool, server, SimpleNamespace(getsockname=lambda: name), told.append))
    assert told == [address]
    assert not server.should_exit
