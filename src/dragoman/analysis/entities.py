"""Entities of tagged words: spans of BIO tags (IOB1, IOB2, BIOES, BILOU), as conlleval counts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Entity = tuple[int, int, str]  # first word, the word after its last, type

_TAG = re.compile(r"[BIESLMU]-.+")
ALONE = "BSU"  # prefixes that always begin an entity
LAST = "ESLU"  # prefixes that always end one


def are_spans(tags: Iterable[str]) -> bool:
    """Whether tags mark spans: O, B-PER, I-PER ..., with an inside or an end among them."""
    found = set(tags)
    return all(tag == "O" or _TAG.fullmatch(tag) for tag in found) and any(tag[:2] in ("B-", "I-") for tag in found)


def entities(tags: Sequence[str]) -> set[Entity]:
    """The entities of a sentence. An inside tag of another type than the one before begins a new one."""
    found: set[Entity] = set()
    start, kind, before = 0, "", "O"
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        inside = prefix not in ("O", *ALONE)
        goes_on = bool(kind) and inside and name == kind and before not in LAST
        if kind and not goes_on:
            found.add((start, i, kind))
            kind = ""
        if not goes_on and prefix != "O":
            start, kind = i, name
        before = prefix
    return found
