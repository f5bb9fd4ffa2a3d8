"""Errors that a client gets as `{"error": message}` with their status."""

from __future__ import annotations

import traceback

from dragoman.errors import DragomanError


class ServerError(DragomanError):
    """A request that cannot be answered.

    retry_after  seconds after which the same request may succeed
    """

    status = 500

    def __init__(self, message: str, status: int | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = self.status if status is None else status
        self.retry_after = retry_after


class BadRequest(ServerError):
    status = 400


class Forbidden(ServerError):
    status = 403


class WrongKey(Forbidden):
    """A key that is not known: an address that sends many of them must wait."""


class NotFound(ServerError):
    status = 404


class TooLarge(ServerError):
    status = 413


class TooMany(ServerError):
    status = 429


class Unavailable(ServerError):
    status = 503


def places(error: BaseException) -> str:
    """Where an error comes from, for the log. Its message is left out: it may hold what people write."""
    return "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)))
