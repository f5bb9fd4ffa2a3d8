"""dragoman data prepare: a large corpus, encoded once, to train on."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from dragoman.cli.options import (
    ReadingOptions,
    Shares,
    console,
    given_only,
    hint,
    is_quiet,
    shares_of,
    with_reading_options,
)
from dragoman.errors import ConfigurationError

MANY = 100_000  # validation pairs above which a smaller share is advised


@with_reading_options()
def prepare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Directories of .parquet, .jsonl, .tsv files (also .gz, .zst ...), files, or addresses: s3://bucket/dir.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Directory to write; `train` takes it.")],
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default: the number of cores.")] = None,
    shares: Shares = None,
    seed: Annotated[int, typer.Option(help="Random seed of the split and of the sample.")] = 0,
    start: Annotated[
        str | None, typer.Option("--from", metavar="MODEL", help="Use a model's vocabulary, to fine-tune it.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the data: data.joint=true"),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Read, split and encode a corpus of any size in parallel and in bounded memory, to train on it."""
    from dragoman.tasks.configuration import configuration, merged, read_assignments
    from dragoman.tasks.translation.prepared import prepare_corpus
    from dragoman.tasks.translation.translator import Translator
    from dragoman.training.workers import physical_cores

    options = {"data": {"files": sources, **reading.settings(), "shares": shares_of(shares)}, "seed": seed}
    given = merged(given_only(options), read_assignments(assignments or []))
    if others := sorted(given.keys() - options.keys()):
        raise ConfigurationError(f"--set {others[0]}...: only settings of the section data are used here")
    asked: Any = configuration(given)
    base = None if start is None else Translator.load(Path(start))
    screen, began = console(), time.perf_counter()
    with _Progress(screen) as progress:
        dataset, problems = prepare_corpus(asked.data, out, seed, workers or physical_cores(), base, progress.tell)
    for line in problems.lines():
        screen.print(line, style="yellow", highlight=False, markup=False)
    _report(dataset.about, time.perf_counter() - began, screen)
    command = shlex.join(["dragoman", "train", str(out), *(["--from", start] if start else []), "--out", "model"])
    hint(screen, f"Next: {command}")


def _report(about: dict[str, Any], seconds: float, screen: Console) -> None:
    parts, (source, target) = about["parts"], about["vocabularies"]
    screen.print(
        f"{about['samples']:,} pairs: {parts['training']:,} to train on, {parts['validation']:,} to validate on, "
        f"{parts['testing']:,} to test on; vocabularies of {source:,} and {target:,} tokens "
        f"({about['samples'] / seconds:,.0f} pairs/s)",
        highlight=False,
    )
    if about["left_out"]:
        screen.print(
            f"{about['left_out']:,} pairs are too long and left out: {about['left_out_example']}",
            style="yellow",
            highlight=False,
            markup=False,
        )
    if parts["validation"] > MANY:
        screen.print(
            f"every evaluation goes through all {parts['validation']:,} validation pairs; --shares 99.8,0.1,0.1 "
            "leaves fewer",
            style="yellow",
            highlight=False,
        )


class _Progress:
    """A bar for each stage, in a terminal only."""

    def __init__(self, screen: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bars = Progress(*columns, console=screen, transient=True, disable=is_quiet() or not screen.is_terminal)
        self.stages: dict[str, Any] = {}

    def __enter__(self) -> _Progress:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def tell(self, what: str, done: int, total: int) -> None:
        if what not in self.stages:
            self.stages[what] = self.bars.add_task(what)
        self.bars.update(self.stages[what], completed=done, total=total)
