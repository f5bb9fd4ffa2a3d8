"""Sentences that are too long for one piece of work are translated in parts, and others get their turn between them."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.tasks.translation.results import Alternative, Translation, joint_confidence

LONGEST = 1_000  # characters of a part; real sentences are shorter


def cut(text: str, longest: int = LONGEST) -> list[str]:
    """The text in parts: cut before white space if there is some, and not inside a tag."""
    found, start = [], 0
    while len(text) - start > longest:
        stop = _stop(text, start, start + longest)
        found.append(text[start:stop])
        start = stop
    return [*found, text[start:]]


def _stop(text: str, start: int, end: int) -> int:
    """Where a part ends: at most at `end`, unless a tag is longer than that."""
    space = max(text.rfind(space, start + (end - start) // 2, end) for space in (" ", "\n", "\t"))
    stop = space if space > 0 else end
    tag = text.rfind("<", start, stop)
    if tag > text.rfind(">", start, stop) and stop < (close := text.find(">", stop, stop + LONGEST)):
        return tag if tag > start else close + 1
    return stop


def joined(parts: Sequence[str], found: Sequence[Translation]) -> Translation:
    """The translation of a text from those of its parts; several parts have one alternative together."""
    if len(found) == 1:
        return found[0]
    best = [each.alternatives[0] for each in found]
    text = "".join(part[: len(part) - len(part.lstrip())] + each.text for part, each in zip(parts, best, strict=True))
    score = sum(each.score for each in best) / len(best)
    whole = Alternative(text, score, sum(each.tokens for each in best))
    return Translation((whole,), sum(each.pieces for each in found), confidence=joint_confidence(best))
