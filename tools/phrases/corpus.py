"""The built-in English-Spanish corpus: sentences of a synchronous grammar, drawn once and for all.

Every rule contributes up to `PER_RULE` distinct sentences, drawn with a seed that is the rule's own name, and the pairs
stand in the order of a hash of their source: a new rule adds its sentences and moves no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from tools.phrases.grammar.core import Draw, Rule, Sentence
from tools.phrases.grammar.rules import RULES

PER_RULE = 175
LONGEST = 12  # words of a source; a longer one is drawn again
_PATIENCE = 12  # draws a sentence; a rule whose language is small gives what it has


class Pair(NamedTuple):
    """A source sentence, its reference translation, and the rule that wrote both."""

    source: str
    reference: str
    rule: str


def phrases() -> list[Pair]:
    """All pairs: one reference for each source, always the same ones in the same order."""
    pairs: dict[str, Pair] = {}
    for rule in RULES:
        for sentence in sentences(rule, PER_RULE):
            pairs.setdefault(sentence.english, Pair(sentence.english, sentence.spanish, rule.name))
    return sorted(pairs.values(), key=_place)


def sentences(rule: Rule, most: int) -> Iterator[Sentence]:
    """Distinct sentences of one rule: those it always has, then drawn ones."""
    draw = Draw(rule.name)
    seen = set(rule.always)
    yield from rule.always
    for _ in range(_PATIENCE * most):
        if len(seen) >= most:
            return
        sentence = rule.write(draw)
        if sentence not in seen and sentence.english.count(" ") < LONGEST:
            seen.add(sentence)
            yield sentence


def _place(pair: Pair) -> bytes:
    return blake2b(pair.source.encode(), digest_size=8).digest()
