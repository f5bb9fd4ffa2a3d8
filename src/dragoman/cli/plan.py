"""dragoman plan: what each size would cost on this machine."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dragoman.cli.options import AsJson, console

if TYPE_CHECKING:
    from dragoman.tasks.planning import Speed

ROOMY = 70  # columns that the table needs with a space on both sides of each cell


def plan(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Sentence pairs, or whatever `train` takes.")],
    budget: Annotated[str | None, typer.Option(help="Time you have: 30m, 2h, 1h30m (default: 1h).")] = None,
    architecture: Annotated[str | None, typer.Option(help="transformer (default), gru-attention, lstm ...")] = None,
    recipe: Annotated[str | None, typer.Option(help="modern (default) or thesis.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure this machine for some seconds; predict speed, memory and time of every preset on these pairs."""
    from dragoman.cli.train import _from_files, _given
    from dragoman.engines.compute import fast_compute
    from dragoman.networks import PRESETS
    from dragoman.tasks.configuration import configuration, merged
    from dragoman.tasks.corpus import open_corpus
    from dragoman.tasks.parts import warnings_of
    from dragoman.tasks.planning import measure
    from dragoman.training.stopping import format_time

    screen = console(stderr=as_json)  # then standard output is for JSON alone
    asked_for = {"architecture": architecture, "recipe": recipe, "stopping": {"budget": budget}}
    given = merged({"stopping": {"budget": "1h"}}, _from_files(files), _given(asked_for))
    asked = configuration(given)
    corpus = open_corpus(asked.data, given.get("data"))
    dataset = corpus.dataset(asked.seed, room=getattr(asked.network, "maximum_length", None))
    seconds = asked.stopping.budget or 0.0
    parts, vocabularies = dataset.about["parts"], dataset.about["vocabularies"]
    screen.print(
        f"{corpus.name}: {parts['training']:,} training pairs, vocabularies of {vocabularies[0]:,} and "
        f"{vocabularies[1]:,} labels",
        highlight=False,
    )
    for warning in warnings_of(corpus.settings, parts):
        screen.print(f"warning: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    measured = []
    title, space = f"On this machine, within {format_time(seconds)}", 1 if screen.width >= ROOMY else 0
    table = Table(title=title, title_justify="left", header_style="dim", padding=(0, space))
    for heading in ("preset", "parameters", "tokens/s", "memory", "an epoch", "epochs in the budget"):
        table.add_column(heading, justify="left" if heading == "preset" else "right")
    with fast_compute(tell=lambda text: screen.print(text, style="dim", highlight=False)):
        for name in PRESETS:
            speed = measure(configuration(merged(given, {"preset": name})), dataset)
            epochs = speed.steps_within(seconds) / speed.steps_per_epoch
            measured.append({"preset": name, **_as_dict(speed), "epochs_in_budget": round(epochs, 3)})
            table.add_row(
                name,
                f"{speed.parameters:,}",
                f"{speed.tokens_per_second:,.0f}",
                f"{speed.memory / 2**20:,.0f} MB",
                format_time(speed.epoch_seconds),
                f"{epochs:.1f}",
            )
    if as_json:
        told = {"corpus": corpus.name, "parts": parts, "vocabularies": vocabularies, "budget_seconds": seconds}
        typer.echo(json.dumps(told | {"presets": measured}, ensure_ascii=False, indent=2))
        return
    screen.print(table)
    screen.print("Memory is that of the arrays; Python and its libraries take about 150 MB more.", style="dim")
    command = ["dragoman", "train", *files]
    within = budget or given["stopping"]["budget"]
    for option, value in (("--architecture", architecture), ("--recipe", recipe), ("--budget", within)):
        command += [option, str(value)] if value else []
    following = f"Next: {shlex.join([*command, '--out', 'model'])}"
    screen.print(following, highlight=False, markup=False, soft_wrap=True)


def _as_dict(speed: Speed) -> dict[str, Any]:
    return {
        "parameters": speed.parameters,
        "tokens_per_second": round(speed.tokens_per_second, 1),
        "memory_bytes": int(speed.memory),
        "epoch_seconds": round(speed.epoch_seconds, 3),
    }
