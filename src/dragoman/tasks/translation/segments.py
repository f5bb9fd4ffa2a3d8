"""Texts as segments that go through the network at once, and their translations as one text again."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from dragoman.data.tokenizer import Tokenizer
from dragoman.graph import Array
from dragoman.tasks.translation.results import Alternative, Translation, joint_confidence
from dragoman.text.protection import STANDINS, Masked, mask, protected_spans
from dragoman.text.sentences import pieces
from dragoman.text.spans import has_word, without_markup


@dataclass
class Segment:
    """A piece of a text that goes through the network at once."""

    masked: Masked
    labels: Array
    found: list[Alternative] = field(default_factory=list)
    glued: str = ""  # how it begins, if nothing stands between it and the segment before

    def space(self) -> str:
        """What stands between the segment before and this one."""
        return "" if self.glued and self.found[0].text.startswith(self.glued) else " "


@dataclass(frozen=True)
class Segmenter:
    """Cuts texts into segments.

    longest  tokens of a segment, start and end included
    protect  mask protected spans by stand-ins
    """

    tokenizer: Tokenizer
    longest: int
    protect: bool

    def __call__(self, text: str) -> list[Segment]:
        whole = text.strip()
        cut = pieces(whole, lambda piece: self._fits(self._segment(piece)))
        if len(cut) > 1 and self.protect:
            cut = _joined_at_spans(cut, protected_spans(whole))
        return [segment for piece in cut for segment in self._segments(piece)]

    def _fits(self, segment: Segment) -> bool:
        return segment.masked.complete and len(segment.labels) + 2 <= self.longest

    def _segments(self, piece: str) -> list[Segment]:
        """The piece, cut after every eighth span if it has more of them than there are stand-ins."""
        if self._segment(piece).masked.complete:
            return [self._segment(piece)]
        ends = [stop for _, stop in protected_spans(piece)][len(STANDINS) - 1 :: len(STANDINS)]
        parts = [piece[start:stop] for start, stop in pairwise([0, *ends, len(piece)])]
        return [
            replace(self._segment(part), glued=_beginning(part) if i else "") for i, part in enumerate(parts) if part
        ]

    def _segment(self, piece: str) -> Segment:
        masked = mask(piece) if self.protect else Masked(piece, ())
        if masked.spans and not has_word(masked.text):  # nothing to translate
            return Segment(masked, np.zeros(0, np.int32), [Alternative(piece, 0.0)])
        text = without_markup(masked)
        return Segment(masked, self.tokenizer.encode([text])[0] if piece.strip() else np.zeros(0, np.int32))


def joined(segments: list[Segment], alternatives: int) -> Translation:
    """The translation of a text from those of its segments; several segments have one alternative together."""
    kept = [segment for segment in segments if segment.found]
    if not kept:
        return Translation((Alternative("", 0.0),), 0)
    if len(kept) == 1:
        found = tuple(kept[0].found[:alternatives])
        return Translation(found, confidence=joint_confidence(found[:1]))
    text = "".join(segment.space() + segment.found[0].text.strip() for segment in kept).strip()
    best = [segment.found[0] for segment in kept]
    whole = Alternative(text, sum(piece.score for piece in best) / len(best), sum(piece.tokens for piece in best))
    return Translation((whole,), len(kept), confidence=joint_confidence(best))


def _joined_at_spans(cut: list[str], spans: list[tuple[int, int]]) -> list[str]:
    """The pieces of a text, joined again where a cut went through a span."""
    whole, at = [""], 0
    for piece in cut:
        before = bisect_left(spans, (at, at)) - 1  # the last span that starts before the cut
        if before >= 0 and at < spans[before][1]:
            whole[-1] += piece
        else:
            whole.append(piece)
        at += len(piece)
    return whole[1:]


def _beginning(part: str) -> str:
    """The span or the mark that a part begins with."""
    spans = protected_spans(part)
    if spans and spans[0][0] == 0:
        return part[: spans[0][1]]
    return "" if part[0].isspace() or part[0].isalnum() else part[0]
