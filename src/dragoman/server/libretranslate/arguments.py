"""Read the arguments of a request: JSON if it says so, otherwise query string, urlencoded and multipart fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from dragoman.server.errors import BadRequest
from dragoman.server.settings import ServerSettings

LONGEST = 12  # bytes of a character: %F0%9F%98%80 in a form, \ud83d\ude00 in JSON
ROOM = 100_000  # bytes around the texts
FIELDS = 100  # of a form; the longest request of a client has 6
INVALID_JSON = "Invalid JSON format"
INVALID_FORM = "Invalid request: the form cannot be read"


@dataclass(frozen=True)
class File:
    """An uploaded file."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Arguments:
    """What a client sent.

    values  by name: text, or any value of JSON
    files   by name
    json    whether the values came as JSON
    bearer  of the Authorization header
    """

    values: Mapping[str, Any]
    files: Mapping[str, File] = field(default_factory=dict)
    json: bool = False
    bearer: str | None = None

    @property
    def key(self) -> object:
        """The API key; the npm package `libretranslate` calls it apiKey, `libretranslate-ts` sends null without one."""
        for name in ("api_key", "apiKey"):
            if not isinstance(self.values.get(name), str | None):
                raise BadRequest(f"Invalid request: {name} parameter must be a text")
        return self.values.get("api_key") or self.values.get("apiKey") or self.bearer

    def get(self, name: str) -> Any:
        return self.values.get(name)


async def read_arguments(request: Request, settings: ServerSettings) -> Arguments:
    """The arguments of a request whose client may use the server."""
    body = await request.body()
    _check_size(request, body, settings)
    arguments = _parse(request, body)
    settings.check_key(arguments.key)
    return arguments


def _check_size(request: Request, body: bytes, settings: ServerSettings) -> None:
    """Refuse what is certainly too long before it is decoded, which takes long: files have a limit of their own."""
    most = LONGEST * settings.characters + ROOM
    if len(body) > most and not _content_type(request).startswith(b"multipart/"):
        raise BadRequest(f"Invalid request: request ({len(body)} bytes) exceeds text limit ({settings.characters})")


def _content_type(request: Request) -> bytes:
    found: bytes = parse_options_header(request.headers.get("content-type"))[0]
    return found


def _parse(request: Request, body: bytes) -> Arguments:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else None
    content_type, options = parse_options_header(request.headers.get("content-type"))
    if _is_json(content_type):
        return Arguments(_json(body), json=True, bearer=bearer)
    # Not request.url: it cannot be made of every Host header.
    query = _urlencoded(request.scope["query_string"].decode("latin-1"))
    values: dict[str, str] = {}
    files: dict[str, File] = {}
    if content_type == b"multipart/form-data":
        values, files = _multipart(body, options.get(b"boundary", b""))
    elif content_type == b"application/x-www-form-urlencoded":
        values = _urlencoded(body.decode("utf-8", "replace"))
    return Arguments({**values, **query}, files, bearer=bearer)


def _is_json(content_type: bytes) -> bool:
    family, _, kind = content_type.partition(b"/")
    return family == b"application" and (kind == b"json" or kind.endswith(b"+json"))


def _json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadRequest(INVALID_JSON) from None
    if not isinstance(values, dict):
        raise BadRequest(INVALID_JSON)
    return values


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _urlencoded(text: str) -> dict[str, str]:
    """The first value of every name, as LibreTranslate reads them."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:
        raise BadRequest(INVALID_FORM) from None
    return dict(reversed(pairs))


def _multipart(body: bytes, boundary: bytes) -> tuple[dict[str, str], dict[str, File]]:
    """Text fields and files, the first of every name. A body without parts is valid: some clients send it with GET."""
    reader = _MultipartReader()
    try:
        parser = MultipartParser(boundary, reader.callbacks())
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise BadRequest(INVALID_FORM) from None
    if body and not reader.ended:
        raise BadRequest(INVALID_FORM)
    return reader.values, reader.files


class _MultipartReader:
    """Collects what the parser finds."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.files: dict[str, File] = {}
        self.ended = False
        self._parts = 0
        self._header = b""
        self._text = b""
        self._disposition = b""
        self._content: list[bytes] = []

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > FIELDS:
            raise FormParserError("too many fields")
        self._header, self._text, self._disposition, self._content = b"", b"", b"", []

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._text += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._text
        self._header, self._text = b"", b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._content.append(data[start:end])

    def _end(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"name" not in options:
            raise FormParserError("a part without a name")
        name, content = options[b"name"].decode("utf-8", "replace"), b"".join(self._content)
        if b"filename" in options:
            self.files.setdefault(name, File(options[b"filename"].decode("utf-8", "replace"), content))
        else:
            self.values.setdefault(name, content.decode("utf-8", "replace"))

    def _finish(self) -> None:
        self.ended = True
