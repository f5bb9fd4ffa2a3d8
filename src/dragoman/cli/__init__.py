"""Commands."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, TextIO

import typer

from dragoman import __version__
from dragoman.cli import data, vectors
from dragoman.cli.bench import bench
from dragoman.cli.check import check
from dragoman.cli.evaluate import evaluate
from dragoman.cli.inspect import inspect
from dragoman.cli.plan import plan
from dragoman.cli.plot import plot
from dragoman.cli.streams import OutputError, UnreadOutput, discard_output, prepare_streams
from dragoman.cli.train import train
from dragoman.cli.translate import translate
from dragoman.errors import DragomanError, DragomanWarning

app = typer.Typer(
    name="dragoman",
    help="Trains, explains and serves sequence models; every gradient derived by hand, and proved.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options before any command."""


for command in (train, translate, evaluate, inspect, plot, plan, check, bench):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(vectors.app, name="vectors")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What a user can act on is one line; other warnings look as Python has them."""
    if issubclass(category, DragomanWarning):
        typer.echo(f"dragoman: {message}", err=True)
    else:
        typer.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


def main() -> None:
    """Run a command. A mistake in the input is told in one line; a bug still shows its traceback."""
    prepare_streams()
    try:
        try:
            with warnings.catch_warnings():  # restores how warnings are shown
                warnings.showwarning = _show_warning
                app()
        finally:
            sys.stdout.flush()  # while a failure can still be reported
    except UnreadOutput:
        discard_output()
        sys.exit(1)
    except DragomanError as error:
        if isinstance(error, OutputError):
            discard_output()
        typer.echo(f"dragoman: {error}", err=True)
        sys.exit(2)
