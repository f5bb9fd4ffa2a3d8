"""dragoman vectors: train word vectors and query them."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.text import Text

from dragoman.cli.options import console as new_console
from dragoman.cli.options import hint, is_quiet, new_table
from dragoman.cli.spreading import on_all_ranks
from dragoman.errors import ConfigurationError
from dragoman.ranks import current

if TYPE_CHECKING:
    from dragoman.tasks.vectors.plan import Method
    from dragoman.tasks.vectors.text import Split
    from dragoman.tasks.vectors.words import Near

app = typer.Typer(help="Train word vectors; find nearest words and analogies.", no_args_is_help=True)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Word vectors in word2vec format, .txt or .bin, plain or .gz.")
]
Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="Words that have a vector.")]
Count = Annotated[int, typer.Option(min=1, help="How many words to show.")]


@app.command("train")
@on_all_ranks
def train_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text file; - for standard input.")],
    out: Annotated[Path, typer.Option(help="Output file: .txt, or .bin for the binary format; .gz compresses.")],
    method: Annotated[str, typer.Option(help="skip-gram or cbow.")] = "skip-gram",
    depth: Annotated[int, typer.Option(min=1, help="Dimensions of a vector.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Maximum number of neighbours on either side.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Negative samples per word.")] = 5,
    full_softmax: Annotated[
        bool, typer.Option("--full-softmax", help="Full softmax instead of negative samples; for small vocabularies.")
    ] = False,
    minimum_count: Annotated[int, typer.Option(min=1, help="Ignore words that occur less often.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.")] = 5,
    rate: Annotated[float, typer.Option(help="Initial learning rate; it decays to 0.0001.")] = 0.025,
    subsampling: Annotated[float, typer.Option(help="Subsample words above this share of the text; 0: off.")] = 0.001,
    split: Annotated[str, typer.Option(help="words (punctuation marks are words too) or spaces.")] = "words",
    lower_case: Annotated[bool, typer.Option("--lower-case", help="Convert the text to lower case.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads; with more than 1, results differ between runs.")] = 1,
) -> None:
    """Train word vectors on a text by predicting neighbouring words (word2vec)."""
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
    if not current().first:
        return
    save_vectors(vectors, out)
    took = format_time(time.monotonic() - start)
    _say(f"{len(vectors):,} words with vectors of depth {vectors.depth} are in {out} ({took}).")
    example = next((word for word in vectors.words[len(vectors) // 10 :] if word.isalpha()), vectors.words[0])
    hint(new_console(), "Next:", f"  dragoman vectors nearest {shlex.quote(str(out))} {shlex.quote(example)}")


def _say(text: str, style: str | None = None) -> None:
    new_console().print(text, highlight=False, markup=False, style=style, soft_wrap=True)


@app.command("nearest")
def nearest_command(file: File, words: Words, count: Count = 10) -> None:
    """Find the words whose vectors are most similar to that of each word (cosine)."""
    from dragoman.tasks.vectors.files import load_vectors

    vectors = load_vectors(file)
    found = [vectors.nearest(word, count) for word in words]  # look up all before printing the first
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
    """Print the cosine similarities between some words as a table."""
    from dragoman.tasks.vectors.files import load_vectors

    cosines = load_vectors(file).cosines(words)
    screen = new_console()
    table = new_table(screen, header_style="bold")
    table.add_column("", overflow="fold")
    for word in words:
        table.add_column(Text(word), justify="right", overflow="fold")
    for word, row in zip(words, cosines, strict=True):
        table.add_row(Text(word, "bold"), *(f"{number:.3f}" for number in row))
    screen.print(table)


@app.command("plot")
def plot_command(
    file: File,
    words: Words,
    out: Annotated[Path, typer.Option(help="A .png or .svg file.")],
    near: Annotated[int, typer.Option(min=0, help="Also show this many nearest words of each word.")] = 0,
    projection: Annotated[str, typer.Option(help="pca, t-sne, or both side by side.")] = "pca",
    perplexity: Annotated[
        float | None,
        typer.Option(help="Of t-SNE: about how many neighbours count; default: 30, or a third of few words."),
    ] = None,
) -> None:
    """Draw words as points in a plane, by the principal components of their vectors or by t-SNE."""
    from dragoman.analysis.figures import embedding_figure, save_figure
    from dragoman.tasks.vectors.files import load_vectors

    vectors = load_vectors(file)
    topics = vectors.around(words, near)
    if len(topics) < 3:
        raise ConfigurationError(
            f"a figure needs at least 3 different words, got {len(topics)}; name more, or --near 5"
        )
    shown, groups = list(topics), [f"near {word}" for word in topics.values()] if near else None
    title = "Word vectors, each at length 1"
    save_figure(embedding_figure(vectors.units(shown), shown, title, groups, projection, perplexity), out)
    _say(str(out))
