"""dragoman plan: predict speed, memory and time of every preset on this machine."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dragoman.cli.options import (
    AsJson,
    Fill,
    ReadingOptions,
    column_from,
    columns_from,
    console,
    given_only,
    hint,
    new_table,
    with_reading_options,
)

if TYPE_CHECKING:
    from dragoman.tasks.planning import Speed


@with_reading_options()
def plan(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Sentence pairs, or anything else that `train` accepts.")
    ],
    budget: Annotated[str | None, typer.Option(help="Time budget: 30m, 2h, 1h30m; default: 1h.")] = None,
    task: Annotated[str | None, typer.Option(help="translation (default), or another task of `train`.")] = None,
    architecture: Annotated[str | None, typer.Option(help="transformer (default), gru-attention, lstm ...")] = None,
    recipe: Annotated[str | None, typer.Option(help="modern (default) or thesis.")] = None,
    text: Annotated[str | None, typer.Option(help="Columns that hold the text: 2 or title,body.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the label.")] = None,
    resize: Annotated[str | None, typer.Option(metavar="HxW", help="Of images: resize all to this size.")] = None,
    fill: Fill = None,
    nodes: Annotated[
        int | None, typer.Option(min=2, help="Also predict a training on this many machines like this one.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(help="With --nodes: bits per second between them: 100M, 1G, 10G.")
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Measure this machine for some seconds and predict speed, memory and time of every preset."""
    from dragoman.cli.nodes import network_of, predictions, print_predictions, start_command
    from dragoman.cli.train import read_settings
    from dragoman.engines.compute import fast_compute
    from dragoman.networks import PRESETS
    from dragoman.tasks.configuration import configuration, merged
    from dragoman.tasks.parts import warnings_of
    from dragoman.tasks.planning import measure
    from dragoman.tasks.task import find_task

    network = network_of(nodes, bandwidth)
    screen = console(stderr=as_json)  # standard output is for JSON only
    options = {
        "task": task,
        "architecture": architecture,
        "recipe": recipe,
        "stopping": {"budget": budget},
        "data": {
            **reading.settings(any_columns=task == "forecasting"),
            "text": columns_from(text),
            "label": column_from(label),
            "resize": resize,
            "fill": fill,
        },
    }
    given, asked = read_settings(files, given_only(options), defaults={"stopping": {"budget": "1h"}})
    chosen = find_task(asked.task)
    corpus = chosen.open_corpus(asked.data, given.get("data"))
    dataset = chosen.prepare(corpus, asked)
    for line in corpus.left_out():
        screen.print(line, style="dim", highlight=False, markup=False)
    seconds = asked.stopping.budget or 0.0
    parts, vocabularies = dataset.about["parts"], dataset.about["vocabularies"]
    warnings = [*chosen.warnings(dataset, new=True), *warnings_of(corpus.settings, parts, chosen.samples)]
    screen.print(f"{corpus.name}: {chosen.report(dataset)}", highlight=False)
    for warning in warnings:
        console(as_json, warnings=True).print(
            f"warning: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True
        )
    with fast_compute(tell=lambda text: console(stderr=True).print(text, style="dim", highlight=False)):
        speeds = {name: measure(configuration(merged(given, {"preset": name})), dataset) for name in PRESETS}
    on_nodes = {} if network is None else predictions(speeds, asked.optimizer, network)
    if as_json:
        presets = [{"preset": name, **_as_dict(speed, seconds)} for name, speed in speeds.items()]
        for row in presets:
            row |= {"nodes": on_nodes[row["preset"]].as_dict()} if on_nodes else {}
        found = {"corpus": corpus.name, "parts": parts, "vocabularies": vocabularies, "budget_seconds": seconds}
        found |= {} if network is None else network.as_dict()
        typer.echo(json.dumps(found | {"presets": presets}, ensure_ascii=False, indent=2))
        return
    _print_speeds(speeds, seconds, screen, parts["training"] if chosen.reads_images else None)
    if network is not None:
        print_predictions(on_nodes, network, screen)
    command = ["dragoman", "train", *files]
    within = budget or given["stopping"]["budget"]
    for option, value in (
        ("--task", task),
        ("--architecture", architecture),
        ("--recipe", recipe),
        ("--text", text),
        ("--label", label),
        ("--resize", resize),
        ("--fill", fill),
        ("--budget", within),
    ):
        command += [option, str(value)] if value else []
    command += [*reading.arguments(), "--out", "model"]
    if network is not None and any(found.pays for found in on_nodes.values()):
        hint(screen, f"Next, on every machine (docs/scaling.md): {start_command(network)} -m {shlex.join(command)}")
        return
    hint(screen, f"Next: {shlex.join(command)}")


def _print_speeds(speeds: dict[str, Speed], seconds: float, screen: Console, images: int | None) -> None:
    """Print a table of presets. images: those of an epoch, where samples are images and nobody counts tokens."""
    from dragoman.training.stopping import format_time

    table = new_table(screen, f"On this machine, within {format_time(seconds)}")
    counted = "tokens/s" if images is None else "images/s"
    for heading in ("preset", "parameters", counted, "memory", "epoch time", "epochs"):
        table.add_column(heading, justify="left" if heading == "preset" else "right", overflow="fold")
    for name, speed in speeds.items():
        table.add_row(
            name,
            f"{speed.parameters:,}",
            f"{speed.tokens_per_second if images is None else images / speed.epoch_seconds:,.0f}",
            f"{speed.memory / 2**20:,.0f} MB",
            format_time(speed.epoch_seconds),
            f"{speed.steps_within(seconds) / speed.steps_per_epoch:.1f}",
        )
    screen.print(table)
    screen.print("Memory is that of the arrays; Python and its libraries take about 150 MB more.", style="dim")


def _as_dict(speed: Speed, seconds: float) -> dict[str, Any]:
    return {
        "parameters": speed.parameters,
        "tokens_per_second": round(speed.tokens_per_second, 1),
        "memory_bytes": int(speed.memory),
        "epoch_seconds": round(speed.epoch_seconds, 3),
        "epochs_in_budget": round(speed.steps_within(seconds) / speed.steps_per_epoch, 3),
    }
