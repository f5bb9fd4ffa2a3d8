"""dragoman features: contextual vectors of words and sentences, and a search over them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import Encoding, Header, OnBadLine, console
from dragoman.errors import ConfigurationError, DataError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.features import TextFeatures


def features(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="A text, or a file of lines or a table; default: standard input."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="vectors.npz or vectors.tsv; default: lines on standard output.")
    ] = None,
    level: Annotated[str, typer.Option(help="word: a vector for each word; sentence: one for each line.")] = "word",
    nearest: Annotated[
        str | None,
        typer.Option("--nearest", "--search", metavar="QUERY", help="Print the lines most similar to this text."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Lines that --nearest prints.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print what --nearest finds as JSON.")] = False,
    format: Annotated[
        str | None,
        typer.Option(help="Format of a file: plain (line by line), tsv, csv, jsonl or parquet; default: by extension."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column of a table, by number from 1 or by name; default: the first.")
    ] = None,
    header: Header = None,
    encoding: Encoding = None,
    on_bad_line: OnBadLine = None,
) -> None:
    """Write the vectors that a model gives to words and sentences: the same word in two sentences has two vectors.

    With --nearest: search the lines of a file by meaning (cosine of sentence vectors).
    """
    from dragoman.cli.inputs import UTF_8, Input
    from dragoman.tasks.features import features_of
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task
    from dragoman.tasks.vector_files import TsvWriter, check_name, written_vectors

    if level not in ("word", "sentence"):
        raise ConfigurationError(f"--level is word or sentence, got '{level}'")
    if out is not None:
        check_name(out)
    if nearest is not None and out is not None:
        raise ConfigurationError("--nearest prints what it finds; leave --out out")
    given = Input("-" if text is None else text, format, column, on_bad_line or "error", header, encoding or UTF_8)
    task = find_task(load_metadata(model).task)
    if task.reads_images:
        raise ConfigurationError(f"features are those of texts, and {model} is a model of images")
    loaded: Any = task.load(model)
    choose_engine(given.is_text)
    chunks = ((lines, features_of(loaded, lines)) for lines in given.chunks())
    if nearest is not None:
        _search(loaded, nearest, chunks, top, as_json)
        return
    chosen = cast("Literal['word', 'sentence']", level)
    if out is None:
        writer = TsvWriter(sys.stdout, chosen)
        for lines, found in chunks:
            writer.add(lines, found)
        return
    lines_done = words_done = depth = 0
    with written_vectors(out, chosen) as file:
        for lines, found in chunks:
            file.add(lines, found)
            lines_done, words_done = lines_done + len(lines), words_done + sum(len(each.words) for each in found)
            depth = len(found[0].sentence)
        if not lines_done:
            raise DataError(f"{given.given} holds no text")
    count = (
        counted(words_done, "word") + f" of {counted(lines_done, 'line')}"
        if level == "word"
        else counted(lines_done, "line")
    )
    console().print(f"{count}, vectors of depth {depth}: {out}", highlight=False, markup=False)


def _search(
    model: Any, query: str, chunks: Iterator[tuple[list[str], list[TextFeatures]]], top: int, as_json: bool
) -> None:
    from dragoman.tasks.features import features_of
    from dragoman.tasks.vector_files import nearest

    asked = features_of(model, [query])[0]
    if not asked.words:
        raise ConfigurationError("--nearest takes a text of at least one word")
    found = nearest(asked.sentence, chunks, top)
    if as_json:
        rows = [{"cosine": round(cosine, 4), "line": line, "text": text} for cosine, line, text in found]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    width = max((len(f"{line:,}") for _, line, _ in found), default=1)
    for cosine, line, text in found:
        typer.echo(f"{cosine:6.3f}  {line:>{width},}  {text}")
