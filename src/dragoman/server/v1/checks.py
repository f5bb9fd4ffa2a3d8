"""Sizes of requests, as the settings of the server allow them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from dragoman.server.errors import BadRequest, TooLarge
from dragoman.server.settings import ServerSettings


def check_texts(texts: Sequence[str], settings: ServerSettings, characters: int | None = None) -> None:
    """Refuse too many texts, or too long ones.

    characters  that each may have, if that is less than the server takes
    """
    if not texts:
        raise BadRequest("there is no text in the request")
    if len(texts) > settings.texts:
        raise TooLarge(f"the request has {len(texts):,} texts, more than {settings.texts:,}; send several requests")
    total = sum(map(len, texts))
    if total > settings.characters:
        raise TooLarge(
            f"the request has {total:,} characters, more than {settings.characters:,}; send several requests"
        )
    longest = max(map(len, texts))
    if characters is not None and longest > characters:
        raise TooLarge(f"a text has {longest:,} characters, more than {characters:,}; cut it")


def check_images(images: Sequence[str], settings: ServerSettings) -> None:
    """Refuse images in base64 that are too large."""
    for number, image in enumerate(images, start=1):
        check_image_bytes(len(image) * 3 // 4, settings, f"image {number}")


def check_image_bytes(count: int, settings: ServerSettings, name: str) -> None:
    if count > settings.image_bytes:
        raise TooLarge(f"{name} has {count:,} bytes, more than {settings.image_bytes:,}; make it smaller first")


def check_table_bytes(count: int, settings: ServerSettings) -> None:
    if count > settings.file_bytes:
        raise TooLarge(f"the table has {count:,} bytes, more than {settings.file_bytes:,}; its last rows are enough")


def check_tokens(tokens: int, settings: ServerSettings) -> None:
    if tokens > settings.tokens:
        raise BadRequest(f"'tokens' must be at most {settings.tokens:,} on this server, got {tokens:,}")


async def in_parts(
    run: Callable[[Sequence[Any]], Awaitable[dict[str, Any]]], items: Sequence[Any], size: int, name: str
) -> list[Any]:
    """The results of several small jobs one after the other: between them, a worker answers others."""
    found: list[Any] = []
    for start in range(0, len(items), size):
        found += (await run(items[start : start + size]))[name]
    return found
