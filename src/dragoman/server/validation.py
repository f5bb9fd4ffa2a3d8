"""A request that does not fit its description, as one plain sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError

LONGEST = 60  # characters of a field's name that are repeated
PLACES = ("body", "query", "path", "header", "cookie")
_BEGINNING = re.compile(r"^(?:Input|Value|String|List|Dictionary|Number) should ")


def readable(error: RequestValidationError) -> str:
    """Say what is wrong, and where: "'best' must be less than or equal to 10"."""
    found = error.errors()
    return _sentence(found[0]) if found else "the request is not valid"


def _sentence(problem: Mapping[str, Any]) -> str:
    place, kind, message = problem.get("loc", ()), problem.get("type", ""), str(problem.get("msg", ""))
    name = field_name(place)
    if kind == "json_invalid":
        return _clean(f"the body is not valid JSON: {problem.get('ctx', {}).get('error', 'it cannot be read')}")
    if not name:
        if kind == "missing":
            return "the request has no body; send a JSON object with Content-Type: application/json"
        if kind.endswith("_type"):
            return "the body must be a JSON object, sent with Content-Type: application/json"
        return _clean(message.removeprefix("Value error, "))
    if kind == "missing":
        return f"'{name}' is missing"
    if kind == "extra_forbidden":
        return f"'{name}' is not a field of this request"
    return _clean(f"'{name}' {_rule(message)}")


def _rule(message: str) -> str:
    """Pydantic's message, without its subject."""
    if message.startswith("Value error, "):
        return message.removeprefix("Value error, ")
    shortened = _BEGINNING.sub("must ", message)
    return (
        shortened.replace("a valid string", "a text")
        .replace("a valid integer", "a whole number")
        .replace("after validation, ", "")
    )


def field_name(place: Sequence[Any]) -> str:
    """("body", "pairs", 0, "source") as pairs[0].source; empty for the request itself."""
    inside = place[1:] if place and place[0] in PLACES else place
    name = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in inside)
    return _clean(name.removeprefix(".")[:LONGEST])


def _clean(text: str) -> str:
    """A text that can be encoded and stays on one line, whatever a stranger called a field."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in encodable)
