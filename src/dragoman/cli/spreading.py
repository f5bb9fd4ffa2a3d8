"""Commands under torchrun: all ranks share the work, and the first alone reads texts, prints and writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from dragoman.distributed import joined
from dragoman.errors import DragomanError
from dragoman.ranks import Ranks, current

Command = Callable[..., None]


@contextmanager
def all_ranks() -> Iterator[Ranks]:
    """Join the other ranks; all but the first are silent, unless they fail."""
    with joined() as ranks, ExitStack() as redirected:
        if not ranks.first:
            nowhere = redirected.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
            redirected.enter_context(redirect_stdout(nowhere))
            redirected.enter_context(redirect_stderr(nowhere))
        yield ranks


def on_all_ranks(command: Command) -> Command:
    """Run a command on all ranks."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with all_ranks():
            command(*arguments, **options)

    return run


def shared_chunks(read: Callable[[], Iterable[list[str]]]) -> Iterator[list[str]]:
    """Chunks of texts that the first rank reads, on all ranks; its error is printed once and ends all."""
    ranks = current()
    chunks = _lazily(read) if ranks.first else iter(())
    while True:
        try:
            chunk = next(chunks, None)
        except DragomanError:
            ranks.share(["failed", None])
            raise
        state, chunk = ranks.share(["read", chunk])
        if state == "failed":
            raise typer.Exit(2)
        if chunk is None:
            return
        yield chunk


def _lazily(read: Callable[[], Iterable[list[str]]]) -> Iterator[list[str]]:
    yield from read()
