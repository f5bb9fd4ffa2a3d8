"""dragoman plan: what each size would cost on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dragoman.cli.options import console


def plan(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Sentence pairs, or a configuration.toml.")],
    budget: Annotated[str, typer.Option(help="Time you have: 30m, 2h, 1h30m.")] = "1h",
    recipe: Annotated[str, typer.Option(help="modern or thesis.")] = "modern",
) -> None:
    """Measure this machine for some seconds; predict speed, memory and time of every preset on these pairs."""
    from dragoman.cli.train import _from_files
    from dragoman.engines import use_fastest
    from dragoman.networks import PRESETS
    from dragoman.tasks.configuration import configuration, merged
    from dragoman.tasks.corpus import open_corpus
    from dragoman.tasks.planning import measure
    from dragoman.training.stopping import told_time
    from dragoman.training.workers import single_blas

    screen = console()
    given = merged(_from_files(files), {"recipe": recipe, "stopping": {"budget": budget}})
    asked = configuration(given)
    corpus = open_corpus(asked.data)
    dataset = corpus.dataset(asked.seed)
    seconds = asked.stopping.budget or 0.0
    parts, vocabularies = dataset.about["parts"], dataset.about["vocabularies"]
    screen.print(
        f"{corpus.name}: {parts['training']:,} training pairs, vocabularies of {vocabularies[0]:,} and "
        f"{vocabularies[1]:,} labels",
        highlight=False,
    )
    table = Table(title=f"On this machine, within {told_time(seconds)}", title_justify="left", header_style="dim")
    for heading in ("preset", "parameters", "tokens/s", "memory", "an epoch", "epochs in the budget"):
        table.add_column(heading, justify="left" if heading == "preset" else "right")
    use_fastest(lambda text: screen.print(text, style="dim", highlight=False))
    with single_blas():
        for name in PRESETS:
            speed = measure(configuration(merged(given, {"preset": name})), dataset)
            epochs = speed.steps_within(seconds) / speed.steps_per_epoch
            table.add_row(
                name,
                f"{speed.parameters:,}",
                f"{speed.tokens_per_second:,.0f}",
                f"{speed.memory / 2**20:,.0f} MB",
                told_time(speed.epoch_seconds),
                f"{epochs:.1f}",
            )
    screen.print(table)
    screen.print("Memory is that of the arrays; Python and its libraries take about 150 MB more.", style="dim")
    place = Path(files[0])
    screen.print(f"Next: dragoman train {place} --budget {budget} --out model", highlight=False, markup=False)
