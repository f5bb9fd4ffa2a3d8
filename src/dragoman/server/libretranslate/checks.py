"""Check the arguments of a request, with LibreTranslate's messages: clients show them, and some look for them."""

from __future__ import annotations

from typing import Any

from dragoman.server.errors import BadRequest
from dragoman.server.libretranslate.arguments import Arguments
from dragoman.server.libretranslate.languages import Languages
from dragoman.server.settings import ServerSettings

AUTO = "auto"
FORMATS = ("text", "html")
SHOWN = 50  # characters of a wrong value that a message repeats


def required(arguments: Arguments, name: str) -> Any:
    value = arguments.get(name)
    if not value:
        raise BadRequest(f"Invalid request: missing {name} parameter")
    return value


def texts(arguments: Arguments, settings: ServerSettings, name: str = "q") -> tuple[list[str], bool]:
    """The texts to work on, and whether the client sent a list."""
    value = required(arguments, name)
    batch = isinstance(value, list)
    found = value if batch else [value]
    if not all(isinstance(text, str) for text in found):
        raise BadRequest(f"Invalid request: {name} parameter must be a text or a list of texts")
    if len(found) > settings.texts:
        raise BadRequest(_exceeds(len(found), settings.texts))
    check_size(sum(len(text) for text in found), settings)
    return [_clean(text, arguments, name) for text in found], batch


def check_size(characters: int, settings: ServerSettings) -> None:
    if characters > settings.characters:
        raise BadRequest(_exceeds(characters, settings.characters))


def text(arguments: Arguments, settings: ServerSettings, name: str) -> str:
    """One text."""
    found, batch = texts(arguments, settings, name)
    if batch:
        raise BadRequest(f"Invalid request: {name} parameter must be a text")
    return found[0]


def alternatives(arguments: Arguments, settings: ServerSettings) -> int:
    value = arguments.get("alternatives")
    try:
        count = 0 if value is None else max(0, _whole(value))
    except (TypeError, ValueError, OverflowError):
        raise BadRequest("Invalid request: alternatives parameter is not a number") from None
    if count > settings.alternatives:
        raise BadRequest(f"Invalid request: alternatives parameter must be <= {settings.alternatives}")
    return count


def source(value: object, languages: Languages) -> str:
    """The code of a served language, or "auto"."""
    return AUTO if isinstance(value, str) and value.lower() == AUTO else language(value, languages, read=True)


def language(value: object, languages: Languages, read: bool = False) -> str:
    """The code of a served language."""
    found = languages.find(value, read) if isinstance(value, str) else None
    if found is None:
        raise BadRequest(f"{_shown(value).lower()} is not supported")
    return found


def text_format(arguments: Arguments) -> str:
    value = arguments.get("format") or "text"
    if value not in FORMATS:
        raise BadRequest(f"{_shown(value)} format is not supported")
    return str(value)


def _whole(value: Any) -> int:
    """2, 2.0, "2" and "2.0" are two."""
    try:
        return int(value)
    except ValueError:
        return int(float(value))


def _clean(text: str, arguments: Arguments, name: str) -> str:
    """Lines of a form end in a line feed alone, whatever the browser sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"Invalid request: {name} parameter has half of a surrogate pair") from None
    return text if arguments.json else text.replace("\r\n", "\n").replace("\r", "\n")


def _exceeds(size: int, limit: int) -> str:
    return f"Invalid request: request ({size}) exceeds text limit ({limit})"


def _shown(value: object) -> str:
    """A wrong value as far as a message repeats it; JSON in UTF-8 cannot hold half of a surrogate pair."""
    shown = str(value)
    shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
    return shown.encode("utf-8", "replace").decode()
