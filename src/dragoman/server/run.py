"""Run a server: workers first, then uvicorn, until a signal says to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from dragoman.errors import ConfigurationError
from dragoman.server.app import create_app
from dragoman.server.errors import places
from dragoman.server.pool import WorkerPool
from dragoman.server.protocol import limited_protocol
from dragoman.server.settings import ServerSettings

FILES = 256  # that are open besides connections, if there are so many
FEWEST = 24  # of them; and for each worker
PIPES = 6
SAID = 60.0  # seconds in which the log has one line of what happens again and again
Tell = Callable[[str], None]
log = logging.getLogger("dragoman.server")


def run_server(models: Mapping[str, Path], settings: ServerSettings, languages: Mapping[str, Any], tell: Tell) -> None:
    """Serve models until SIGTERM or SIGINT: running requests are finished, new ones refused."""
    settings = allow_connections(settings)
    listening = listen(settings)
    for name in ("uvicorn.error", "python_multipart"):  # they warn of every request that a stranger gets wrong
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        asyncio.run(_serve(models, settings, languages, listening, tell))
    finally:
        listening.close()


def listen(settings: ServerSettings) -> socket.socket:
    """A socket on the server's address."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        found.close()
        raise ConfigurationError(
            f"cannot listen on {settings.host}, port {settings.port}: {error}; choose another: --port 5001"
        ) from None
    found.listen(min(2048, settings.connections))
    return found


def allow_connections(settings: ServerSettings) -> ServerSettings:
    """Have this process open as many files as connections need; fewer connections if the system does not let it.

    A connection that is refused needs a file too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * settings.connections + FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return settings
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    needed = FEWEST + PIPES * settings.workers
    connections = min(settings.connections, (most - min(FILES, max(needed, most // 4))) // 2)
    if connections < 1:
        raise ConfigurationError(
            f"this process may open {most} files, which is not enough to serve; allow more: ulimit -n {wanted}"
        )
    if connections < settings.connections:
        log.warning(
            "this process may open %d files: %d connections at a time instead of %d; for all of them: ulimit -n %d",
            most, connections, settings.connections, wanted,
        )  # fmt: skip
    return replace(settings, connections=connections)


class Repeated:
    """Handles errors of the event loop: one line for those that come again and again, such as too many open files."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        said = f"{context.get('message')}: {type(error).__name__} {getattr(error, 'strerror', None) or ''}".rstrip()
        if loop.time() - self._said.get(said, -SAID) >= SAID:
            self._said[said] = loop.time()
            log.error("%s (said once a minute)\n%s", said, "" if error is None else places(error))


async def _serve(
    models: Mapping[str, Path], settings: ServerSettings, languages: Mapping[str, Any], listening: Any, tell: Tell
) -> None:
    asyncio.get_running_loop().set_exception_handler(Repeated())
    pool = WorkerPool(models, settings, languages)
    server = Server(pool, settings)
    starting = asyncio.create_task(_start(pool, server, listening, tell))
    try:
        await server.serve([listening])
    finally:
        starting.cancel()
        await pool.stop()
    if starting.done() and not starting.cancelled() and (error := starting.exception()):
        raise error


async def _start(pool: WorkerPool, server: Server, listening: Any, tell: Tell) -> None:
    """Load the models while /health already says that they are being loaded."""
    try:
        if reason := await pool.start():
            raise ConfigurationError(reason)
        host, port = listening.getsockname()[:2]
        tell(f"http://{'[' + host + ']' if ':' in host else host}:{port}")
        gc.collect()
        gc.freeze()  # modules and routes stay: searching them for garbage would delay requests
    except BaseException:
        server.should_exit = True
        raise


class Server(uvicorn.Server):
    """uvicorn's server, which also loads the models again on SIGHUP."""

    def __init__(self, pool: WorkerPool, settings: ServerSettings) -> None:
        self._pool = pool
        self._changed = False
        self._reloading: asyncio.Task[Any] | None = None
        config = uvicorn.Config(
            create_app(pool, settings),
            http=limited_protocol(settings.connections, settings.slow),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(settings.timeout) + 1,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT, at once on a second one; uvicorn's own version ends the process by the signal."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.handle_exit, signal.SIGTERM, None)
        loop.add_signal_handler(signal.SIGINT, self.handle_exit, signal.SIGINT, None)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _hang_up(self) -> None:
        self._changed = True
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(self._reload())

    async def _reload(self) -> None:
        """Load the models, and once more if a signal came meanwhile: what was copied may be older than it."""
        while self._changed:
            self._changed = False
            log.info("loading the models again")
            reason = await self._pool.reload()
            log.info("the models are reloaded" if reason is None else f"not reloaded, the old models stay: {reason}")
