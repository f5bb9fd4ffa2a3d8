"""Sentences that are all in capitals, as a model reads them that has learnt from others."""

from __future__ import annotations

import re
from collections.abc import Callable

from dragoman.batch import UNKNOWN
from dragoman.graph import Array

Encode = Callable[[str], Array]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def without_capitals(text: str, encode: Encode) -> str | None:
    """A text in capitals as a sentence is usually written; None if it is not in capitals.

    The first word begins with a capital if the tokenizer knows it, and every other of which it has longer pieces so: I,
    Tom.
    """
    if not text.isupper():
        return None

    first = _WORD.search(text)
    begins = first.start() if first else 0

    def usual(word: re.Match[str]) -> str:
        small, capital = word[0].lower(), word[0].capitalize()
        known, other = _strangeness(encode(small)), _strangeness(encode(capital))
        return capital if other < known or (word.start() == begins and other[0] <= known[0]) else small

    return _WORD.sub(usual, text)


def is_stranger(labels: Array, others: Array) -> bool:
    """Whether the tokenizer knows a text less than another: with more unknown tokens, or with more tokens."""
    return _strangeness(labels) > _strangeness(others)


def _strangeness(labels: Array) -> tuple[int, int]:
    return int((labels == UNKNOWN).sum()), len(labels)
