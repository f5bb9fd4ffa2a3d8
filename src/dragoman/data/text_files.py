"""Plain texts, read piece by piece."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.cache import file_digest
from dragoman.data.documents import document_by_bytes
from dragoman.data.source import NAME_ENCODING, Source
from dragoman.errors import DataError

CHUNK = 1 << 20  # characters read together


@dataclass(frozen=True)
class TextFiles:
    """Plain texts, read one after the other each time they are iterated over, in bounded memory."""

    names: tuple[str, ...]
    encoding: str = "utf-8"

    def digest(self) -> str:
        """Of the contents and of how they are read."""
        contents = [file_digest(Path(name)) for name in self.names]
        return hashlib.sha256("\n".join([*contents, self.encoding]).encode()).hexdigest()

    def __iter__(self) -> Iterator[str | None]:
        """Pieces of text that end with a line, or before a space where a line is too long; None between two files."""
        for i, name in enumerate(self.names):
            if i:
                yield None
            yield from self._pieces(Source(name, self.encoding))

    def _pieces(self, source: Source) -> Iterator[str]:
        with source.open() as stream:
            buffered = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
            _refuse_binary(source, buffered)
            text = io.TextIOWrapper(buffered, source.encoding)  # every kind of line end becomes \n
            empty, rest = True, ""
            try:
                while piece := text.read(CHUNK):
                    if "\0" in piece:
                        raise DataError(f"{source.shown} is not text: it has NUL characters; {NAME_ENCODING}")
                    rest += piece.removeprefix("\ufeff") if empty else piece
                    empty, place = False, _last_cut(rest)
                    if place:
                        yield rest[:place]
                        rest = rest[place:]
            except UnicodeError as error:
                raise DataError(f"{source.shown} is not {source.encoding} text: {error}; {NAME_ENCODING}") from None
            finally:
                text.detach()
            if rest:
                yield rest
            elif empty:
                raise DataError(f"{source.shown} is empty; a language model needs a text to learn from")


def _refuse_binary(source: Source, stream: Any) -> None:
    beginning = bytes(stream.peek(512))[:512] if hasattr(stream, "peek") else b""
    kind = document_by_bytes(beginning)
    if kind is not None and len("a".encode(source.encoding)) == 1:
        raise DataError(f"{source.shown} is {kind.what}; a language model is trained on plain text. {kind.advice}")


def _last_cut(text: str) -> int:
    """Where a text can be cut so that its pieces have the same tokens as the whole."""
    return text.rfind("\n") + 1 or (max(0, text.rfind(" ")) or len(text) if len(text) >= CHUNK else 0)
