"""What a worker does next: batches of sentences, other jobs one at a time, streams piece by piece, all in turn."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.errors import BadRequest, ServerError, places
from dragoman.server.translation import CHARACTERS, TranslationRequest, take_together, translate_together

BATCH = 64  # sentences that go through a network together
SHORT = 300  # characters of a request that does not wait for longer ones ...
PARTS = 12  # ... if it has so few units and protected spans: each of them takes time
LATELY = 2.0  # seconds after the last short request in which long ones leave room for others
HEAVY = 4  # times what short requests take: a longer piece of work on long ones is followed by a rest
REST = 19  # times that piece
log = logging.getLogger("dragoman.server")

Answer = Callable[[Any, dict[str, Any]], Any]
Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Waiting:
    """A translation request, and who waits for it."""

    id: int
    model: str
    request: TranslationRequest
    short: bool


@dataclass
class Together:
    """Sentences of some requests that go through a network together, one slice of work after another."""

    slices: Iterator[None]
    waiting: list[Waiting]
    short: bool


class Scheduler:
    """Runs jobs on the models of a worker. Nothing waits for more than a slice of each batch and one other job.

    Short texts with few protected spans go first, in batches of their own. While there are some, others advance in
    slices that take about as long as a batch of short ones, and long ones are taken apart one at a time.

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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.models, self.answers, self.send, self.sentences = models, answers, send, sentences
        self.flush, self._clock = flush, clock
        self.translated = 0  # sentences of the last batch
        self._long: deque[tuple[int, str, Mapping[str, Any]]] = deque()  # texts that are not taken apart yet
        self._translations: deque[Waiting] = deque()
        self._batches: deque[Together] = deque()
        self._jobs: deque[tuple[int, Callable[[], Any]]] = deque()
        self._streams: dict[int, Iterator[Any]] = {}
        self._last_short = -LATELY  # when short texts were translated
        self._short_seconds = 0.0  # that it took
        self._pace: float | None = None  # characters of long texts that are searched for in a second
        self._resting = {"taking apart": 0.0, "translating": 0.0}  # until when, if short texts come

    @property
    def busy(self) -> bool:
        return bool(self._long or self._translations or self._batches or self._jobs or self._streams)

    @property
    def waiting(self) -> int:
        """Sentences to translate; a whole batch where something else is to be done, which must not wait."""
        busy = self._jobs or self._streams or self._batches or self._long
        return BATCH if busy else sum(each.request.left for each in self._translations)

    @property
    def rest(self) -> float:
        """Seconds until there is something to do, unless a message comes."""
        batches = {batch.short for batch in self._batches}
        texts = {each.short for each in self._translations if not each.request.missing}
        if self._jobs or self._streams or True in batches | texts:
            return 0.0
        until = [self._resting["taking apart"]] if self._long else []
        until += [self._resting["translating"]] if batches | texts else []
        return max(0.0, min([*until, self._last_short + LATELY]) - self._clock()) if until else 0.0

    def add(self, message: Mapping[str, Any]) -> None:
        """Accept a job, or the word that nobody waits for one any more."""
        if "cancel" in message:
            self._cancel(message["cancel"])
            self.send({"cancelled": message["cancel"]})
            self.flush()
            return
        number, kind, name, payload = (message[key] for key in ("id", "kind", "model", "payload"))
        try:
            if kind == "translate" and sum(map(len, payload["texts"])) > SHORT:
                self._long.append((number, self._checked(name, "translation"), payload))
            elif kind == "translate":
                self._take_apart(number, self._checked(name, "translation"), payload, short=True)
            else:
                self._jobs.append((number, self._job(kind, name, payload)))
        except Exception as error:
            self._fail(number, error)
            self.flush()  # no work comes of this job that would

    def step(self) -> None:
        """Do one piece of work of each kind."""
        for work in (
            self._translate_short, self._take_next_apart, self._translate_long, self._run_job, self._advance_streams
        ):  # fmt: skip
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

    def _take_next_apart(self) -> None:
        if not self._long:
            return
        with self._restrained("taking apart") as may:
            if not may:
                return
            number, name, payload = self._long.popleft()
            try:
                self._take_apart(number, name, payload, short=False)
            except Exception as error:
                self._fail(number, error)

    @contextmanager
    def _restrained(self, work: str) -> Iterator[bool]:
        """Whether a piece of work on long texts may be done; one that takes very long keeps short ones waiting once."""
        began = self._clock()
        yield not self._crowded or began >= self._resting[work]
        took = self._clock() - began
        if took > HEAVY * self._short_seconds:
            self._resting[work] = self._clock() + REST * took

    @property
    def _crowded(self) -> bool:
        """Whether short texts came lately."""
        return self._clock() - self._last_short < LATELY

    def _take_apart(self, number: int, name: str, payload: Mapping[str, Any], short: bool) -> None:
        texts, form, alternatives = (payload[key] for key in ("texts", "format", "alternatives"))
        request = TranslationRequest(self.models[name], texts, form, alternatives, self.sentences)
        self._translations.append(Waiting(number, name, request, short and request.count_parts() <= PARTS))

    def _translate_short(self) -> None:
        """Translate short texts, and do a slice of those that were begun and take longer."""
        self.translated, waiting = 0, self._next_batch(short=True)
        began = self._clock()
        if self._begin_batch(short=True, room=CHARACTERS):
            self._last_short = self._clock()
            self._short_seconds = self._last_short - began
        if waiting is not None:
            self._advance_batch(waiting)

    def _translate_long(self) -> None:
        """Do a slice of long texts that were begun, or begin with some."""
        with self._restrained("translating") as may:
            waiting = self._next_batch(short=False)
            if may and (waiting is None or not self._crowded):
                self._begin_long()
            if may and waiting is not None:
                self._advance_batch(waiting)

    def _next_batch(self, short: bool) -> Together | None:
        """The batch that waits longest for a slice; it becomes the last."""
        found = next((batch for batch in self._batches if batch.short == short), None)
        if found is not None:
            self._batches.remove(found)
            self._batches.append(found)
        return found

    def _begin_long(self) -> None:
        began, room = self._clock(), CHARACTERS
        if self._crowded:
            room = 1 if self._pace is None else min(CHARACTERS, int(self._pace * self._short_seconds))
        if characters := self._begin_batch(short=False, room=room):
            self._pace = characters / max(1e-9, self._clock() - began)

    def _begin_batch(self, short: bool, room: int) -> int:
        """Take sentences of all requests that have the model and the options of the one that waits longest.

        One that has sentences in another batch waits until they are translated. Does a slice of the work, and returns
        the characters of all of it.
        """
        free = [each for each in self._translations if each.short == short and not each.request.missing]
        if not free:
            return 0
        model, options = free[0].model, free[0].request.options
        alike = [each for each in free if (each.model, each.request.options) == (model, options)][:BATCH]
        self.translated += min(BATCH, sum(each.request.left for each in alike))
        taken = take_together([each.request for each in alike], BATCH, max(1, room))
        self._translations.remove(free[0])
        self._translations.append(free[0])  # a long document makes room for other models and options
        work = (
            translate_together(self.models[model], taken) if taken else iter(())
        )  # texts without anything to translate
        self._advance_batch(Together(work, alike, short))
        return sum(len(unit.text) for *_, unit in taken)

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
            if part is not None:  # else a slice of work of which nobody is told
                self.send({"id": number, "part": part})
        except StopIteration as end:
            del self._streams[number]
            self.send({"id": number, "result": end.value or {}})
        except Exception as error:
            self._streams.pop(number, None)
            self._fail(number, error)

    def _cancel(self, number: int) -> None:
        self._long = deque(each for each in self._long if each[0] != number)
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
