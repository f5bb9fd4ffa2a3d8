"""Translation requests as units: those of all requests that wait go through the network together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.errors import TooLarge
from dragoman.tasks.inputs import check_text
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import Alternative, Translation
from dragoman.text.units import Unit

BEAM = 4
CHARACTERS = 16_000  # of a batch: a worker answers others between two batches
Place = tuple[int, int]  # a text, and which of its units


class TranslationRequest:
    """Texts to translate, taken apart by the translator.

    Units are taken a few at a time, so that a long document does not keep a short text waiting.
    """

    def __init__(self, translator: Any, texts: Sequence[str], form: str, alternatives: int, most: int) -> None:
        wanted = 1 if form == "html" else 1 + alternatives
        self.options = DecodingOptions(beam=max(BEAM, wanted), alternatives=wanted)
        self._translator = translator
        for text in texts:
            check_text(text)
        self._passages = [translator.take_apart(text, form) for text in texts]
        self.left = sum(passage.size for passage in self._passages)  # about so many units were not taken yet
        if self.left > most:
            raise TooLarge(
                f"the request has {self.left:,} sentences, more than {most:,}; send them in several requests"
            )
        self._found: list[list[Sequence[Alternative]]] = [[] for _ in texts]
        self.missing = 0  # units that were taken, and have no translations yet
        self.error: Exception | None = None
        self._units = self._all_units()
        self._next = next(self._units, None)

    def _all_units(self) -> Iterator[tuple[int, Unit]]:
        for number, passage in enumerate(self._passages):
            for unit in passage.units():
                yield number, unit

    def count_parts(self) -> int:
        """Units and protected spans of all texts. Every unit is made for this: for short texts, that is little work."""
        units = [] if self._next is None else [self._next, *self._units]
        self._units = iter(units[1:])
        return sum(1 + len(unit.masked.spans) for _, unit in units)

    @property
    def taken(self) -> bool:
        """Whether all units were taken."""
        return self._next is None

    @property
    def done(self) -> bool:
        return self.taken and not self.missing

    def take(self) -> tuple[Place, Unit]:
        """The next unit, and its place."""
        assert self._next is not None
        (number, unit), self._next = self._next, next(self._units, None)
        self.left = 0 if self._next is None else max(1, self.left - 1)
        self.missing += 1
        self._found[number].append(())
        return (number, len(self._found[number]) - 1), unit

    def put(self, place: Place, translations: Sequence[Alternative]) -> None:
        number, unit = place
        self._found[number][unit] = translations
        self.missing -= 1

    def result(self) -> dict[str, Any]:
        """The whole texts again, with alternatives, confidences and what is to be said of them."""
        found = [
            self._translator.join(passage, units, self.options)
            for passage, units in zip(self._passages, self._found, strict=True)
        ]
        return {
            "translations": [each.text for each in found],
            "alternatives": [[other.text for other in each.alternatives[1:] if other.text.strip()] for each in found],
            "confidences": [_confidence(each) for each in found],
            "pieces": [each.pieces for each in found],
            "warnings": [each.warnings for each in found],
        }


def _confidence(translation: Translation) -> float | None:
    value = translation.confidence
    return round(value, 4) if value == value else None


Taken = tuple[TranslationRequest, Place, Unit]


def take_together(requests: Sequence[TranslationRequest], most: int, room: int = CHARACTERS) -> list[Taken]:
    """Take up to `most` units, from the requests in turn; no other after `room` characters."""
    taken: list[Taken] = []
    characters = 0
    while len(taken) < most and characters < room and not all(request.taken for request in requests):
        for request in requests:
            if not request.taken and len(taken) < most and characters < room:
                place, unit = request.take()
                taken.append((request, place, unit))
                characters += len(unit.text)
    return taken


def translate_together(translator: Any, taken: Sequence[Taken]) -> Iterator[None]:
    """Translate units of requests that have the same options, one slice of work after another."""
    options, left = taken[0][0].options, dict(enumerate(taken))
    try:
        for finished in translator.running([unit for *_, unit in taken], options):
            for i, translations in finished:
                request, place, _ = left.pop(i)
                request.put(place, translations)
            yield
    except DragomanError:  # unit by unit, so that a mistake of one request does not fail the others
        for request, place, unit in left.values():
            if request.error is None:
                try:
                    request.put(place, translator.run([unit], options)[0])
                except DragomanError as error:
                    request.error = error
                yield
