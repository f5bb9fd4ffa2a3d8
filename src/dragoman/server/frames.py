"""Messages between the front process and its workers: JSON with its length before it, over pipes."""

from __future__ import annotations

import json
import struct
from typing import Any

from dragoman.errors import FileFormatError

LENGTH = struct.Struct(">I")
LONGEST = 2**30  # bytes of a message: more is no message of ours

Message = dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def pack(message: Message) -> bytes:
    text = _encode(message).encode()
    return LENGTH.pack(len(text)) + text


class Unpacker:
    """Puts messages together from what comes out of a pipe, in whatever parts it comes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now."""
        self._data += data
        found: list[Message] = []
        at = 0
        while (start := at + LENGTH.size) <= len(self._data):
            (length,) = LENGTH.unpack_from(self._data, at)
            if length > LONGEST:
                raise FileFormatError(f"a message of {length:,} bytes between processes; something else wrote it")
            if start + length > len(self._data):
                break
            at = start + length
            found.append(json.loads(self._data[start:at]))
        del self._data[:at]
        return found
