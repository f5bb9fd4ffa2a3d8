"""What a worker does with jobs that wait: sentences of all requests together, and nobody waits for a long document."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.errors import DataError
from dragoman.server.scheduling import BATCH, SHORT, Scheduler
from dragoman.server.translation import TranslationRequest
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import Alternative
from dragoman.tasks.translation.settings import SampleLengths
from dragoman.tasks.translation.translator import Finished, Translator
from dragoman.text.scripts import Alphabet
from dragoman.text.units import Passage, Segmenter, Unit


class Clock:
    """Goes on when there is work, or when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Upper:
    """A translator that writes capitals, and remembers what it was given together."""

    task = "translation"

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.batches: list[list[str]] = []
        self.slices = 0
        self.options: list[DecodingOptions] = []
        self.alphabet = Alphabet.of(["a"])
        self.metadata = SimpleNamespace(samples=SampleLengths(), languages=None)

    def take_apart(self, text: str, form: str) -> Passage:
        self.clock.now += text.count("[")
        return Segmenter(lambda some: np.arange(len(some)), 100).take_apart(text, form)

    def run(self, units: Sequence[Unit], options: DecodingOptions) -> list[list[Alternative]]:
        texts = [unit.text for unit in units]
        if any("forbidden" in text for text in texts):
            raise DataError("a text is forbidden")
        if any("broken" in text for text in texts):
            raise RuntimeError("broken")
        self.batches.append(texts)
        self.clock.now += sum(map(len, texts)) / 1_000
        self.options.append(options)
        ranks = range(options.alternatives)
        return [[Alternative(f"{text.upper()}{'!' * rank}", -0.5, 3) for rank in ranks] for text in texts]

    def running(self, units: Sequence[Unit], options: DecodingOptions) -> Iterator[Finished]:
        """Those that are hard take ten slices more than the others."""
        found = list(enumerate(self.run(units, options)))
        hard = [i for i, unit in enumerate(units) if "hard" in unit.text]
        yield [(i, some) for i, some in found if i not in hard]
        for _ in range(10 * bool(hard)):
            self.slices += 1
            yield []
        yield [(i, some) for i, some in found if i in hard]

    join = Translator.join
    _is_short = Translator._is_short
    _foreign = Translator._foreign


@pytest.fixture
def sent() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def scheduler(sent: list[dict[str, Any]]) -> Scheduler:
    answers = {"count": lambda model, payload: iter(range(payload["to"])), "sliced": _sliced, "bug": _bug}
    clock = Clock()
    return Scheduler({"en-es": Upper(clock), "es-en": Upper(clock)}, answers, sent.append, 500, clock=clock)


def _sliced(model: Any, payload: dict[str, Any]) -> Generator[None, None, dict[str, int]]:
    yield from [None] * 10
    return {"answer": 1}


def _bug(model: Any, payload: dict[str, Any]) -> Any:
    raise RuntimeError(payload["secret"])


def translate(number: int, *texts: str, model: str = "en-es", alternatives: int = 0) -> dict[str, Any]:
    payload = {"texts": list(texts), "format": "text", "alternatives": alternatives}
    return {"id": number, "kind": "translate", "model": model, "payload": payload}


def run(scheduler: Scheduler) -> None:
    while scheduler.busy:
        scheduler.models["en-es"].clock.now += scheduler.rest
        scheduler.step()


