"""Messages between the front process and its workers: JSON with its length before it, over pipes."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

from dragoman.errors import FileFormatError

LENGTH = struct.Struct(">I")
LONGEST = 2**30  # bytes of a message: more is no message of ours

Message = dict[str, Any]


def pack(message: Message) -> bytes:
    text = json.dumps(message, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return LENGTH.pack(len(text)) + text


def read(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    text = stream.read(_checked(head))
    return _message(text)


async def read_async(stream: asyncio.StreamReader) -> Message | None:
    """The next message; None at the end of the stream, also in the middle of a message."""
    try:
        head = await stream.readexactly(LENGTH.size)
        text = await stream.readexactly(_checked(head))
    except asyncio.IncompleteReadError:
        return None
    return _message(text)


def _checked(head: bytes) -> int:
    (length,) = LENGTH.unpack(head)
    if length > LONGEST:
        raise FileFormatError(f"a message of {length:,} bytes between processes; something else wrote into the pipe")
    return int(length)


def _message(text: bytes) -> Message:
    found: Message = json.loads(text)
    return found
