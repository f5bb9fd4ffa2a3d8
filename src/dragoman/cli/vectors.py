"""dragoman vectors: learn the vectors of words from a text, and ask them."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table
from rich.text import Text

from dragoman.cli.options import console as new_console
from dragoman.cli.options import hint, is_quiet
from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from dragoman.tasks.vectors.plan import Method
    from dragoman.tasks.vectors.text import Split
    from dragoman.tasks.vectors.words import Near

app = typer.Typer(help="Learn word vectors from a text; ask for near words and analogies.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Vectors: .txt or .bin of word2vec, maybe .gz.")]
Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="Words that have a vector.")]
Count = Annotated[int, typer.Option(min=1, help="How many words to show.")]


@app.command("train")
def train_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text file; - for standard input.")],
    out: Annotated[Path, typer.Option(help="Where to write: .txt, or .bin for the binary format; .gz compresses.")],
    method: Annotated[str, typer.Option(help="skip-gram or cbow.")] = "skip-gram",
    depth: Annotated[int, typer.Option(min=1, help="Numbers in a vector.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Neighbours on either side, at most.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Words drawn against each true one.")] = 5,
    full_softmax: Annotated[
        bool, typer.Option("--full-softmax", help="Against all words instead; for small vocabularies.")
    ] = False,
    minimum_count: Annotated[int, typer.Option(min=1, help="Rarer words are left out.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="How often the text is gone through.")] = 5,
    rate: Annotated[float, typer.Option(help="The first learning rate; it falls to 0.0001.")] = 0.025,
    subsampling: Annotated[float, typer.Option(help="Thin out words above this share of the text; 0: none.")] = 0.001,
    split: Annotated[str, typer.Option(help="At words (marks are words too), or at spaces only.")] = "words",
    lower_case: Annotated[bool, typer.Option("--lower-case", help="Take upper case for lower case.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other vectors.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="With more than 1, no two runs are alike.")] = 1,
) -> None:
    """Learn the vectors of the words of a text by predicting neighbours (word2vec)."""
    from dragoman.cli.progress import VectorProgress
    from dragoman.tasks.vectors.files import check_name, save_vectors
    from dragoman.tasks.vectors.plan import VectorSettings
    from dragoman.tasks.vectors.training import train_vectors
    from dragoman.training.stopping import format_time

    check_name(out)
    settings = VectorSettings(
        method=cast("Method", method),
        depth=depth,
        window=window,
        negative=0 if full_softmax else negative,
        minimum_count=minimum_count,
        epochs=epochs,
        rate=rate,
        subsampling=subsampling,
        split=cast("Split", split),
        lower_case=lower_case,
        seed=seed,
        threads=threads,
    )
    start, progress = time.monotonic(), VectorProgress(new_console(), is_quiet())
    try:
        vectors = train_vectors(text, settings, progress, progress.tell)
    finally:
        progress.close()
    save_vectors(vectors, out)
    took = format_time(time.monotonic() - start)
    _say(f"{len(vectors):,} words with vectors of depth {vectors.depth} are in {out} ({took}).")
    example = next((word for word in vectors.words[len(vectors) // 10 :] if word.isalpha()), vectors.words[0])
    hint(new_console(), "Next:", f"  dragoman vectors nearest {shlex.quote(str(out))} {shlex.quote(example)}")


def _say(text: str, style: str | None = None) -> None:
    new_console().print(text, highlight=False, markup=False, style=style, soft_wrap=True)


@app.command("nearest")
def nearest_command(file: File, words: Words, count: Count = 10) -> None:
    """The words whose vectors have the smallest angle with that of each word."""
    from dragoman.tasks.vectors.files import load_vectors

    vectors = load_vectors(file)
    found = [vectors.nearest(word, count) for word in words]  # all are there before the first is shown
    for word, near in zip(words, found, strict=True):
        _print_near(word, near)


@app.command("analogy")
def analogy_command(
    file: File,
    a: Annotated[str, typer.Argument(help="A is to B ...")],
    b: Annotated[str, typer.Argument(help="... as C is to what is asked for.")],
    c: Annotated[str, typer.Argument(help="The third word.")],
    count: Count = 5,
) -> None:
    """A is to B as C is to ...: the words nearest to B - A + C."""
    from dragoman.tasks.vectors.files import load_vectors

    _print_near(f"{a} is to {b} as {c} is to", load_vectors(file).analogy(a, b, c, count))


def _print_near(title: str, near: list[Near]) -> None:
    _say(title, "bold")
    for word, cosine in near:
        _say(f"  {cosine:6.3f}  {word}")


@app.command("cosine")
def cosine_command(file: File, words: Words) -> None:
    """The cosines of the angles between some words, as a table."""
    from dragoman.tasks.vectors.files import load_vectors

    cosines = load_vectors(file).cosines(words)
    table = Table(header_style="bold")
    table.add_column("")
    for word in words:
        table.add_column(Text(word), justify="right")
    for word, row in zip(words, cosines, strict=True):
        table.add_row(Text(word, "bold"), *(f"{number:.3f}" for number in row))
    new_console().print(table)


@app.command("plot")
def plot_command(
    file: File,
    words: Words,
    out: Annotated[Path, typer.Option(help="A .png or .svg file.")],
    near: Annotated[int, typer.Option(min=0, help="Also so many of the words nearest to each one.")] = 0,
) -> None:
    """Words as points of a plane: the two directions along which their vectors differ most."""
    from dragoman.analysis.figures import embedding_figure, save_figure
    from dragoman.tasks.vectors.files import load_vectors

    vectors = load_vectors(file)
    topics = vectors.around(words, near)
    if len(topics) < 3:
        raise ConfigurationError(
            f"a figure needs 3 different words at least, got {len(topics)}; name more, or --near 5"
        )
    shown, groups = list(topics), [f"near {word}" for word in topics.values()] if near else None
    save_figure(embedding_figure(vectors.units(shown), shown, "Word vectors, each at length 1", groups), out)
    _say(str(out))
