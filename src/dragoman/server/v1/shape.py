"""The shape of a request, looked at before its fields are: validation writes down every mistake it finds.

Eight megabytes of wrong items would become four million mistakes, and gigabytes.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.server.bounds import SERIES_ROWS

ITEMS = 10_000  # of a list that is a field; deeper ones are columns of a series
KEYS = 25_000  # of all objects of a request together
DEPTH = 4  # of lists and objects within a field; a series has 3
_SURROGATE = re.compile("[\ud800-\udfff]")


def shape_problem(given: dict[str, Any]) -> str | None:
    """What is wrong with a request that no field of ours could have, in words; None if it may be right."""
    keys = len(given)
    if keys > KEYS:
        return "the request has too many fields"
    for name, value in given.items():
        if not is_text(name):
            return f"'{_shown(name)}' has half a surrogate pair, from a wrong decoding"
        problem, found = _problem(value, DEPTH, ITEMS)
        keys += found
        if problem is None and keys > KEYS:
            problem = "has too many fields"
        if problem is not None:
            return f"'{_shown(name)}' {problem}"
    return None


def _problem(value: Any, depth: int, items: int) -> tuple[str | None, int]:
    """What is wrong with a value, and how many keys its objects have."""
    if isinstance(value, str):
        return (None if is_text(value) else "has half a surrogate pair, from a wrong decoding"), 0
    if not isinstance(value, dict | list):
        return None, 0
    keys = len(value) if isinstance(value, dict) else 0
    if not depth:
        return "is nested too deeply", keys
    if len(value) > items:
        return f"has more than {items:,} items", keys
    inside = [*value, *value.values()] if isinstance(value, dict) else value
    for each in inside:
        problem, found = _problem(each, depth - 1, SERIES_ROWS)
        keys += found
        if problem is not None or keys > KEYS:
            return problem or "has too many fields", keys
    return None, keys


def is_text(text: str) -> bool:
    """Whether a text can be encoded: JSON may hold half a surrogate pair, which is no character."""
    return text.isascii() or _SURROGATE.search(text) is None


def _shown(name: str) -> str:
    return name[:60].encode("utf-8", "replace").decode()
