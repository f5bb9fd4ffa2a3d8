"""The workers of a server: jobs go to the one with the fewest, dead ones are replaced, new models take over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from dragoman.server.backend import ModelInfo, Payload
from dragoman.server.errors import ServerError, Unavailable
from dragoman.server.process import WorkerDied, WorkerProcess
from dragoman.server.settings import ServerSettings
from dragoman.training.workers import physical_cores

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a worker that died is replaced; doubled each time
STOPPED = 10.0  # seconds in which an idle worker ends
HANGS = 600.0  # seconds after which a worker that does not answer is killed: compiling a kernel takes less
log = logging.getLogger("dragoman.server")


class WorkerPool:
    """Runs jobs on worker processes (a `Backend`).

    models     directories by name
    languages  of translators whose training was not told them, by name
    """

    def __init__(self, models: Mapping[str, Path], settings: ServerSettings, languages: Mapping[str, Any]) -> None:
        self._settings = settings
        threads = settings.threads or max(1, physical_cores() // settings.workers)
        self._given: Payload = {
            "models": {name: str(place) for name, place in models.items()},
            "languages": dict(languages),
            "threads": threads,
            "sentences": settings.sentences,
        }
        self._workers: list[WorkerProcess] = []
        self._leaving: set[WorkerProcess] = set()  # replaced ones that still have jobs
        self._infos: list[ModelInfo] = []
        self._problems: list[str] = []
        self._failure: str | None = None
        self._available = asyncio.Event()
        self._numbers = count(1)
        self._waiting = 0
        self._pause = FIRST_PAUSE
        self._stopping = False
        self._background: set[asyncio.Task[Any]] = set()

    # What is served

    def models(self) -> list[ModelInfo]:
        return self._infos

    def ready(self) -> bool:
        return any(worker.ready for worker in self._workers)

    def status(self) -> Payload:
        live = sum(worker.ready for worker in self._workers)
        state = "stopping" if self._stopping else "ok" if live else "failed" if self._failure else "starting"
        return {"status": state, "workers": live, "waiting": self._waiting, "problems": self._all_problems()}

    def _all_problems(self) -> list[str]:
        return [*self._problems, *([self._failure] if self._failure else [])]

    # Life

    async def start(self) -> str | None:
        """Start the workers, and wait until they are ready; why they cannot work, if they cannot."""
        self._workers = await self._started()
        self._update()
        return self._failure

    async def _started(self) -> list[WorkerProcess]:
        """New workers, ready or failed. The first is awaited alone: it compiles kernels that the others load."""
        workers: list[WorkerProcess] = []
        for _ in range(self._settings.workers):
            worker = WorkerProcess(self._given, self._ended, HANGS)
            await worker.start()
            workers.append(worker)
            if len(workers) == 1:
                await worker.settled.wait()
        await asyncio.gather(*(worker.settled.wait() for worker in workers))
        return workers

    def _update(self) -> None:
        """Take over what the workers say of their models."""
        known = next((worker for worker in self._workers if worker.ready), None)
        if known is None:
            reasons = [worker.failure for worker in self._workers if worker.failure]
            self._failure = reasons[0] if reasons else "the models could not be loaded"
            return
        assert known.about is not None
        self._failure = None
        self._infos = [ModelInfo(**about) for about in known.about["models"]]
        self._problems = known.about["problems"]
        for problem in self._problems:
            log.warning("%s", problem)
        self._available.set()

    async def reload(self) -> str | None:
        """Load the models as they are on disk now, and let new workers take over; why not, if that fails."""
        workers = await self._started()
        if not all(worker.ready for worker in workers):
            reason = next((worker.failure for worker in workers if worker.failure), "the models could not be loaded")
            for worker in workers:
                await worker.stop(STOPPED)
            self._problems = [*self._problems, f"not reloaded: {reason}"]
            return reason
        before, self._workers = self._workers, workers
        self._update()
        for worker in before:
            self._retire(worker)
        return None

    def _retire(self, worker: WorkerProcess) -> None:
        self._leaving.add(worker)
        worker.close()  # it finishes what it has

    async def stop(self) -> None:
        self._stopping = True
        for task in self._background:
            task.cancel()
        everyone = [*self._workers, *self._leaving]
        await asyncio.gather(*(worker.stop(STOPPED) for worker in everyone))

    def _ended(self, worker: WorkerProcess) -> None:
        """A worker has ended: as it was told, or it must be replaced."""
        if worker in self._leaving:
            self._leaving.discard(worker)
        elif worker in self._workers and not self._stopping:
            self._workers.remove(worker)
            if not self.ready():
                self._available.clear()
            log.error("worker %s died and is replaced", worker.pid)
            task = asyncio.create_task(self._replace())
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _replace(self) -> None:
        """Start a worker in the place of a dead one, again and again with longer pauses until it is ready."""
        while not self._stopping:
            worker = WorkerProcess(self._given, self._ended, HANGS)
            await worker.start()
            await worker.settled.wait()
            if worker.ready:
                self._workers.append(worker)
                self._update()
                self._pause = FIRST_PAUSE
                return
            self._failure = worker.failure or "a worker dies when it starts; the log has more"
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    # Jobs

    async def run(self, kind: str, model: str, payload: Payload) -> Payload:
        with self._admitted():
            async with asyncio.timeout(self._settings.timeout):
                try:
                    return await self._answer(kind, model, payload)
                except WorkerDied:
                    return await self._answer(kind, model, payload)  # by another one, once

    async def stream(self, kind: str, model: str, payload: Payload) -> AsyncGenerator[Payload]:
        deadline, answered = asyncio.get_running_loop().time() + self._settings.timeout, False
        with self._admitted():
            for last in (False, True):
                try:
                    async with aclosing(self._parts(kind, model, payload, deadline)) as parts:
                        async for part in parts:
                            answered = True
                            yield part
                    return
                except WorkerDied:
                    if answered or last:  # half a stream cannot be repeated
                        raise

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        """Count a job that waits or runs, unless there are too many; say what went wrong with it."""
        if self._stopping:
            raise Unavailable("the server is stopping; try again in a moment", retry_after=5)
        if self._waiting >= self._settings.queue:
            raise Unavailable("the server is busy: too many requests wait; try again in a moment", retry_after=1)
        self._waiting += 1
        try:
            yield
        except WorkerDied:
            raise Unavailable("the process that ran this request died; try again soon", retry_after=2) from None
        except TimeoutError:
            limit = f"the request took longer than {self._settings.timeout:g} s"
            raise Unavailable(f"{limit}; send less at a time, or try again later", retry_after=5) from None
        finally:
            self._waiting -= 1

    async def _answer(self, kind: str, model: str, payload: Payload) -> Payload:
        """The result of the worker with the fewest jobs."""
        worker = await self._choose()
        number = next(self._numbers)
        answer: asyncio.Future[Payload | None] = asyncio.get_running_loop().create_future()

        def receive(message: Payload | None) -> None:
            if not answer.done() and (message is None or "part" not in message):
                answer.set_result(message)

        worker.send(number, kind, model, payload, receive)
        try:
            result: Payload = _checked(await answer)["result"]
        finally:
            worker.forget(number, answer.done() and not answer.cancelled())
        return result

    async def _parts(self, kind: str, model: str, payload: Payload, deadline: float) -> AsyncGenerator[Payload]:
        """The parts of a result, as the worker with the fewest jobs makes them."""
        async with asyncio.timeout_at(deadline):
            worker = await self._choose()
        number, finished = next(self._numbers), False
        waiting: asyncio.Queue[Payload | None] = asyncio.Queue()
        worker.send(number, kind, model, payload, waiting.put_nowait)
        try:
            while not finished:
                async with asyncio.timeout_at(deadline):
                    message = await waiting.get()
                finished = message is None or "part" not in message
                if "part" in (found := _checked(message)):
                    yield found["part"]
        finally:
            worker.forget(number, finished)

    async def _choose(self) -> WorkerProcess:
        while True:
            ready = [worker for worker in self._workers if worker.ready]
            if ready:
                return min(ready, key=lambda worker: worker.load)
            if self._failure or not self._infos:
                reason = self._failure or "the models are being loaded"
                raise Unavailable(f"the server is not ready: {reason}", retry_after=5)
            await self._available.wait()


def _checked(message: Payload | None) -> Payload:
    """What a worker said, unless it is that it cannot."""
    if message is None:
        raise WorkerDied
    if "error" in message:
        raise ServerError(message["error"], message["status"], 1 if message["status"] == 503 else None)
    return message
