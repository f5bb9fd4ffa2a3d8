"""Commands."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TextIO

import typer

from dragoman import __version__
from dragoman.cli import data, vectors
from dragoman.cli.bench import bench
from dragoman.cli.caption import caption
from dragoman.cli.check import check
from dragoman.cli.evaluate import evaluate
from dragoman.cli.features import features
from dragoman.cli.forecast import forecast
from dragoman.cli.generate import generate
from dragoman.cli.inspect import inspect
from dragoman.cli.options import QUIET
from dragoman.cli.pack import pack, unpack
from dragoman.cli.plan import plan
from dragoman.cli.plot import plot
from dragoman.cli.predict import predict
from dragoman.cli.score import score
from dragoman.cli.serve import serve
from dragoman.cli.streams import OutputError, UnreadOutput, discard_output, prepare_streams
from dragoman.cli.train import train
from dragoman.cli.translate import translate
from dragoman.distributed import is_one_of_several
from dragoman.errors import ConfigurationError, DragomanError, DragomanWarning
from dragoman.versions import refuse_failing

SPREAD = ("train", "evaluate", "translate", "predict", "score", "caption", "vectors")  # what several ranks share
HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="dragoman",
    help="Trains, explains and serves sequence models; every gradient derived by hand, and proved.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results, warnings and errors only: no progress, no hints.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log what is decided on the way to standard error.")
    ] = False,
) -> None:
    """Handle the options before any command."""
    if quiet and verbose:
        raise ConfigurationError("--quiet and --verbose cannot be used together")
    if is_one_of_several() and context.invoked_subcommand not in SPREAD:
        raise ConfigurationError(
            f"{context.invoked_subcommand} runs in one process, and this is one of several; start it without torchrun "
            f"($RANK, $WORLD_SIZE). Several can share {', '.join(SPREAD)}"
        )
    QUIET.set(quiet)
    if verbose:
        logging.getLogger("dragoman").setLevel(logging.DEBUG)


COMMANDS = (
    *(train, translate, generate, caption, score, predict, forecast, features),
    *(evaluate, serve, pack, unpack, inspect, plot, plan, check, bench),
)
for command in COMMANDS:
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
    """Print a warning that a user can act on in one line, others as Python does."""
    if issubclass(category, DragomanWarning):
        typer.echo(f"dragoman: {message}", err=True)
    else:
        typer.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


def main() -> None:
    """Run a command. A mistake in the input is reported in one line; a bug shows its traceback."""
    prepare_streams()
    try:
        _run()
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        typer.echo("dragoman: interrupted", err=True)
        sys.exit(128 + signal.SIGINT)


def _run() -> None:
    try:
        try:
            with warnings.catch_warnings():  # restores the display of warnings
                warnings.showwarning = _show_warning
                with _log_shown():
                    refuse_failing("typer", typer.__version__)
                    app()
        finally:
            sys.stdout.flush()  # while a failure can still be reported
    except UnreadOutput:
        discard_output()
        sys.exit(1)
    except DragomanError as error:
        if _is_interrupt(error):
            raise
        if isinstance(error, OutputError):
            discard_output()
        typer.echo(f"dragoman{_rank()}: {error}", err=True)
        sys.exit(2)


def _rank() -> str:
    """Which of several processes speaks."""
    return f" (rank {os.environ['RANK']})" if is_one_of_several() else ""


@contextmanager
def _log_shown() -> Iterator[None]:
    """Show the library's log on standard error if --verbose is given; restored afterwards."""
    log, handler = logging.getLogger("dragoman"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    level = log.level
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C caused an error: compiled kernels and their compiler raise other errors."""
    waiting, seen = [error], set[int]()
    while waiting:
        found = waiting.pop()
        if isinstance(found, KeyboardInterrupt):
            return True
        seen.add(id(found))
        causes = (found.__cause__, found.__context__)
        waiting += [cause for cause in causes if cause is not None and id(cause) not in seen]
    return False
