"""dragoman score: how probable texts are to a language model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import Encoding
from dragoman.cli.spreading import on_all_ranks, shared_chunks
from dragoman.errors import ConfigurationError, DataError
from dragoman.ranks import current

if TYPE_CHECKING:
    from dragoman.tasks.language_model.scoring import TextScore


@on_all_ranks
def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A language model that `dragoman train` wrote.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT|FILE]", help="A text, a file scored line by line, or standard input.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Score a file as one text, not line by line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line: text and all numbers.")] = False,
    encoding: Encoding = None,
) -> None:
    """Print log-probability (nats), perplexity, bits per character and the text, separated by tabs, for every line."""
    from dragoman.cli.inputs import Input
    from dragoman.tasks.language_model.generator import TextGenerator

    is_text = text is not None and Input(text).is_text
    generator = TextGenerator.load(model)
    choose_engine(is_text)

    def scored(lines: list[str]) -> list[str]:
        return [_written(found, text if whole else None, as_json) for found in generator.score(lines)]

    for lines in shared_chunks(lambda: _chunks(text, is_text, whole, encoding)):
        for line in current().spread(scored, lines):
            typer.echo(line)


def _written(found: TextScore, name: str | None, as_json: bool) -> str:
    """A line of numbers, with the name of a file or its text."""
    if as_json:
        return json.dumps(found.as_dict(), ensure_ascii=False)
    numbers = (found.log_probability, found.perplexity, found.bits_per_character)
    shown = ["-" if math.isnan(number) else f"{number:.4f}" for number in numbers]
    return "\t".join([*shown, " ".join(found.text.splitlines()) if name is None else name])


def _chunks(text: str | None, is_text: bool, whole: bool, encoding: str | None) -> Iterator[list[str]]:
    """The texts, some at a time."""
    from dragoman.cli.inputs import UTF_8, Input
    from dragoman.cli.paths import looks_like_path
    from dragoman.data.text_files import TextFiles

    if whole and (is_text or text in (None, "-")):
        raise ConfigurationError("--whole goes with a FILE")
    if text is not None and is_text:
        if looks_like_path(text):
            raise DataError(f"{text} does not exist; check the path. To score the words themselves, pipe them in")
        yield [text]
    elif text is not None and whole:
        yield ["".join(piece or "" for piece in TextFiles((text,), encoding or UTF_8))]
    else:
        yield from Input(text or "-", "plain", encoding=encoding or UTF_8).chunks()
