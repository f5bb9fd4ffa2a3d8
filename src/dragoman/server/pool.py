"""The workers of a server: jobs go to the one with the fewest, dead ones are replaced, new models take over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.backend import ModelInfo, Payload
from dragoman.server.errors import ServerError, Unavailable
from dragoman.server.exchange import note_model
from dragoman.server.pinning import PinnedModels, named
from dragoman.server.process import Job, WorkerDied, WorkerProcess
from dragoman.server.settings import ServerSettings
from dragoman.training.workers import physical_cores

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a worker that died is replaced; doubled each time
STOPPED = 10.0  # seconds in which an idle worker ends
log = logging.getLogger("dragoman.server")


class WorkerPool:
    """Runs jobs on worker processes (a `Backend`).

    models     directories by name
    languages  of translators whose training was not told them, by name
    """

    def __init__(self, models: Mapping[str, Path], settings: ServerSettings, languages: Mapping[str, Any]) -> None:
        self._settings = settings
        threads = settings.threads or max(1, physical_cores() // settings.workers)
        self._models = models
        self._given: Payload = {
            "languages": dict(languages),
            "threads": threads,
            "sentences": settings.sentences,
        }
        self._workers: list[WorkerProcess] = []
        self._running: set[WorkerProcess] = set()  # those, others that start, and replaced ones that still have jobs
        self._pinned: PinnedModels | None = None  # what the workers have loaded
        self._infos: list[ModelInfo] = []
        self._problems: list[str] = []
        self._unchecked: list[str] = []  # models without golden answers
        self._not_reloaded: str | None = None  # why not, if the last reload failed
        self._failure: str | None = None
        self._available = asyncio.Event()
        self._numbers = count(1)
        self._waiting = 0
        self._pause = FIRST_PAUSE
        self._stopping = False
        self._background: set[asyncio.Task[Any]] = set()

    # What is served

    def models(self) -> list[ModelInfo]:
        if not self._infos:
            reason = self._failure or "the models are being loaded"
            raise Unavailable(f"the server is not ready: {reason}", retry_after=5)
        return self._infos

    def ready(self) -> bool:
        return self._live > 0

    @property
    def _live(self) -> int:
        """Workers that would answer a request now."""
        return sum(worker.ready and not worker.silent for worker in self._workers)

    def status(self) -> Payload:
        live = self._live
        state = "stopping" if self._stopping else "ok" if live else "failed" if self._failure else "starting"
        return {
            "status": state,
            "workers": live,
            "waiting": self._waiting,
            "problems": self._all_problems(),
            "models": {info.name: info.digest for info in self._infos},
            "unchecked": self._unchecked,
        }

    def _all_problems(self) -> list[str]:
        return [*self._problems, *filter(None, (self._not_reloaded, self._failure))]

    # Life

    async def start(self) -> str | None:
        """Start the workers, and wait until they are ready; why they cannot work, if they cannot."""
        if reason := await self._load():
            self._failure = named(reason, self._models)
        return reason

    async def reload(self) -> str | None:
        """Load the models as they are on disk now, and let new workers take over; why not, if that fails."""
        reason = await self._load()
        if reason is not None:
            self._not_reloaded = f"not reloaded: {named(reason, self._models)}"
        return reason

    async def _load(self) -> str | None:
        """Copy the models, and let new workers take over that have loaded the copy; why not, if that fails."""
        try:
            pinned = await asyncio.to_thread(PinnedModels.copy, self._models)
        except DragomanError as error:
            return str(error)
        try:
            workers = await self._started(pinned)
        finally:  # copied for nothing, unless all of them are ready
            if not self._in_use(pinned):
                pinned.remove()
        if not all(worker.ready for worker in workers) or self._stopping:
            for worker in workers:
                worker.close()
            reasons = [worker.failure for worker in workers if worker.failure]
            return pinned.for_operator(reasons[0]) if reasons else "the models could not be loaded; the log has more"
        before, self._workers, self._pinned = self._workers, workers, pinned
        self._take_over(pinned)
        for worker in before:
            worker.close()  # it finishes what it has
        return None

    async def _started(self, pinned: PinnedModels) -> list[WorkerProcess]:
        """New workers, ready or failed. The first is awaited alone: it compiles kernels that the others load."""
        workers = [await self._start_worker(pinned)]
        if workers[0].ready:
            others = (self._start_worker(pinned) for _ in range(1, self._settings.workers))
            workers += await asyncio.gather(*others)
        return workers

    async def _start_worker(self, pinned: PinnedModels) -> WorkerProcess:
        worker = WorkerProcess(self._given, pinned, self._ended)
        self._running.add(worker)
        await worker.start()
        await worker.settled.wait()
        return worker

    def _take_over(self, pinned: PinnedModels) -> None:
        """Tell clients what the new workers say of their models."""
        about = next(worker.about for worker in self._workers if worker.about)
        self._failure = self._not_reloaded = None
        self._infos = [ModelInfo(**{**info, "digest": pinned.digests[info["name"]]}) for info in about["models"]]
        self._problems, self._unchecked = about["problems"], about["unchecked"]
        for problem in self._problems:
            log.warning("%s", problem)
        self._available.set()

    async def stop(self) -> None:
        self._stopping = True
        for task in self._background:
            task.cancel()
        await asyncio.gather(*(worker.stop(STOPPED) for worker in self._running))
        if self._pinned is not None:
            self._pinned.remove()

    def _in_use(self, pinned: PinnedModels) -> bool:
        return pinned is self._pinned or any(worker.pinned is pinned for worker in self._running)

    def _ended(self, worker: WorkerProcess) -> None:
        """A worker has ended: as it was told, or it must be replaced."""
        self._running.discard(worker)
        if not self._in_use(worker.pinned):
            worker.pinned.remove()
        if worker in self._workers and not self._stopping:
            self._workers.remove(worker)
            if not self._workers:
                self._available.clear()
            log.error("worker %s died and is replaced", worker.pid)
            task = asyncio.create_task(self._replace(worker.pinned))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _replace(self, pinned: PinnedModels) -> None:
        """Start a worker in the place of a dead one, again and again with longer pauses until it is ready."""
        while pinned is self._pinned and not self._stopping:
            worker = await self._start_worker(pinned)
            if worker.ready and pinned is not self._pinned:  # new models were loaded meanwhile
                worker.close()
            elif worker.ready:
                self._workers.append(worker)
                self._failure, self._pause = None, FIRST_PAUSE
                self._available.set()
                return
            else:
                self._failure = pinned.for_clients(worker.failure or "a worker dies when it starts; the log has more")
                await asyncio.sleep(self._pause)
                self._pause = min(2 * self._pause, LONGEST_PAUSE)

    # Jobs

    async def run(self, kind: str, model: str, payload: Payload) -> Payload:
        with self._admitted():
            deadline = asyncio.get_running_loop().time() + self._settings.timeout
            async with asyncio.timeout_at(deadline):
                try:
                    return await self._answer(kind, model, payload, deadline)
                except WorkerDied:
                    return await self._answer(kind, model, payload, deadline)  # by another one, once

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

    async def _answer(self, kind: str, model: str, payload: Payload, deadline: float) -> Payload:
        """The result of the worker with the fewest jobs."""
        answer: asyncio.Future[Payload | None] = asyncio.get_running_loop().create_future()

        def receive(message: Payload | None) -> None:
            if not answer.done() and (message is None or "part" not in message):
                answer.set_result(message)

        worker = await self._choose()
        number = self._send(worker, kind, model, payload, Job(receive, deadline))
        try:
            result: Payload = self._checked(await answer)["result"]
        finally:
            worker.forget(number, answer.done() and not answer.cancelled())
        return result

    async def _parts(self, kind: str, model: str, payload: Payload, deadline: float) -> AsyncGenerator[Payload]:
        """The parts of a result, as the worker with the fewest jobs makes them."""
        async with asyncio.timeout_at(deadline):
            worker = await self._choose()
        waiting, finished = asyncio.Queue[Payload | None](), False
        number = self._send(worker, kind, model, payload, Job(waiting.put_nowait, deadline))
        try:
            while not finished:
                async with asyncio.timeout_at(deadline):
                    message = await waiting.get()
                finished = message is None or "part" not in message
                if "part" in (found := self._checked(message)):
                    yield found["part"]
        finally:
            worker.forget(number, finished)

    def _send(self, worker: WorkerProcess, kind: str, model: str, payload: Payload, job: Job) -> int:
        """Give a worker a job; the answer of this request says which model it is for."""
        if model:
            note_model(model, worker.pinned.digests.get(model, ""))
        number = next(self._numbers)
        worker.send(number, {"kind": kind, "model": model, "payload": payload}, job)
        return number

    async def _choose(self) -> WorkerProcess:
        while True:
            ready = [worker for worker in self._workers if worker.ready]
            if ready:
                return min(ready, key=lambda worker: worker.load)
            if self._failure:
                raise Unavailable(f"the server is not ready: {self._failure}", retry_after=5)
            self.models()  # an error while they are loaded for the first time
            await self._available.wait()

    def _checked(self, message: Payload | None) -> Payload:
        """What a worker said, unless it is that it cannot."""
        if message is None:
            raise WorkerDied
        if "error" in message:
            error = self._pinned.for_clients(message["error"]) if self._pinned else message["error"]
            raise ServerError(error, message["status"], 1 if message["status"] == 503 else None)
        return message
