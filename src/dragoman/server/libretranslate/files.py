"""Translated files, kept for a while for their clients to download."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dragoman.server.errors import BadRequest, NotFound, TooLarge, Unavailable
from dragoman.server.libretranslate.arguments import File
from dragoman.server.settings import ServerSettings

MEDIA_TYPES = {".txt": "text/plain", ".html": "text/html", ".htm": "text/html"}
NAME = 100  # characters of a file's name that are kept
DECLARED = re.compile(rb"""<meta[^<>]{0,200}charset\s{0,9}=\s{0,9}["']?([\w-]{1,20})""", re.IGNORECASE)
HEAD = 4096  # bytes in which HTML declares how it is encoded
CHARSETS = {
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso-8859-15": "iso8859-15",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "windows-1252": "cp1252",
}


@dataclass(frozen=True)
class TextFile:
    """The text of a file, and how to write it again.

    stem, suffix  the two parts of its name; the suffix is a format we read
    encoding      of its bytes
    """

    text: str
    stem: str
    suffix: str
    encoding: str

    @property
    def format(self) -> str:
        return "text" if self.suffix == ".txt" else "html"

    def with_text(self, text: str) -> bytes:
        """The bytes of the translated file; HTML spells out what its encoding lacks."""
        return text.encode(self.encoding, "xmlcharrefreplace")


def read_text_file(file: File, settings: ServerSettings) -> TextFile:
    """Decode an uploaded file: UTF-8, UTF-16 that says so, and what HTML declares."""
    if not file.name:
        raise BadRequest("Invalid request: empty file")
    stem, suffix = _split(file.name)
    if suffix not in MEDIA_TYPES:
        raise BadRequest("Invalid request: file format not supported")
    if len(file.content) > settings.file_bytes:
        raise TooLarge(f"Invalid request: file ({len(file.content)} bytes) exceeds limit ({settings.file_bytes} bytes)")
    encoding = _encoding(file.content, suffix)
    try:
        return TextFile(file.content.decode(encoding), stem, suffix, encoding)
    except UnicodeDecodeError as error:
        message = f"Invalid request: file is not {encoding.upper()} text (byte {error.start + 1}); save it as UTF-8"
        raise BadRequest(message) from None


def _encoding(content: bytes, suffix: str) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    declared = DECLARED.search(content[:HEAD]) if suffix != ".txt" else None
    return CHARSETS.get(declared[1].decode().lower(), "utf-8") if declared else "utf-8"


def _split(name: str) -> tuple[str, str]:
    """Stem and suffix of a file's name, without folders and without what means something to a shell or a header."""
    name = re.split(r"[/\\]", name)[-1]
    stem, dot, suffix = name.rpartition(".")
    stem, suffix = (stem, f".{suffix.lower()}") if dot else (name, "")
    stem = re.sub(r"[^\w.-]+", "_", stem[:NAME]).strip("._-")
    return stem.encode("utf-8", "replace").decode() or "file", suffix


@dataclass(frozen=True)
class _Stored:
    path: Path
    name: str
    media_type: str
    bytes: int
    until: float


@dataclass(frozen=True)
class Download:
    """A translated file, as it is sent."""

    content: bytes
    media_type: str
    headers: dict[str, str]


class FileStore:
    """A bounded number of files, in a folder of their own that only this server reads.

    A file is found by its name in a table, never by a path: what a client asks for does not reach the file system.
    """

    def __init__(self, settings: ServerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self.folder: Path | None = None
        self._stored: dict[str, _Stored] = {}

    def __len__(self) -> int:
        return len(self._stored)

    async def put(self, file: TextFile, target: str, text: str) -> str:
        """Keep a translated file; return the name to ask for."""
        content = await asyncio.to_thread(file.with_text, text)
        token, name = str(uuid.uuid4()), f"{file.stem}_{target}{file.suffix}"
        path = self._open() / token
        stored = _Stored(path, name, MEDIA_TYPES[file.suffix], len(content), self._clock() + self._settings.file_age)
        self._stored[f"{token}.{name}"] = stored  # before it is written: a client that leaves meanwhile leaves no file
        self._make_room()
        asyncio.get_running_loop().call_later(self._settings.file_age + 1, self._make_room)
        try:
            await asyncio.to_thread(path.write_bytes, content)
        except OSError:
            raise Unavailable("the translated file cannot be stored", retry_after=60) from None
        return f"{token}.{name}"

    async def get(self, name: str) -> Download:
        self._make_room()
        try:
            stored = self._stored[name]
            content = await asyncio.to_thread(stored.path.read_bytes)
        except (KeyError, OSError):
            raise NotFound("File not found: it was never here, or it has expired") from None
        plain = stored.name.encode("ascii", "replace").decode().replace("?", "_")
        disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(stored.name, safe='')}"
        headers = {
            "Content-Disposition": disposition,
            "Content-Security-Policy": "sandbox; default-src 'none'",  # it is a stranger's HTML
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        return Download(content, stored.media_type, headers)

    def _open(self) -> Path:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="dragoman-files-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        return self.folder

    def _make_room(self) -> None:
        """Drop what is too old, then the oldest until number and bytes are in their bounds."""
        now, most = self._clock(), self._settings.files * self._settings.file_bytes
        size = sum(stored.bytes for stored in self._stored.values())
        for name, stored in list(self._stored.items()):
            if stored.until > now and len(self._stored) <= self._settings.files and size <= most:
                return
            size -= stored.bytes
            del self._stored[name]
            stored.path.unlink(missing_ok=True)
