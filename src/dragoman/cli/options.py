"""Options that several commands share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from rich.console import Console
from rich.table import Table

from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from dragoman.cli.inputs import Input
    from dragoman.data.readers import Reading

NARROW = 80  # columns of a terminal below which output is reduced
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)  # --quiet, set before every command

Format = Annotated[
    str | None, typer.Option(help="tsv, csv, jsonl, parquet, tmx, xliff, po ...; default: by extension.")
]
Columns = Annotated[
    str | None, typer.Option(help="Columns of source and target, by number from 1 or by name: 1,3 or en,es.")
]
Header = Annotated[bool | None, typer.Option(help="Whether the first line of a table names its columns.")]
Languages = Annotated[
    str | None, typer.Option(help="Codes of source and target language: en,es; of TMX and XLIFF files those to read.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the files; default: utf-8.")]

Shares = Annotated[str | None, typer.Option(help="Per cent of training, validation and testing; default: 90,5,5.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
BadLine = Literal["error", "skip"]
BAD_LINE_HELP = {
    "error": "What to do with a line that cannot be used: error (default) or skip.",
    "skip": "What to do with a line that cannot be used: skip (default) or error.",
}
Fill = Annotated[
    str | None, typer.Option(help="Of series: fill missing values by linear, previous or seasonal; default: an error.")
]
TEXT_OPTIONS: dict[str, Any] = {
    "format": Annotated[
        str | None,
        typer.Option(help="Format of a file: plain (line by line), tsv, csv, jsonl or parquet; default: by extension."),
    ],
    "column": Annotated[
        str | None,
        typer.Option(help="Column of a table that holds the text, by number from 1 or by name; default: the first."),
    ],
    "header": Header,
    "encoding": Encoding,
    "on_bad_line": Annotated[str | None, typer.Option(help=BAD_LINE_HELP["error"])],
}
Command = Callable[..., None]


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading files; None if an option was not given. Columns count from 1."""

    format: str | None = None
    columns: tuple[int | str, ...] | None = None
    header: bool | None = None
    languages: tuple[str, str] | None = None
    encoding: str | None = None
    on_bad_line: BadLine | None = None

    def settings(self, any_columns: bool = False) -> dict[str, Any]:
        """Return the options as settings of the section `data`.

        any_columns  whether there may be any number of columns; otherwise there are two
        """
        if not any_columns:
            self._check_two()
        return asdict(self)

    def _check_two(self) -> None:
        if self.columns is not None and len(self.columns) != 2:
            given = ",".join(map(str, self.columns))
            raise ConfigurationError(f"--columns takes two values separated by a comma; got '{given}'")

    def read(self, files: Sequence[str], on_bad_line: BadLine) -> Reading:
        """Read the pairs of some files; `on_bad_line` is the default of the option."""
        from dragoman.data.readers import Layout, read_records
        from dragoman.data.readers.layout import zero_based

        self._check_two()
        layout = Layout("pairs", zero_based(self.columns), self.header, self.languages)
        return read_records(files, layout, self.format, self.encoding or "utf-8", self.on_bad_line or on_bad_line)

    def arguments(self) -> list[str]:
        """Return the options as command-line arguments."""
        given = [] if self.header is None else ["--header" if self.header else "--no-header"]
        for name, value in asdict(self).items():
            if value is not None and name != "header":
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                given += [f"--{name.replace('_', '-')}", text]
        return given


@dataclass(frozen=True)
class TextOptions:
    """Options for reading texts line by line or from a column of a table; None if an option was not given."""

    format: str | None = None
    column: str | None = None
    header: bool | None = None
    encoding: str | None = None
    on_bad_line: str | None = None

    def input(self, text: str | None, command: str, key: str) -> Input:
        """The texts that a command reads: the one given, those of a file, or standard input if it is None.

        key  of JSON Lines that holds the text unless a column is given
        """
        from dragoman.cli.inputs import UTF_8, Input

        how = self.format, self.column, self.on_bad_line or "error", self.header, self.encoding or UTF_8
        return Input("-" if text is None else text, *how, command, key)


def with_reading_options(on_bad_line: BadLine = "error") -> Callable[[Command], Command]:
    """Give a command the options --format to --on-bad-line; it gets them as one argument, `reading`."""
    shared: dict[str, Any] = {
        "format": Format,
        "columns": Columns,
        "header": Header,
        "languages": Languages,
        "encoding": Encoding,
        "on_bad_line": Annotated[str | None, typer.Option(help=BAD_LINE_HELP[on_bad_line])],
    }
    return _with_options(shared, _reading_options)


