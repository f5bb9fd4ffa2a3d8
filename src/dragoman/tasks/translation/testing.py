"""The pairs that a translator was not trained on, kept with it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

from dragoman.errors import FileFormatError
from dragoman.tasks.model import written_testing

NAME = "testing.tsv.gz"


def save_testing(pairs: Iterable[tuple[str, str]], directory: Path) -> None:
    """The testing part as TSV; tabs and line ends inside a text become spaces, as they do in labels."""
    with written_testing(directory, NAME) as packed:
        for pair in pairs:
            packed.write(("\t".join(" ".join(text.split()) for text in pair) + "\n").encode())


def has_testing(directory: Path) -> bool:
    """Whether a model keeps a testing part; private ones do not."""
    return (directory / NAME).exists()


def load_testing(directory: Path) -> list[tuple[str, str]]:
    path = directory / NAME
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            return [(source, reference) for source, reference in (line.rstrip("\n").split("\t") for line in lines)]
    except FileNotFoundError:
        raise FileFormatError(f"{directory} has no testing pairs; give a file of pairs to evaluate on") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
