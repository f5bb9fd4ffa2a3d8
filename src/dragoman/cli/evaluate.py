"""dragoman evaluate: the testing analysis of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import (
    AsJson,
    Fill,
    ReadingOptions,
    column_from,
    columns_from,
    given_only,
    with_reading_options,
)
from dragoman.cli.spreading import on_all_ranks


@with_reading_options()
@on_all_ranks
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="Pairs; default: the model's own testing part.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the search, up to 256; 1 is greedy, and faster.")] = 4,
    text: Annotated[str | None, typer.Option(help="Columns that hold the text; default: as in training.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the label; default: as in training.")] = None,
    resize: Annotated[bool, typer.Option("--resize", help="Resize images to the size of the model's.")] = False,
    fill: Fill = None,
    most: Annotated[int | None, typer.Option(min=1, help="Only the first so many pairs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of report.html and report.json.")] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Measure a model on its own testing part or on a file; writes report.html and report.json."""
    from dragoman.cli.report import evaluate_model
    from dragoman.tasks.model import load_metadata

    forecasting = load_metadata(model).task == "forecasting"
    columns = {"text": columns_from(text), "label": column_from(label)}
    settings = {**reading.settings(any_columns=forecasting), **columns, "resize": resize or None, "fill": fill}
    evaluate_model(model, files or (), given_only(settings), beam, most, out, as_json)
