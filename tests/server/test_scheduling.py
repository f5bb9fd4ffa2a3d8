"""What a worker does with jobs that wait: sentences of all requests together, and nobody waits for a long document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.errors import DataError
from dragoman.server.scheduling import BATCH, Scheduler
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import Alternative
from dragoman.tasks.translation.settings import SampleLengths
from dragoman.tasks.translation.translator import Finished, Translator
from dragoman.text.scripts import Alphabet
from dragoman.text.units import Passage, Segmenter, Unit


class Upper:
    """A translator that writes capitals, and remembers what it was given together."""

    task = "translation"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.slices = 0
        self.options: list[DecodingOptions] = []
        self.alphabet = Alphabet.of(["a"])
        self.metadata = SimpleNamespace(samples=SampleLengths())

    def take_apart(self, text: str, form: str) -> Passage:
        return Segmenter(lambda some: np.arange(len(some)), 100).take_apart(text, form)

    def run(self, units: Sequence[Unit], options: DecodingOptions) -> list[list[Alternative]]:
        texts = [unit.text for unit in units]
        if any("forbidden" in text for text in texts):
            raise DataError("a text is forbidden")
        if any("broken" in text for text in texts):
            raise RuntimeError("broken")
        self.batches.append(texts)
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


@pytest.fixture
def sent() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def scheduler(sent: list[dict[str, Any]]) -> Scheduler:
    answers = {"count": lambda model, payload: iter(range(payload["to"])), "bug": _bug}
    return Scheduler({"en-es": Upper(), "es-en": Upper()}, answers, sent.append, sentences=500)


def _bug(model: Any, payload: dict[str, Any]) -> Any:
    raise RuntimeError(payload["secret"])


def translate(number: int, *texts: str, model: str = "en-es", alternatives: int = 0) -> dict[str, Any]:
    payload = {"texts": list(texts), "format": "text", "alternatives": alternatives}
    return {"id": number, "kind": "translate", "model": model, "payload": payload}


def run(scheduler: Scheduler) -> None:
    while scheduler.busy:
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
    scheduler.step()
    scheduler.step()
    assert len(scheduler.models["en-es"].batches) == len(scheduler.models["es-en"].batches) == 1


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
    assert [message["status"] for message in sent] == [400, 413, 400]
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
