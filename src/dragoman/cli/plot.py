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
    image: Annotated[Path | None, typer.Option(help="The image of `attention`, for a model of images.")] = None,
    resize: Annotated[bool, typer.Option("--resize", help="Resize the image to the size of the model's.")] = False,
    out: Annotated[Path | None, typer.Option(help="A .png or .svg file; default: MODEL/figures/NAME.png.")] = None,
) -> None:
    """Draw a figure: training curves, attention of a sentence, word vectors, gradients through time and more."""
    from dragoman.analysis.figures import save_figure
    from dragoman.cli.attention import layer_figure
    from dragoman.cli.images import draw_images
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task
    from dragoman.tasks.translation.figures import draw
    from dragoman.tasks.translation.translator import Translator

    path = out or model / "figures" / f"{figure}.png"
    task = find_task(load_metadata(model).task)
    if task.reads_images:
        if text is not None or layer is not None:
            raise ConfigurationError("--text and --layer are for models of texts; name an image with --image")
        draw_images(task, model, figure, image, head, resize, path)
        console().print(f"{path}", highlight=False, markup=False)
        return
    if image is not None or resize:
        raise ConfigurationError(f"--image and --resize are for models of images, and {model} reads texts")
    chosen = layer is not None or head is not None
    if chosen and figure != "attention":
        raise ConfigurationError(f"--layer and --head choose what `attention` shows; '{figure}' has neither")
    translator = Translator.load(model)
    choose_engine(one_text=True)
    if chosen and text is not None:
        save_figure(layer_figure(translator, text, layer, head), path, make=out is None)
    else:  # a readable overview: the last decoder, the mean of its heads
        draw(translator, figure, path, text, make=out is None)
    console().print(f"{path}", highlight=False, markup=False)
