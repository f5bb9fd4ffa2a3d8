"""Translation requests as sentences: those of all requests that wait go through the network together."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.cutting import cut, joined
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import Alternative, Translation, joint_confidence
from dragoman.text.documents import Document, split_html, split_text

SPLIT: dict[str, Callable[[str], Document]] = {"text": split_text, "html": split_html}
BEAM = 4
CHARACTERS = 16_000  # of a batch: a worker answers others between two batches
Place = tuple[int, int, int]  # text, sentence, part of a sentence
_SURROGATE = re.compile("[\ud800-\udfff]")


class TranslationRequest:
    """Texts to translate, cut into sentences.

    Sentences are taken a few at a time, so that a long document does not keep a short text waiting.
    """

    def __init__(self, texts: Sequence[str], form: str, alternatives: int, most: int) -> None:
        if any(_SURROGATE.search(text) for text in texts):
            raise BadRequest("a text has half a surrogate pair, from a wrong decoding")
        split = SPLIT[form]
        self.documents = [split(text) for text in texts]
        self._parts = [[cut(segment) for segment in document.segments] for document in self.documents]
        count = sum(len(parts) for segments in self._parts for parts in segments)
        if count > most:
            raise TooLarge(f"the request has {count:,} sentences, more than {most:,}; send them in several requests")
        wanted = 1 if form == "html" else 1 + alternatives
        self.options = DecodingOptions(beam=max(BEAM, wanted), alternatives=wanted)
        self._found: list[list[list[Translation | None]]] = [
            [[None] * len(parts) for parts in segments] for segments in self._parts
        ]
        self._waiting = deque(
            (i, j, k)
            for i, segments in enumerate(self._parts)
            for j, parts in enumerate(segments)
            for k in range(len(parts))
        )
        self._missing = count

    @property
    def left(self) -> int:
        """Sentences that were not taken yet."""
        return len(self._waiting)

    @property
    def done(self) -> bool:
        return not self._missing

    def take(self) -> tuple[Place, str]:
        """The next sentence, and its place."""
        i, j, k = place = self._waiting.popleft()
        return place, self._parts[i][j][k]

    def put(self, place: Place, translation: Translation) -> None:
        i, j, k = place
        self._found[i][j][k] = translation
        self._missing -= 1

    def result(self) -> dict[str, Any]:
        """The whole texts again, with alternatives and confidences."""
        written = [self._written(i) for i in range(len(self.documents))]
        return {
            "translations": [texts[0] for texts in written],
            "alternatives": [list(dict.fromkeys(text for text in texts[1:] if text.strip())) for texts in written],
            "confidences": [self._confidence(i) for i in range(len(self.documents))],
        }

    def _written(self, number: int) -> list[str]:
        """The best translation of a text, and others: each has the next best of every sentence."""
        found, document = self._translated(number), self.documents[number]
        best = document.join([each.text for each in found])
        others = [
            document.join([_alternative(each, rank).text for each in found])
            for rank in range(1, self.options.alternatives)
        ]
        return [best, *(other for other in others if other != best)]

    def _translated(self, number: int) -> list[Translation]:
        """The translations of the sentences of a text."""
        found = zip(self._parts[number], self._found[number], strict=True)
        return [joined(parts, [each for each in some if each is not None]) for parts, some in found]

    def _confidence(self, number: int) -> float | None:
        value = joint_confidence([each.alternatives[0] for each in self._translated(number)])
        return round(value, 4) if value == value else None


def _alternative(translation: Translation, rank: int) -> Alternative:
    return translation.alternatives[min(rank, len(translation.alternatives) - 1)]


def translate_together(translator: Any, requests: Sequence[TranslationRequest], most: int) -> list[Exception | None]:
    """Translate up to `most` sentences, taken from the requests in turn; the error of each request that failed.

    Long sentences make a batch of fewer.
    All requests have the same options.
    """
    taken: list[tuple[int, Place, str]] = []
    characters = 0
    while len(taken) < most and characters < CHARACTERS and any(request.left for request in requests):
        for number, request in enumerate(requests):
            if request.left and len(taken) < most and characters < CHARACTERS:
                taken.append((number, *request.take()))
                characters += len(taken[-1][2])
    options = requests[0].options
    try:
        found = translator.translations([text for *_, text in taken], options)
    except DragomanError:
        return _one_by_one(translator, requests, taken, options)
    for (number, place, _), translation in zip(taken, found, strict=True):
        requests[number].put(place, translation)
    return [None] * len(requests)


def _one_by_one(
    translator: Any,
    requests: Sequence[TranslationRequest],
    taken: Sequence[tuple[int, Place, str]],
    options: DecodingOptions,
) -> list[Exception | None]:
    """The same sentence by sentence, so that a mistake of one request does not fail the others."""
    errors: list[Exception | None] = [None] * len(requests)
    for number, place, text in taken:
        try:
            requests[number].put(place, translator.translations([text], replace(options))[0])
        except DragomanError as error:
            errors[number] = error
    return errors
