"""The page: static files of this package, read once, served with a strict policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from dragoman.server.errors import NotFound

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-cache",  # asks each time, and gets 304: files of two versions never mix
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class StaticFile:
    """A file of the page as it is sent."""

    content: bytes
    media_type: str

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:24]}"'


def static_files() -> dict[str, StaticFile]:
    """All files of the page by their path below `static`; the page itself is `index.html`.

    Requests are looked up in this table. No path is ever built from a request.
    """
    here = files(__package__)
    found = {name: _read(file) for name, file in _walk(here.joinpath("static"))}
    return found | {"index.html": _read(here.joinpath("index.html"))}


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif _suffix(entry) in TYPES:
            yield prefix + entry.name, entry


def _suffix(file: Traversable) -> str:
    return file.name[file.name.rfind(".") :]


def _read(file: Traversable) -> StaticFile:
    return StaticFile(file.read_bytes(), TYPES[_suffix(file)])


def router() -> APIRouter:
    """Routes of the page: `/` and `/static/...`."""
    routes = APIRouter(include_in_schema=False)
    table = static_files()
    index = table.pop("index.html")

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        return _answer(request, index)

    @routes.api_route("/static/{name:path}", methods=["GET", "HEAD"])
    async def static(request: Request, name: str) -> Response:
        if name not in table:
            raise NotFound("there is no such file")
        return _answer(request, table[name])

    return routes


def _answer(request: Request, file: StaticFile) -> Response:
    headers = HEADERS | {"ETag": file.tag}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if file.tag in known:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
