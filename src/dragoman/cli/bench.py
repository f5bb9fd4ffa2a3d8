"""dragoman bench: training steps and decoding, side by side with PyTorch and CTranslate2."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dragoman.cli.options import console
from dragoman.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from dragoman.bench.run import Results

QUICK: dict[str, Any] = {"starts": False, "rounds": 3, "block": 0.15, "idle": 0.22, "decoded": 128}


def bench(
    only: Annotated[
        str | None,
        typer.Option(
            help="Presets and workloads: small,grouped (equal, grouped, unsorted, long, language-model, classifier, "
            "decoding, epoch, scaling)."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few short rounds and no cold starts: faster, with more noise.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of alternating blocks; default: 12.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads for all; default: the cores, and its own for PyTorch.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="FILE", help="Sentence pairs to draw real batches from.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Decode with this trained model instead of random weights.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="CHECKOUT", help="Compare training with Dragoman of this checkout instead.")
    ] = None,
    compile: Annotated[bool, typer.Option("--compile", help="Also torch.compile.")] = False,
    scaling: Annotated[bool, typer.Option("--scaling", help="Also time and memory as the work grows.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the ratios: a .png or .svg file.")] = None,
) -> None:
    """Measure Dragoman side by side with PyTorch and CTranslate2 on this machine. Close other programs first."""
    from dragoman.bench.machine import BUSY, load
    from dragoman.bench.run import run
    from dragoman.bench.workloads import DECODING, SCALING, Settings, parse_only

    screen, progress = console(), console(stderr=True)
    for path in (json_file, plot):
        if path is not None and not path.resolve().parent.is_dir():
            raise ConfigurationError(f"{path}: there is no directory {path.resolve().parent} to write it into")
    presets, workloads = parse_only(only)
    if scaling and SCALING not in workloads:
        workloads += (SCALING,)
    if against is not None and DECODING not in (only or ""):
        workloads = tuple(name for name in workloads if name != DECODING)
    settings = Settings(
        presets, workloads, threads=threads, corpus=corpus, model=model, compile=compile, against=against
    )
    if quick:
        settings = replace(settings, **QUICK)
    if rounds is not None:
        settings = replace(settings, rounds=rounds)

    def say(text: str) -> None:
        progress.print(text, style="dim", highlight=False, markup=False)

    if (load() or 0.0) > BUSY:
        say(f"other processes are running (load {load():.1f}): ratios will be wrong, mostly in Dragoman's favour")
    results = run(settings, say)
    _print(results, screen)
    if json_file is not None:
        _write(json_file, json.dumps(results.as_dict(), indent=2), screen)
    if plot is not None:
        _draw(results, plot, screen)


def _print(results: Results, screen: Console) -> None:
    from dragoman.bench.report import decoding_table, remarks, scaling_table, training_table

    for kind, table in (("training", training_table), ("decoding", decoding_table)):
        rows = [row for row in results.rows if row.kind == kind]
        if rows:
            screen.print(table(rows))
    if results.scaling:
        screen.print(scaling_table(results.scaling))
    for text in remarks(results):
        screen.print(text, highlight=False, markup=False)


def _write(path: Path, text: str, screen: Console) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} could not be written: {error}") from None
    screen.print(f"{path}", highlight=False, markup=False)


def _draw(results: Results, path: Path, screen: Console) -> None:
    """Draw the ratios to `path`, and the curves to a file named -scaling beside it."""
    from dragoman.analysis.figures import save_figure
    from dragoman.bench.figures import ratios_figure, scaling_figure

    figures = {path: ratios_figure(results.rows)} if results.rows else {}
    if results.scaling:
        figures[path.with_stem(f"{path.stem}-scaling")] = scaling_figure(results.scaling)
    for place, figure in figures.items():
        save_figure(figure, place)
        screen.print(f"{place}", highlight=False, markup=False)
