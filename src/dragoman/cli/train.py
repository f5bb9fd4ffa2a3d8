"""dragoman train: from data to a model."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from dragoman.cli.options import (
    Fill,
    ReadingOptions,
    Shares,
    column_from,
    columns_from,
    console,
    given_only,
    hint,
    is_quiet,
    shares_of,
    with_reading_options,
)
from dragoman.cli.quality import print_quality
from dragoman.cli.spreading import all_ranks
from dragoman.errors import ConfigurationError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.configuration import Settings, TrainingConfiguration


@with_reading_options()
def train(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Data (for translation sentence pairs), a folder from `data split`, a built-in corpus (phrases), "
            "or one configuration.toml.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Model directory; training into it again resumes.")] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="translation (default), language-model, classification, regression, tagging, image-classification, "
            "captioning or forecasting."
        ),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="transformer, rnn, lstm, gru; of translators also gru-attention ...; of texts bag (their default); of "
            "images transformer (their default), convolutional, two-layer, class-token."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="small, medium or large; default: by the data.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Columns that hold the text, by number from 1 or by name: 2 or title,body.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the label, by number from 1 or by name.")] = None,
    resize: Annotated[
        str | None, typer.Option(metavar="HxW", help="Of images: resize all to this height and width, such as 28x28.")
    ] = None,
    fill: Fill = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Of series: rows to forecast; default: a season.")] = None,
    recipe: Annotated[str | None, typer.Option(help="modern (default) or thesis.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time to train in: 30m, 2h, 1h30m.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training part.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Stop at this training accuracy.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after this many evaluations without improvement.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; default: the number of cores.")] = None,
    sharded_optimizer: Annotated[
        bool,
        typer.Option(
            "--sharded-optimizer", help="Each process keeps a share of the moments.", rich_help_panel="Under torchrun"
        ),
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    shares: Shares = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="MODEL", help="Fine-tune a trained model, with its vocabulary.")
    ] = None,
    replay: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="With --from: pairs of the old corpus to mix in; default: as many as new ones, 0: none.",
        ),
    ] = None,
    part: Annotated[str | None, typer.Option("--part", help="Train encoder, decoder or output alone.")] = None,
    scores: Annotated[str | None, typer.Option(help="Also measure at every evaluation: bleu,chrf")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Print this many sample translations at every evaluation.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Keep no texts: no testing part, golden answers or cached dataset.")
    ] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting: optimizer.rate=0.002")
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Train a model: a translator from sentence pairs, or another --task. Run the same command again to resume."""
    from dragoman.tasks.configuration import merged, read_assignments

    options: dict[str, Any] = {
        "out": None if out is None else str(out),
        "task": task,
        "architecture": architecture,
        "preset": preset,
        "recipe": recipe,
        "seed": seed,
        "threads": threads,
        "sharded_optimizer": sharded_optimizer or None,
        "private": private or None,
        "data": {
            **reading.settings(any_columns=task == "forecasting"),
            "shares": shares_of(shares),
            "fill": fill,
            "horizon": horizon,
            "text": columns_from(text),
            "label": column_from(label),
            "resize": resize,
        },
        "stopping": {"budget": budget, "epochs": epochs, "accuracy": accuracy, "patience": patience},
        "progress": {
            "scores": None if scores is None else [name.strip() for name in scores.split(",")],
            "samples": samples,
            "tensorboard": tensorboard or None,
        },
        "start": {"model": start, "replay": replay, "train": part},
    }
    given, asked = read_settings(files, merged(given_only(options), read_assignments(assignments or [])))
    with all_ranks():
        code = _train(given, asked, console())
    if code:
        raise typer.Exit(code)


def read_settings(
    files: list[str], options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> tuple[Settings, TrainingConfiguration]:
    """Merge the options over a configuration file, or over the names of data files, and validate the result.

    Returns the settings as they were given and the configuration they make.
    """
    from dragoman.tasks.configuration import configuration, merged, read_toml

    is_configuration = any(name.endswith(".toml") for name in files)
    if is_configuration and len(files) > 1:
        raise ConfigurationError("a configuration must be the only argument; set data.files in it")
    from_files = read_toml(Path(files[0])) if is_configuration else {"data": {"files": list(files)}}
    given = merged(defaults or {}, from_files, options)
    try:
        return given, configuration(given)
    except ConfigurationError:
        if is_configuration:
            configuration(from_files, files[0])  # a mistake in the file is reported with its name
        raise


def _train(given: Settings, asked: TrainingConfiguration, screen: Console) -> int:
    from dragoman.cli.progress import TrainingProgress
    from dragoman.tasks.task import find_task
    from dragoman.tasks.training import train_model
    from dragoman.training.interrupts import Interrupts
    from dragoman.training.workers import keep_freed_memory

    keep_freed_memory()
    out = Path(asked.out)
    progress, interrupts = TrainingProgress(screen, is_quiet()), Interrupts()
    try:
        model, outcome = train_model(given, out, progress, interrupts, progress.tell, asked)
    finally:
        progress.close()
    ended = model.metadata.training
    stopped = "Stopped" if outcome.records or not outcome.finished else "Nothing left to do"
    screen.print(f"{stopped}: {outcome.reason}.", highlight=False, markup=False)
    length = f"{counted(ended['steps'], 'step')}, {counted(ended['epochs'], 'epoch')}"
    screen.print(f"The model is in {out} ({model.metadata.parameters:,} parameters, {length}).", highlight=False)
    if ended.get("compared"):
        _print_compared(ended["compared"], screen)
    if not outcome.finished:
        hint(screen, "Run the same command again to resume.")
    elif asked.private:
        place = shlex.quote(str(out))
        screen.print(
            f"It keeps no texts, so its quality was not measured: `dragoman evaluate {place} FILE` does, on a file.",
            highlight=False,
            markup=False,
        )
    elif outcome.records:
        print_quality(model, out, screen)
    hint(screen, "Next:", *(f"  {command}" for command in find_task(asked.task).next_commands(out)))
    return 0 if outcome.finished else 128 + (interrupts.signal or signal.SIGINT)


def _print_compared(compared: list[dict[str, Any]], screen: Console) -> None:
    """Print scores before and after fine-tuning, on new and on old pairs; 80 columns are enough."""
    table = Table(title="Before and after fine-tuning", title_justify="left", header_style="dim")
    table.show_edge = table.pad_edge = False
    table.add_column("pairs", no_wrap=True)
    for heading in ("", "error before", "after", "BLEU before", "after", "word for word before", "after"):
        table.add_column(heading, justify="right")
    for row in compared:
        errors, bleus = (f"{value:.4f}" for value in row["error"]), (f"{value:.2f}" for value in row["bleu"])
        table.add_row(row["pairs"], f"{row['count']:,}", *errors, *bleus, *(f"{value:,}" for value in row["exact"]))
    screen.print(table)
    screen.print(f"BLEU  {compared[0]['signature']}", style="dim", highlight=False, markup=False)
