"""dragoman data clean: mend pairs, and leave harmful ones out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.corpus import Files, opened_corpus
from dragoman.cli.options import ReadingOptions, with_reading_options
from dragoman.cli.options import console as new_console
from dragoman.errors import ConfigurationError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.data.readers import Reading


@with_reading_options(on_bad_line="skip")
def clean(
    files: Files,
    out: Annotated[
        Path, typer.Option(help="Output file: of the format of the input, with all it holds, or .tsv, .csv, .jsonl.")
    ],
    repair: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What to mend: mojibake, control, spaces (default), invisible, nbsp, html, quotes, dashes, swapped.",
        ),
    ] = None,
    drop: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Pairs to leave out: duplicates, untranslated, outliers (default), identical, long, replaced, "
            "mojibake, control, invisible, nbsp, html, inverted, swapped, wrong-source, wrong-target; none.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also leave out pairs with a text of this file, such as a test set."),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Mend pairs and leave harmful ones out; those go to OUT.removed.tsv with reason and line.

    `data check` names every problem; `default` stands for the default names: --drop default,wrong-target.
    """
    from dragoman.data.mending import DEFAULT, REPAIRS
    from dragoman.data.repairs import DROPPED, SWAPPED, Cleaning, clean_pairs
    from dragoman.data.rewriting import EMPTIED, WHOLE

    console = new_console()
    removed = out.with_name(f"{out.name.removesuffix('.gz').removesuffix('.tsv')}.removed.tsv")
    for file, written in product(files, (out, removed)):
        if file != "-" and Path(file).exists() and written.exists() and written.samefile(file):
            raise ConfigurationError(f"{written} is the file to be cleaned; write to another one")
    pairs = reading.read(files, "skip")
    format, again = _written_as(out, pairs)
    drops = [name for name in DROPPED if not (again and format in EMPTIED and name == "duplicates")]
    cleaning = Cleaning(_names(repair, DEFAULT), _names(drop, drops))
    if again and format in EMPTIED and SWAPPED in cleaning.repairs:
        raise ConfigurationError(f"--repair swapped: the sources of a {format} file stay as they are; --drop swapped")
    with ExitStack() as stack:
        unreadable = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))  # there may be very many
        if again is None or format not in WHOLE:
            pairs.sink = lambda *line: print(json.dumps(line), file=unreadable)
        corpus = stack.enter_context(opened_corpus(pairs, console))
        other = (
            None if against is None else stack.enter_context(opened_corpus(reading.read([against], "skip"), console))
        )
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True))
        unreadable.seek(0)
        outcome = clean_pairs(
            corpus, Path(work), out, removed, cleaning, other, again, format, map(json.loads, unreadable)
        )
    for name, count in outcome.changed.items():
        what = REPAIRS[name][0] if name in REPAIRS else "sides turned round"
        console.print(f"{counted(count, 'pair')} changed ({name}): {what}", highlight=False, markup=False)
    for name, count in outcome.removed.items():
        console.print(f"{counted(count, 'pair')} left out ({name}){_reason(name)}", highlight=False, markup=False)
    if outcome.stayed:
        console.print(f"{outcome.stayed:,} of these stay: they share a unit with others", highlight=False)
    summary = f"{outcome.written:,} of {outcome.read:,} pairs written to {out}; what was left out is in {removed}"
    console.print(summary, highlight=False, markup=False)


def _written_as(out: Path, pairs: Reading) -> tuple[str, Reading | None]:
    """The format of the output, and the reading again of files that are written in their own format."""
    from dragoman.data.readers import FORMATS
    from dragoman.data.repairs import PLAIN
    from dragoman.data.rewriting import EMPTIED, REWRITERS
    from dragoman.data.source import Source

    source = Source(str(out))
    found = [name for name in REWRITERS if source.extension in FORMATS[name].extensions]
    if not found or source.compression not in ("", ".gz"):
        raise ConfigurationError(
            f"--out {out}: its name must end in .tsv, .csv, .jsonl, .tmx, .xlf or .po, or these and .gz"
        )
    format, formats = found[0], {each.name for each in pairs.formats}
    if formats == {format} and not any(each.is_single_pass for each in pairs.sources):
        if format in EMPTIED and len(pairs.sources) > 1:
            raise ConfigurationError(
                f"--out {out}: several {format} files cannot become one; clean one after the other"
            )
        return format, pairs
    if format not in PLAIN:
        raise ConfigurationError(
            f"--out {out}: a {format} file is written from {format} files alone, not from "
            f"{', '.join(sorted(formats))}; write .tsv, .csv or .jsonl"
        )
    return format, None


def _names(text: str | None, default: Sequence[str]) -> list[str]:
    """'a,b' as a list; `default` stands for the default names, `none` for none."""
    names = list(default) if text is None else [name.strip() for name in text.split(",") if name.strip()]
    both = [each for name in names for each in (default if name == "default" else [name])]
    return [name for name in dict.fromkeys(both) if name != "none"]


def _reason(name: str) -> str:
    from dragoman.data.findings import KINDS

    return f": {KINDS[name][0]}" if name in KINDS else ""
