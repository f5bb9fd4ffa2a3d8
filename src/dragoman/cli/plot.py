"""dragoman plot: figures of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import console


def plot(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    figure: Annotated[
        str, typer.Argument(help="history, attention, embeddings, positions, activations, architecture or gradients.")
    ],
    text: Annotated[
        str | None,
        typer.Option(help="The sentence of `attention`, the words of `embeddings`, the text of `gradients`."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .png or .svg file; default: MODEL/figures/NAME.png.")] = None,
) -> None:
    """Draw a figure: training curves, attention of a sentence, word vectors, gradients through time and more."""
    from dragoman.tasks.figures import draw
    from dragoman.tasks.translator import Translator

    path = out or model / "figures" / f"{figure}.png"
    draw(Translator.load(model), figure, path, text, make=out is None)
    console().print(f"{path}", highlight=False, markup=False)
