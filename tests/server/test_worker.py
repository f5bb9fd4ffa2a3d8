"""A worker between its pipes: messages in any parts, requests gathered for a short time, the rest finished."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.errors import FileFormatError
from dragoman.server.frames import Unpacker, pack
from dragoman.server.scheduling import Scheduler
from dragoman.server.worker import Inbox, Sender, _accept, serve
from tests.server.test_scheduling import Upper, translate


class Script:
    """An inbox whose messages come at given moments: one list for each time that somebody looks."""

    def __init__(self, *arrivals: Sequence[dict[str, Any]]) -> None:
        self.left = list(arrivals)
        self.waited: list[float | None] = []

    @property
    def ended(self) -> bool:
        return not self.left

    def receive(self, seconds: float | None) -> Sequence[dict[str, Any]]:
        self.waited.append(seconds)
        return self.left.pop(0)


def scheduler_of(sent: list[dict[str, Any]]) -> Scheduler:
    return Scheduler({"en-es": Upper()}, {}, sent.append, sentences=500)


def requests(start: int, count: int) -> list[dict[str, Any]]:
    return [translate(number, f"text {number}.") for number in range(start, start + count)]


def test_messages_arrive_in_any_parts() -> None:
    messages = [{"id": number, "text": "ñ" * number} for number in range(20)]
    data, unpacker = b"".join(map(pack, messages)), Unpacker()
    assert [found for byte in data for found in unpacker.feed(bytes([byte]))] == messages
    assert unpacker.feed(data) == messages
    with pytest.raises(FileFormatError, match="between processes"):
        unpacker.feed(b"printed by a library")


def test_requests_that_follow_answers_are_gathered() -> None:
    scheduler = scheduler_of([])
    scheduler.translated = 8
    inbox: Any = Script(requests(0, 4), requests(4, 5), requests(9, 3), requests(12, 1))
    _accept(scheduler, inbox, 60.0)
    assert scheduler.waiting == 12  # four that waited, and the eight that had their answers


def test_nobody_is_waited_for_longer_than_the_bound() -> None:
    scheduler = scheduler_of([])
    scheduler.translated = 8
    inbox: Any = Script(requests(0, 4), requests(4, 5), requests(9, 3))
    _accept(scheduler, inbox, 0.0)
    assert scheduler.waiting == 4


def test_a_client_alone_does_not_wait_for_others() -> None:
    scheduler = scheduler_of([])
    scheduler.translated = 1
    inbox: Any = Script([], requests(0, 1), requests(1, 1))
    _accept(scheduler, inbox, 60.0)
    assert scheduler.waiting == 1
    assert len(inbox.waited) == 2


def test_other_jobs_do_not_wait_for_sentences() -> None:
    scheduler = scheduler_of([])
    scheduler.translated = 8
    scheduler._streams[1] = iter([1, 2])
    inbox: Any = Script(requests(0, 1), requests(1, 1))
    _accept(scheduler, inbox, 60.0)
    assert inbox.waited == [0]


def test_a_worker_gives_signs_of_life_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.server.worker.BEAT", 0.01)
    (received, given), ended = os.pipe(), threading.Event()
    unpacker, found = Unpacker(), list[dict[str, Any]]()
    with os.fdopen(received, "rb", buffering=0) as reading, os.fdopen(given, "wb") as writing:
        thread = threading.Thread(target=Sender(writing).beat, args=(ended,))
        thread.start()
        while len(found) < 2:
            found += unpacker.feed(reading.read(1_000) or b"")
        ended.set()
        thread.join()
    assert found[:2] == [{"alive": True}] * 2


def test_what_arrived_before_the_end_is_answered_in_one_write() -> None:
    (given, jobs), (answers, told) = os.pipe(), os.pipe()
    os.write(jobs, b"".join(map(pack, requests(0, 3))))
    os.close(jobs)
    with os.fdopen(told, "wb", buffering=0) as stream:
        send = Sender(stream)
        serve(Scheduler({"en-es": Upper()}, {}, send, 500, send.flush), Inbox(given))
    found = Unpacker().feed(os.read(answers, 10_000))
    assert [message["result"]["translations"] for message in found] == [[f"TEXT {number}."] for number in range(3)]
    for descriptor in (given, answers):
        os.close(descriptor)
