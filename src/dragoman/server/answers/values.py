"""What goes in and out of an answer: fields of a payload with their bounds, and numbers that JSON can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dragoman.server.errors import BadRequest, TooLarge

Payload = Mapping[str, Any]

MOST_TEXTS = 10_000
LONGEST = 1_000_000  # characters of all texts; the server's own limits are lower
_SURROGATE = re.compile("[\ud800-\udfff]")


def text_of(payload: Payload, name: str, default: str | None = None) -> str:
    """A text of the payload; a missing one is an error unless there is a default."""
    found = payload.get(name, default)
    if not isinstance(found, str):
        raise BadRequest(f"'{name}' must be a text")
    return checked(found, name)


def texts_of(payload: Payload, name: str = "texts") -> list[str]:
    """A list of texts of the payload."""
    found = payload.get(name)
    if not isinstance(found, list | tuple) or not all(isinstance(text, str) for text in found):
        raise BadRequest(f"'{name}' must be a list of texts")
    if not found or len(found) > MOST_TEXTS:
        raise BadRequest(f"'{name}' must have 1 to {MOST_TEXTS:,} texts, got {len(found):,}")
    if sum(map(len, found)) > LONGEST:
        raise TooLarge(f"'{name}' has more than {LONGEST:,} characters")
    return [checked(text, name) for text in found]


def checked(text: str, name: str) -> str:
    """A text that can be encoded, and is not too long."""
    if _SURROGATE.search(text):
        raise BadRequest(f"'{name}' has half a surrogate pair, from a wrong decoding")
    if len(text) > LONGEST:
        raise TooLarge(f"'{name}' has more than {LONGEST:,} characters")
    return text


def whole_of(payload: Payload, name: str, default: int, least: int, most: int) -> int:
    """A whole number of the payload."""
    found = payload.get(name)
    found = default if found is None else found
    if type(found) is not int or not least <= found <= most:
        raise BadRequest(f"'{name}' must be a whole number from {least:,} to {most:,}")
    return found


def number_of(payload: Payload, name: str, default: float | None) -> float | None:
    """A finite number of the payload."""
    found = payload.get(name)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise BadRequest(f"'{name}' must be a number")
    return float(found)


def flag_of(payload: Payload, name: str) -> bool:
    found = payload.get(name, False)
    if not isinstance(found, bool):
        raise BadRequest(f"'{name}' must be true or false")
    return found


def as_json(value: Any, digits: int = 6) -> Any:
    """A value with nothing in it but what JSON has: numbers are rounded, NaN and infinities are null."""
    if isinstance(value, np.ndarray):
        return as_json(value.tolist(), digits)
    if isinstance(value, float | np.floating):
        return round(float(value), digits) if math.isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): as_json(each, digits) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each, digits) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    return str(value)
