"""From labels to text as it is written: never half a character, never the beginning of a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from dragoman.data.tokenizer import BYTES, FIRST_PIECE, MARK, SHOWN_UNKNOWN, Tokenizer
from dragoman.errors import ConfigurationError


class TextStream:
    """Turns labels into text, one by one.

    A character may be spelled in several labels, one for each byte: it is handed over when it is complete. Text that
    may be the beginning of a stop string is held back until it is known whether it is one.

    stopped  whether a stop string was written; it is no part of the text
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()) -> None:
        if not all(stop):
            raise ConfigurationError("a stop string has at least one character")
        self._tokenizer, self._stop = tokenizer, tuple(stop)
        self._bytes = {piece: byte for byte, piece in enumerate(BYTES)} if tokenizer.has_bytes else {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def add(self, label: int) -> str:
        """The text that is certain now."""
        (piece,) = self._tokenizer.pieces([label]) if label >= FIRST_PIECE else (SHOWN_UNKNOWN,)
        if piece in self._bytes:
            return self._released(self._decoder.decode(bytes([self._bytes[piece]])))
        before = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        text = piece[2:] if len(piece) > 2 and piece.startswith("##") else piece
        return self._released(before + text.replace(MARK, " "))

    def end(self) -> str:
        """What was held back, when nothing more comes."""
        text = self._released(self._decoder.decode(b"", final=True)) + ("" if self.stopped else self._held)
        self._held = ""
        return text

    def _released(self, text: str) -> str:
        """What can be handed over of the text that is held back and some more."""
        if self.stopped:
            return ""
        text = self._held + text
        found = [place for place in (text.find(stop) for stop in self._stop) if place >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        kept = max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of a text begin a stop string."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
