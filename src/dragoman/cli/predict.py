"""dragoman predict: what a model says of texts, one line for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import TextOptions, check_on_bad_line, with_text_options
from dragoman.cli.spreading import on_all_ranks, shared_chunks
from dragoman.cli.translate import written_output
from dragoman.errors import ConfigurationError
from dragoman.ranks import current


@with_text_options
@on_all_ranks
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]",
            help="A text, or a file of lines or a table; default: standard input. For a model of images: image files "
            "and folders.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output file; it is replaced only when complete.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also say which words decided.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with everything.")] = False,
    resize: Annotated[
        bool, typer.Option("--resize", help="Resize images that have another size than those of the training.")
    ] = False,
    *,
    reading: TextOptions,
) -> None:
    """Predict classes or numbers for a text, a file line by line, a column of a table, standard input, or images."""
    from dragoman.cli.images import predict_images
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task, wrong_command

    names, task = text or [], find_task(load_metadata(model).task)
    if task.reads_images and task.command == "predict":
        check_on_bad_line(reading.on_bad_line)
        for option, value in {"--explain": explain, "--format": reading.format, "--column": reading.column}.items():
            if value:
                raise ConfigurationError(f"{option} is for models of texts; leave it out")
        predict_images(task.load(model), names, resize, reading.on_bad_line == "skip", out, as_json)
        return
    if resize:
        raise ConfigurationError(f"--resize is for models of images, and {model} reads texts")
    if len(names) > 1:
        raise ConfigurationError(f"one text or file is expected, got {len(names)}; put a text into quotation marks")
    given = reading.input(names[0] if names else None, "predict", "text")
    if task.command != "predict":
        raise ConfigurationError(wrong_command(model, task.name))
    found = task.load(model)
    if explain and not hasattr(found, "explain"):
        raise ConfigurationError(f"a model for {task.name} does not say which words decided; leave --explain out")
    choose_engine(given.is_text)
    read = empty = 0

    def predicted(lines: list[str]) -> list[str]:
        return [
            _written(line, prediction, found.explain(line) if explain else None, as_json)
            for line, prediction in zip(lines, found.predict(lines), strict=True)
        ]

    columns = ["prediction", *["probability"] * (task.name == "classification"), *["explanation"] * explain]
    table = given.table_format(out, as_json)
    with written_output(out, None if given.is_text else given.given) as file:
        write = given.results(file, table, columns)
        for lines in shared_chunks(given.chunks):
            read, empty = read + len(lines), empty + sum(not line.strip() for line in lines)
            for line, result in zip(lines, current().spread(predicted, lines), strict=True):
                write([result], result.split("\t") if line.strip() else [])
            file.flush()
    if empty and not table:
        texts = "the text is" if read == 1 else f"{empty:,} of {read:,} texts {'is' if empty == 1 else 'are'}"
        typer.echo(f"warning: {texts} empty: a prediction from nothing", err=True)


def _written(text: str, prediction: Any, explanation: Any, as_json: bool) -> str:
    if as_json:
        found = {"text": text, **prediction.as_dict()}
        if explanation is not None:
            found["explanation"] = explanation.as_dict()
        return json.dumps(found, ensure_ascii=False)
    why = "" if explanation is None else f"\t{explanation.line()}"
    return f"{prediction.line()}{why}"