def test_requests_that_wait_are_translated_together(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    for number in range(5):
        scheduler.add(translate(number, f"text {number}."))
    scheduler.step()
    assert scheduler.models["en-es"].batches == [[f"text {number}." for number in range(5)]]
    assert {message["id"]: message["result"]["translations"] for message in sent} == {
        number: [f"TEXT {number}."] for number in range(5)
    }


def test_a_short_text_does_not_wait_for_a_long_document(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    long = "\n".join(f"Sentence {number}." for number in range(5 * BATCH))
    scheduler.add(translate(1, long))
    scheduler.add(translate(2, "Hello."))
    scheduler.step()
    assert [message["id"] for message in sent] == [2]
    run(scheduler)
    assert sent[1]["result"]["translations"] == [long.upper()]
    assert max(map(len, scheduler.models["en-es"].batches)) == BATCH


def test_models_and_options_are_not_mixed(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    scheduler.add(translate(1, "one."))
    scheduler.add(translate(2, "dos.", model="es-en"))
    scheduler.add(translate(3, "three.", alternatives=2))
    run(scheduler)
    assert scheduler.models["en-es"].batches == [["one."], ["three."]]
    assert scheduler.models["es-en"].batches == [["dos."]]
    by_id = {message["id"]: message["result"] for message in sent}
    assert by_id[3]["alternatives"] == [["THREE.!", "THREE.!!"]]
    assert by_id[1]["alternatives"] == [[]]


def test_two_long_documents_of_two_models_take_turns(scheduler: Scheduler) -> None:
    long = "\n".join(f"Sentence {number}." for number in range(3 * BATCH))
    scheduler.add(translate(1, long))
    scheduler.add(translate(2, long, model="es-en"))
    for _ in range(3):
        scheduler.step()
    assert [len(scheduler.models[name].batches) for name in ("en-es", "es-en")] == [2, 1]


def test_parts_of_a_long_sentence_are_units_of_their_own(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    """So that others get their turn between them; taken together they are the sentence."""
    long = "and a house " * 40 * BATCH + "end."
    scheduler.add(translate(1, long))
    scheduler.add(translate(2, "Hello."))
    scheduler.step()
    assert [message["id"] for message in sent] == [2]
    run(scheduler)
    assert sent[1]["result"]["translations"] == [long.upper()]
    assert sent[1]["result"]["pieces"][0] > 4 * BATCH
    assert max(map(len, scheduler.models["en-es"].batches)) == BATCH


def test_a_mistake_fails_its_own_request_only(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    scheduler.add(translate(1, "good."))
    scheduler.add(translate(2, "forbidden."))
    run(scheduler)
    by_id = {message["id"]: message for message in sent}
    assert by_id[1]["result"]["translations"] == ["GOOD."]
    assert by_id[2] == {"id": 2, "error": "a text is forbidden", "status": 400}


def test_half_a_surrogate_pair_and_too_many_sentences_are_refused(
    scheduler: Scheduler, sent: list[dict[str, Any]]
) -> None:
    scheduler.add(translate(1, "half \ud83d"))
    scheduler.add(translate(2, "\n".join(["A sentence."] * 501)))
    scheduler.add(translate(3, "text.", model="nobody"))
    run(scheduler)
    assert {message["id"]: message["status"] for message in sent} == {1: 400, 2: 413, 3: 400}
    assert not scheduler.busy


def test_a_bug_says_nothing_of_the_text(
    scheduler: Scheduler, sent: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.add({"id": 1, "kind": "bug", "model": "en-es", "payload": {"secret": "my diary"}})
    scheduler.add(translate(2, "broken diary."))
    run(scheduler)
    assert [message["status"] for message in sent] == [500, 500]
    assert "RuntimeError" in caplog.text
    assert "_bug" in caplog.text
    assert "diary" not in caplog.text + str(sent)


def test_streams_advance_beside_translations_and_end_when_cancelled(
    scheduler: Scheduler, sent: list[dict[str, Any]]
) -> None:
    scheduler.add({"id": 1, "kind": "count", "model": "en-es", "payload": {"to": 10}})
    scheduler.step()
    scheduler.add(translate(2, "hello."))
    scheduler.step()
    assert [message.get("part") for message in sent if message["id"] == 1] == [0, 1]
    assert any(message["id"] == 2 for message in sent)
    scheduler.add({"cancel": 1})
    assert not scheduler.busy


def test_jobs_in_slices_answer_at_their_end_and_others_do_not_wait(
    scheduler: Scheduler, sent: list[dict[str, Any]]
) -> None:
    scheduler.add({"id": 1, "kind": "sliced", "model": "en-es", "payload": {}})
    scheduler.step()
    scheduler.add(translate(2, "hello."))
    run(scheduler)
    assert [message["id"] for message in sent] == [2, 1]
    assert sent[1] == {"id": 1, "result": {"answer": 1}}
    scheduler.add({"id": 3, "kind": "sliced", "model": "en-es", "payload": {}})
    scheduler.step()
    scheduler.add({"cancel": 3})
    assert not scheduler.busy


def test_a_cancelled_document_is_not_translated_further(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    scheduler.add(translate(1, "\n".join(["A sentence."] * 300)))
    scheduler.step()
    scheduler.add({"cancel": 1})
    run(scheduler)
    assert len(scheduler.models["en-es"].batches) == 1
    assert sent == [{"cancelled": 1}]


def test_what_is_easy_does_not_wait_for_what_is_hard(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    """Neither in the same batch, nor in a later one."""
    scheduler.add(translate(1, "a hard text."))
    scheduler.add(translate(2, "an easy text."))
    scheduler.step()
    assert [message["id"] for message in sent] == [2]
    scheduler.add(translate(3, "another."))
    scheduler.step()
    assert [message["id"] for message in sent] == [2, 3]
    run(scheduler)
    assert sent[2]["result"]["translations"] == ["A HARD TEXT."]


def test_sentences_of_a_text_stay_in_their_order(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    text = "\n".join(f"A {'hard' if n % 3 else 'easy'} sentence {n}." for n in range(2 * BATCH + 5))
    scheduler.add(translate(1, text))
    run(scheduler)
    assert sent[0]["result"]["translations"] == [text.upper()]


def test_what_is_left_of_a_text_is_counted() -> None:
    """It says how long a batch is waited for, so it is 0 only when all was taken."""
    request = TranslationRequest(Upper(Clock()), ["One.\nTwo.\nThree."], "text", 0, 500)
    left = [request.left]
    while not request.taken:
        request.take()
        left.append(request.left)
    assert left == [3, 2, 1, 0]


def test_work_whose_client_left_ends_between_two_slices(scheduler: Scheduler, sent: list[dict[str, Any]]) -> None:
    scheduler.add(translate(1, "a hard text."))
    scheduler.step()
    scheduler.step()
    begun = scheduler.models["en-es"].slices
    scheduler.add({"cancel": 1})
    assert not scheduler.busy
    run(scheduler)
    assert 0 < begun == scheduler.models["en-es"].slices < 10
    assert sent == [{"cancelled": 1}]


def test_long_texts_leave_room_for_short_ones(scheduler: Scheduler) -> None:
    """While short ones come, slices of long ones take no longer than they do; otherwise whole batches."""
    translator = scheduler.models["en-es"]
    scheduler.add(translate(0, "A " * 50 + "."))  # a tenth of a second
    scheduler.add(translate(1, "\n".join(["A sentence of forty characters, at least."] * 400)))
    for number in range(2, 40):
        scheduler.step()
        scheduler.add(translate(number, "A " * 50 + "."))
    long = [len(batch) for batch in translator.batches if "forty" in batch[0]]
    assert max(long[1:]) * 41 <= 2 * 100
    run(scheduler)
    assert max(len(batch) for batch in translator.batches) == BATCH


def test_short_texts_do_not_wait_for_long_ones_that_are_hard_to_take_apart(
    scheduler: Scheduler, sent: list[dict[str, Any]]
) -> None:
    """A piece of work that takes long is followed by a rest; then few short texts wait for one."""
    clock, waited = scheduler.models["en-es"].clock, list[float]()
    for number in range(1_000):
        scheduler.add(translate(2 * number, "Hello."))
        scheduler.add(translate(2 * number + 1, "[" * SHORT + "!"))  # five minutes each
        began = clock.now
        while not any(message.get("id") == 2 * number for message in sent[-3:]):
            scheduler.step()
        waited.append(clock.now - began)
        scheduler.add({"cancel": 2 * number + 1})
        clock.now += 1.0
    assert sum(seconds > 1 for seconds in waited) <= 10


def test_short_texts_do_not_wait_for_one_with_many_protected_spans(
    scheduler: Scheduler, sent: list[dict[str, Any]]
) -> None:
    """Their places are searched for span by span, so a text may be short and hard."""
    scheduler.add(translate(1, "%a% hard " * 20))
    scheduler.add(translate(2, "Open %s, please."))
    scheduler.step()
    assert scheduler.models["en-es"].batches[0] == ["Open %s, please."]
    assert [message["id"] for message in sent] == [2]
    run(scheduler)
    assert [message["id"] for message in sent] == [2, 1]


def test_a_text_whose_client_left_is_not_taken_apart(scheduler: Scheduler) -> None:
    began = scheduler.models["en-es"].clock.now
    scheduler.add(translate(1, "[" * SHORT + "!"))
    scheduler.add({"cancel": 1})
    assert not scheduler.busy
    assert scheduler.models["en-es"].clock.now == began
