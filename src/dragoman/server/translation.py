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
        self._units = self._all_units()
        self._next = next(self._units, None)

    def _all_units(self) -> Iterator[tuple[int, Unit]]:
        for number, passage in enumerate(self._passages):
            for unit in passage.units():
                yield number, unit

    @property
    def taken(self) -> bool:
        """Whether all units were taken."""
        return self._next is None

    def take(self) -> tuple[int, Unit]:
        """The next unit, and the number of its text."""
        assert self._next is not None
        found, self._next = self._next, next(self._units, None)
        self.left = 0 if self._next is None else max(1, self.left - 1)
        return found

    def put(self, number: int, translations: Sequence[Alternative]) -> None:
        """The translations of a unit of a text, in the order in which units were taken."""
        self._found[number].append(translations)

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


def translate_together(translator: Any, requests: Sequence[TranslationRequest], most: int) -> list[Exception | None]:
    """Translate up to `most` units, taken from the requests in turn; the error of each request that failed.

    Long units make a batch of fewer. All requests have the same options.
    """
    taken: list[tuple[TranslationRequest, int, Unit]] = []
    characters = 0
    while len(taken) < most and characters < CHARACTERS and not all(request.taken for request in requests):
        for request in requests:
            if not request.taken and len(taken) < most and characters < CHARACTERS:
                number, unit = request.take()
                taken.append((request, number, unit))
                characters += len(unit.text)
    errors: dict[int, Exception] = {}
    options = requests[0].options
    try:
        found = translator.run([unit for *_, unit in taken], options)
    except DragomanError:  # unit by unit, so that a mistake of one request does not fail the others
        found = []
        for request, _, unit in taken:
            try:
                found += translator.run([unit], options)
            except DragomanError as error:
                errors[id(request)] = error
                found.append([])
    for (request, number, _), translations in zip(taken, found, strict=True):
        request.put(number, translations)
    return [errors.get(id(request)) for request in requests]
