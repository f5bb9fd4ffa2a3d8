"""Options that several commands share."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.console import Console

from dragoman.errors import ConfigurationError

Format = Annotated[str | None, typer.Option(help="tsv, csv, jsonl, parquet, tmx, xliff, po ...; else by extension.")]
Columns = Annotated[str | None, typer.Option(help="Columns of source and reference, by number from 1 or by name: 1,3")]
Header = Annotated[bool | None, typer.Option(help="Whether a table's first line names its columns.")]
Languages = Annotated[str | None, typer.Option(help="Source and reference language of TMX and XLIFF: en,es")]
Encoding = Annotated[str, typer.Option(help="Encoding of the files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
OnBadLine = Annotated[str, typer.Option(help="What to do with a line that cannot be used: error or skip.")]


def console(stderr: bool = False) -> Console:
    """As wide as the terminal; where there is none, as COLUMNS says, or 120 columns."""
    found = Console(stderr=stderr)
    if found.is_terminal:
        return found
    width = os.environ.get("COLUMNS", "")
    return Console(stderr=stderr, width=int(width) if width.isdigit() and int(width) else 120, soft_wrap=True)


def columns_of(text: str | None) -> tuple[int | str, int | str] | None:
    """'1,3' counts from 1, as people do; readers count from 0."""
    chosen = two("--columns", text)
    if chosen is None:
        return None
    for column in chosen:
        if column.isdigit() and int(column) == 0:
            raise ConfigurationError("--columns counts from 1")
    source, reference = (int(column) - 1 if column.isdigit() else column for column in chosen)
    return source, reference


def two(option: str, text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(","))
    if len(parts) != 2 or not all(parts):
        raise ConfigurationError(f"{option} takes two, separated by a comma; got '{text}'")
    return parts[0], parts[1]
