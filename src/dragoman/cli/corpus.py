"""Sentence pairs that a command of `dragoman data` looks at."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.data.corpus import Corpus
    from dragoman.data.readers import Reading

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Sentence pairs; - for standard input; train.en,train.es for two aligned files."
    ),
]


@contextmanager
def opened_corpus(pairs: Reading, console: Console) -> Iterator[Corpus]:
    """Copy the pairs to a temporary directory; skipped lines are reported."""
    from dragoman.data.corpus import Corpus

    with tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True) as directory:
        try:
            corpus = Corpus(pairs, Path(directory))
        except OSError as error:
            raise DragomanError(f"cannot write a working copy to {tempfile.gettempdir()}: {error}") from None
        for line in pairs.problems.lines():
            console.print(line, style="yellow", highlight=False, markup=False)
        if not len(corpus):
            raise DragomanError("these files hold no usable pair")
        yield corpus
