"""Commands."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.cli import data, vectors
from dragoman.cli.bench import bench
from dragoman.cli.check import check
from dragoman.cli.evaluate import evaluate
from dragoman.cli.inspect import inspect
from dragoman.cli.plan import plan
from dragoman.cli.plot import plot
from dragoman.cli.train import train
from dragoman.cli.translate import translate
from dragoman.errors import DragomanError

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


def main() -> None:
    """Run a command. A mistake in the input is told in one line; a bug still shows its traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a letter shows its number instead of failing
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except DragomanError as error:
        typer.echo(f"dragoman: {error}", err=True)
        sys.exit(2)
