"""dragoman plot: figures of a model, and those of the thesis and the book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import console
from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.task import Task

MODEL = "A directory that `dragoman train` wrote; or `figure`, and the number of a figure of the thesis or the book."
NAMES = "history, attention, embeddings, positions, activations, architecture or gradients; or a number."
DOCUMENT = "figure"  # in place of a model


def plot(
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help=MODEL)] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help=NAMES)] = None,
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
    projection: Annotated[
        str | None, typer.Option(help="Of `embeddings`: pca (the default), t-sne, or both side by side.")
    ] = None,
    compare: Annotated[
        list[Path] | None, typer.Option(metavar="MODEL", help="Of `history`: another model below; repeat it for more.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .png or .svg file; default: MODEL/figures/NAME.png.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all figures and exit.")] = False,
) -> None:
    """Draw a figure: training curves, attention of a sentence, word vectors, diagrams of networks and more."""
    from dragoman.tasks.figures import SHARED
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.task import find_task

    if show_list:
        _print_list()
        return
    if model is None or figure is None:
        raise ConfigurationError("name a model and a figure, or `figure` and a number; dragoman plot --list shows all")
    for wanted, given, options in (
        ("attention", layer is not None or head is not None, "--layer and --head choose"),
        ("attention", image is not None or resize, "--image and --resize choose"),
        ("embeddings", projection is not None, "--projection chooses"),
        ("history", bool(compare), "--compare chooses"),
    ):
        if given and figure != wanted:
            raise ConfigurationError(f"{options} what `{wanted}` shows; '{figure}' has no such choice")
    choose_engine(one_text=True)
    document, place = model == DOCUMENT, Path(model)
    path = out or (Path(f"figure-{figure}.png") if document else place / "figures" / f"{figure}.png")
    _check_name(path)
    if document:
        drawn = _document(figure, text)
    elif (task := find_task(load_metadata(place).task)).reads_images and figure not in SHARED:
        if text is not None or layer is not None:
            raise ConfigurationError("--text and --layer are for models of texts; name an image with --image")
        drawn = _of_images(task, place, figure, image, resize, head)
    elif image is not None or resize:
        raise ConfigurationError(f"--image and --resize are for models of images, and {place} is for {task.name}")
    elif figure == "attention" and text is not None and (layer is not None or head is not None):
        drawn = _attention(place, text, layer, head)
    else:  # attention: a readable overview, the last decoder and the mean of its heads
        drawn = _of_model(place, figure, text, projection or "pca", compare or [])
    from dragoman.analysis.figures import save_figure

    save_figure(drawn, path, make=out is None)
    console().print(f"{path}", highlight=False, markup=False, soft_wrap=True)


def _check_name(path: Path) -> None:
    """Before anything is computed."""
    from dragoman.analysis.figures.canvas import check_ending, require_matplotlib

    check_ending(path)
    require_matplotlib()


def _document(number: str, text: str | None) -> Figure:
    from dragoman.analysis.figures.documents import document_figure

    if text is not None:
        raise ConfigurationError("--text is for figures of a model; those of the documents have their own words")
    return document_figure(number)


def _attention(model: Path, text: str, layer: str | None, head: int | None) -> Figure:
    from dragoman.cli.attention import layer_figure
    from dragoman.tasks.translation.translator import Translator

    return layer_figure(Translator.load(model), text, layer, head)


def _of_images(task: Task, model: Path, figure: str, image: Path | None, resize: bool, head: int | None) -> Figure:
    from dragoman.tasks.figures import SHARED

    figures = task.figures()
    if figure not in figures:
        raise ConfigurationError(f"there is no figure '{figure}' of images; there is {', '.join([*figures, *SHARED])}")
    drawn: Figure = figures[figure](task.load(model), image, head, resize)
    return drawn


def _of_model(model: Path, figure: str, text: str | None, projection: str, compare: list[Path]) -> Figure:
    from dragoman.tasks.figures import SHARED, architecture_figure, history_figure
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.translation.figures import FIGURES, embeddings
    from dragoman.tasks.translation.translator import Translator

    if figure == "history":
        return history_figure(model, compare)
    if figure == "architecture":
        return architecture_figure(model)
    task = load_metadata(model).task
    if task != Translator.task:
        raise ConfigurationError(f"{model} is a model for {task}; its figures are {' and '.join(SHARED)}")
    if figure not in FIGURES:
        raise ConfigurationError(f"there is no figure '{figure}'; there is {', '.join(FIGURES)}")
    translator = Translator.load(model)
    if figure == "embeddings":
        return embeddings(translator, text, projection)
    return FIGURES[figure](translator, text)


def _print_list() -> None:
    """One line for each figure."""
    from dragoman.analysis.figures.documents import FIGURES as DOCUMENTS
    from dragoman.tasks.figures import SHARED
    from dragoman.tasks.translation.figures import FIGURES

    screen = console()

    def line(name: str, text: str) -> None:
        screen.print(f"  {name:<14}{text}", highlight=False, markup=False)

    screen.print("Of a model: dragoman plot MODEL NAME", highlight=False)
    for name, draw in FIGURES.items():
        about = (draw.__doc__ or "").split(" (")[0].rstrip(".")
        line(name, about + ("; every task" if name in SHARED else ""))
    for source, heading in (("thesis", "Of the thesis"), ("book", "Of the book's chapter 7")):
        screen.print(f"{heading}: dragoman plot figure NUMBER", highlight=False)
        for found in (one for one in DOCUMENTS if one.source == source):
            line(found.number, found.title + (f": {found.command}" if found.command else ""))
