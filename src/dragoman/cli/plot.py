"""dragoman plot: figures of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import console
from dragoman.errors import ConfigurationError


def plot(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    figure: Annotated[
        str, typer.Argument(help="history, attention, embeddings, positions, activations, architecture or gradients.")
    ],
    text: Annotated[
        str | None,
        typer.Option(help="The sentence of `attention`, the words of `embeddings`, the text of `gradients`."),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Of `attention`: a decoder, from 1, or a name such as encoder.0.self_attention; all its heads."
        ),
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="Of `attention`: one head, from 1; else of the last decoder.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .png or .svg file; default: MODEL/figures/NAME.png.")] = None,
) -> None:
    """Draw a figure: training curves, attention of a sentence, word vectors, gradients through time and more."""
    from dragoman.analysis.figures import save_figure
    from dragoman.cli.attention import layer_figure
    from dragoman.tasks.translation.figures import draw
    from dragoman.tasks.translation.translator import Translator

    chosen = layer is not None or head is not None
    if chosen and figure != "attention":
        raise ConfigurationError(f"--layer and --head choose what `attention` shows; '{figure}' has neither")
    path = out or model / "figures" / f"{figure}.png"
    translator = Translator.load(model)
    choose_engine(one_text=True)
    if chosen and text is not None:
        save_figure(layer_figure(translator, text, layer, head), path, make=out is None)
    else:  # a readable overview: the last decoder, the mean of its heads
        draw(translator, figure, path, text, make=out is None)
    console().print(f"{path}", highlight=False, markup=False)
