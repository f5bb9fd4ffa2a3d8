"""What a worker does next: batches of sentences, other jobs one at a time, streams piece by piece, all in turn."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.errors import BadRequest, ServerError, places
from dragoman.server.translation import TranslationRequest, translate_together

BATCH = 64  # sentences that go through a network together
log = logging.getLogger("dragoman.server")

Answer = Callable[[Any, dict[str, Any]], Any]
Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Waiting:
    """A translation request, and who waits for it."""

    id: int
    model: str
    request: TranslationRequest


@dataclass
class Together:
    """Sentences of some requests that go through a network together, one slice of work after another."""

    slices: Iterator[None]
    waiting: list[Waiting]


class Scheduler:
    """Runs jobs on the models of a worker. Nothing waits for more than a slice of each batch and one other job.

    answers    what is done for each kind of job besides translation
    send       takes the messages to the front process
    sentences  of a request at most
    flush      is called when a piece of work is done: the messages so far go out together
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        answers: Mapping[str, Answer],
        send: Send,
        sentences: int,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self.models, self.answers, self.send, self.sentences = models, answers, send, sentences
        self.flush = flush
        self.translated = 0  # sentences of the last batch
        self._translations: deque[Waiting] = deque()
        self._batches: deque[Together] = deque()
        self._jobs: deque[tuple[int, Callable[[], Any]]] = deque()
        self._streams: dict[int, Iterator[Any]] = {}

    @property
    def busy(self) -> bool:
        return bool(self._translations or self._batches or self._jobs or self._streams)

    @property
    def waiting(self) -> int:
        """Sentences to translate; a whole batch where something else is to be done, which must not wait."""
        busy = self._jobs or self._streams or self._batches
        return BATCH if busy else sum(each.request.left for each in self._translations)

    def add(self, message: Mapping[str, Any]) -> None:
        """Accept a job, or the word that nobody waits for one any more."""
        if "cancel" in message:
            self._cancel(message["cancel"])
            self.send({"cancelled": message["cancel"]})
            self.flush()
            return
        number, kind, name, payload = (message[key] for key in ("id", "kind", "model", "payload"))
        try:
            if kind == "translate":
                texts, form, alternatives = (payload[key] for key in ("texts", "format", "alternatives"))
                model = self.models[self._checked(name, "translation")]
                request = TranslationRequest(model, texts, form, alternatives, self.sentences)
                self._translations.append(Waiting(number, name, request))
            else:
                self._jobs.append((number, self._job(kind, name, payload)))
        except Exception as error:
            self._fail(number, error)
            self.flush()  # no work comes of this job that would

    def step(self) -> None:
        """Do one piece of work of each kind."""
        for work in (self._translate, self._run_job, self._advance_streams):
            work()
            self.flush()

    def _checked(self, name: str, task: str) -> str:
        if name not in self.models or self.models[name].task != task:
            raise BadRequest(f"{name} is not a served model for {task}")
        return name

    def _job(self, kind: str, name: str, payload: dict[str, Any]) -> Callable[[], Any]:
        if kind not in self.answers:
            raise BadRequest(f"unknown kind of job '{kind}'")
        if name and name not in self.models:
            raise BadRequest(f"{name} is not served")
        answer, model = self.answers[kind], self.models[name] if name else self.models
        return lambda: answer(model, payload)

    def _translate(self) -> None:
        """Begin a batch if there are sentences for one; do a slice of it, and of the one that waits longest for one."""
        begun = self._begin_batch()
        waiting = self._batches[0] if self._batches else None
        for batch in (begun, waiting):
            if batch is not None:
                self._advance_batch(batch)
        if begun is None and waiting is not None and waiting in self._batches:
            self._batches.rotate(-1)

    def _begin_batch(self) -> Together | None:
        """Take sentences of all requests that have the model and the options of the one that waits longest.

        One that has sentences in another batch waits until they are translated.
        """
        free = [each for each in self._translations if not each.request.missing]
        if not free:
            return None
        model, options = free[0].model, free[0].request.options
        alike = [each for each in free if (each.model, each.request.options) == (model, options)][:BATCH]
        self.translated = min(BATCH, sum(each.request.left for each in alike))
        batch = Together(translate_together(self.models[model], [each.request for each in alike], BATCH), alike)
        self._translations.remove(free[0])
        self._translations.append(free[0])  # a long document makes room for other models and options
        return batch

    def _advance_batch(self, batch: Together) -> None:
        """Do a slice of a batch, and answer the requests that are done."""
        ended = False
        try:
            next(batch.slices)
        except StopIteration:
            ended = True
        except Exception as bug:
            ended = True
            for each in batch.waiting:
                each.request.error = bug
        for each in [each for each in batch.waiting if each.request.error is not None or each.request.done]:
            batch.waiting.remove(each)
            self._translations.remove(each)
            if each.request.error is not None:
                self._fail(each.id, each.request.error)
            else:
                self._finish(each)
        ended = ended or not any(each.request.missing for each in batch.waiting)
        if not ended and batch not in self._batches:
            self._batches.append(batch)
        elif ended and batch in self._batches:
            self._batches.remove(batch)

    def _finish(self, waiting: Waiting) -> None:
        try:
            self.send({"id": waiting.id, "result": waiting.request.result()})
        except Exception as error:
            self._fail(waiting.id, error)

    def _run_job(self) -> None:
        if not self._jobs:
            return
        number, job = self._jobs.popleft()
        try:
            found = job()
            if isinstance(found, Iterator):
                self._streams[number] = found
            else:
                self.send({"id": number, "result": found})
        except Exception as error:
            self._fail(number, error)

    def _advance_streams(self) -> None:
        for number in list(self._streams):
            self._advance_stream(number)

    def _advance_stream(self, number: int) -> None:
        try:
            part = next(self._streams[number])
            self.send({"id": number, "part": part})
        except StopIteration:
            del self._streams[number]
            self.send({"id": number, "result": {}})
        except Exception as error:
            self._streams.pop(number, None)
            self._fail(number, error)

    def _cancel(self, number: int) -> None:
        self._translations = deque(each for each in self._translations if each.id != number)
        for batch in self._batches:
            batch.waiting = [each for each in batch.waiting if each.id != number]
        self._batches = deque(batch for batch in self._batches if batch.waiting)
        self._jobs = deque(each for each in self._jobs if each[0] != number)
        self._streams.pop(number, None)

    def _fail(self, number: int, error: Exception) -> None:
        if isinstance(error, ServerError):
            self.send({"id": number, "error": str(error), "status": error.status})
        elif isinstance(error, DragomanError):
            self.send({"id": number, "error": str(error), "status": 400})
        elif isinstance(error, MemoryError):
            self.send({"id": number, "error": "not enough memory for this request", "status": 503})
        else:  # a bug: where it is, and nothing of what was said
            log.error("%s in a job\n%s", type(error).__name__, places(error))
            self.send({"id": number, "error": "internal error; the server's log has more", "status": 500})