def with_text_options(command: Command) -> Command:
    """Give a command the options of texts to read; it gets them as one argument, `reading`."""
    return _with_options(TEXT_OPTIONS, TextOptions)(command)


def _with_options(shared: Mapping[str, Any], made: Callable[..., Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**options: Any) -> None:
            given = {name: options.pop(name) for name in shared}
            command(**options, reading=made(**given))

        keyword = inspect.Parameter.KEYWORD_ONLY
        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [parameter.replace(kind=keyword) for parameter in own if parameter.name != "reading"]
        parameters += [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in shared.items()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _reading_options(
    format: str | None,
    columns: str | None,
    header: bool | None,
    languages: str | None,
    encoding: str | None,
    on_bad_line: str | None,
) -> ReadingOptions:
    check_on_bad_line(on_bad_line)
    chosen = cast(BadLine | None, on_bad_line)
    return ReadingOptions(format, columns_of(columns), header, two("--languages", languages), encoding, chosen)


def shares_of(text: str | None) -> tuple[float, float, float] | None:
    """Parse '90,5,5' or '0.9,0.05,0.05' into shares of 1."""
    if text is None:
        return None
    from dragoman.data.splits import as_shares

    try:
        return as_shares([float(part) for part in text.split(",")])
    except (ValueError, ConfigurationError):
        raise ConfigurationError(
            f"--shares takes three numbers that add up to 100, such as 90,5,5; got '{text}'"
        ) from None


def given_only(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, without None and empty sections."""
    found = {name: given_only(value) if isinstance(value, dict) else value for name, value in options.items()}
    return {name: value for name, value in found.items() if value is not None and value != {}}


def check_on_bad_line(given: str | None) -> None:
    if given not in (None, "error", "skip"):
        raise ConfigurationError(f"--on-bad-line must be error or skip, got '{given}'")


def is_quiet() -> bool:
    """Whether the command runs with --quiet: results, warnings and errors only."""
    return QUIET.get()


def console(stderr: bool = False, warnings: bool = False) -> Console:
    """Return a console as wide as the terminal; in a pipe, tables as wide as $COLUMNS (else 120) and no wrapped text.

    Standard error is for progress, so the console prints nothing there under --quiet, unless it is for `warnings`.
    """
    quiet = stderr and is_quiet() and not warnings
    found = Console(stderr=stderr, quiet=quiet)
    if found.is_terminal:
        return found
    width = os.environ.get("COLUMNS", "")
    return Console(
        stderr=stderr, width=int(width) if width.isdigit() and int(width) else 120, soft_wrap=True, quiet=quiet
    )


def new_table(screen: Console, title: str | None = None, header_style: str = "dim") -> Table:
    """Create a table; without borders in a narrow terminal."""
    table = Table(title=title, title_justify="left", header_style=header_style)
    if screen.width < NARROW:
        table.box, table.padding, table.pad_edge = None, (0, 2, 0, 0), False
    return table


def hint(screen: Console, *lines: str) -> None:
    """Print what to do next, unless --quiet is given."""
    if not is_quiet():
        for line in lines:
            screen.print(line, highlight=False, markup=False, soft_wrap=True)


def columns_of(text: str | None) -> tuple[int | str, ...] | None:
    """Parse '1,3' into numbers, 'en,es' into names."""
    chosen = columns_from(text)
    if chosen is None:
        return None
    if not all(column != "" for column in chosen):
        raise ConfigurationError(f"--columns takes values separated by commas; got '{text}'")
    if 0 in chosen:
        raise ConfigurationError("--columns counts from 1")
    return tuple(chosen)


def check_fill(given: str | None) -> None:
    if given not in (None, "linear", "previous", "seasonal"):
        raise ConfigurationError(f"--fill must be linear, previous or seasonal, got '{given}'")


def two(option: str, text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(","))
    if len(parts) != 2 or not all(parts):
        raise ConfigurationError(f"{option} takes two values separated by a comma; got '{text}'")
    return parts[0], parts[1]


def column_from(text: str | None) -> int | str | None:
    """'2' as a number, 'label' as a name."""
    return int(text) if text is not None and text.isdigit() else text


def columns_from(text: str | None) -> list[int | str] | None:
    """'2' or 'title,body' as a list of columns."""
    if text is None:
        return None
    return [int(each) if each.isdigit() else each for each in (part.strip() for part in text.split(","))]
