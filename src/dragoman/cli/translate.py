"""dragoman translate: write translations to standard output, one line per line."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import TextOptions, with_text_options
from dragoman.cli.spreading import on_all_ranks, shared_chunks
from dragoman.errors import ConfigurationError
from dragoman.ranks import current
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.translation.translator import Translation, Translator

EXCERPT = 60  # characters of a line to show in a warning

# What is written of a text, one or several lines; its pieces, sentences that were cut, warnings.
_Written = tuple[list[str], int, int, list[str]]


@with_text_options
@on_all_ranks
def translate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]", help="Text to translate, or a file of lines or a table; default: standard input."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output file; it is replaced only when complete.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the search, up to 256; 1 is greedy, and faster.")] = 4,
    best: Annotated[int, typer.Option(min=1, help="Translations per line, best first.")] = 1,
    length_penalty: Annotated[float, typer.Option(help="0 prefers short translations, above 1 long ones.")] = 1.0,
    sample: Annotated[bool, typer.Option("--sample", help="Sample tokens instead of searching for the best.")] = False,
    temperature: Annotated[
        float, typer.Option(help="Sampling temperature: below 1 is more cautious, above 1 more varied.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample from the most probable tokens that add up to this probability.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of sampling.")] = 0,
    prefix: Annotated[str | None, typer.Option(help="Text that the translation must start with.")] = None,
    maximum: Annotated[int | None, typer.Option(help="Maximum number of tokens in a translation.")] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object per line: source, confidence, translations, warnings, alignment."),
    ] = False,
    *,
    reading: TextOptions,
) -> None:
    """Translate a text, a file line by line, a column of a table, or standard input as it arrives.

    A text may have many sentences; white space, line breaks and list markers stay as they are. Documents (XLIFF, PO,
    subtitles, HTML, DOCX ...) are refused.
    """
    from dragoman.tasks.translation.translator import DecodingOptions, Translator

    choice = DecodingOptions(beam, best, length_penalty, sample, temperature, top_k, top_p, seed, maximum)
    given = reading.input(text, "translate", "source")
    one_text = given.is_text
    if prefix is not None and not one_text:
        raise ConfigurationError("--prefix goes with one TEXT")
    translator = Translator.load(model)
    choose_engine(one_text)
    told = _Told(one_text)

    def translated(lines: list[str]) -> list[_Written]:
        prefixes = None if prefix is None else [prefix] * len(lines)
        found = translator.translations(lines, choice, prefixes)
        return [_written(line, each, translator, as_json) for line, each in zip(lines, found, strict=True)]

    names = ["translation", *(f"translation_{number}" for number in range(2, best + 1))]
    with written_output(out, None if one_text else given.given) as file:
        write = given.results(file, given.table_format(out, as_json), names)
        for lines in shared_chunks(given.chunks):
            for line, written in zip(lines, current().spread(translated, lines), strict=True):
                told.of(line, *written[1:])
                write(written[0], written[0] if line.strip() else [])
            file.flush()
    told.in_all()


class _Told:
    """What is said of translations: each warning once with its line, then how many there were."""

    def __init__(self, one_text: bool) -> None:
        self.one_text = one_text
        self.lines = self.several = self.cut = 0
        self.warnings = Counter[str]()

    def of(self, line: str, pieces: int, cut: int, warnings: list[str]) -> None:
        self.lines += 1
        self.several += pieces > 1
        self.cut += cut > 0
        for reason in warnings:
            self.warnings[reason] += 1
            if self.warnings[reason] == 1:  # the others are counted
                shown = " ".join(line.split())
                shown = shown if len(shown) <= EXCERPT else shown[:EXCERPT] + "..."
                place = "the text" if self.one_text else f"line {self.lines}"
                typer.echo(f"warning: {place}: {reason} ({shown})", err=True)

    def in_all(self) -> None:
        for reason, count in self.warnings.items():
            if count > 1:
                typer.echo(f"warning: {count:,} lines in all: {re.split('[,;]', reason)[0]}", err=True)
        too_long = "a sentence was longer than those the model was trained on, and was translated in parts"
        if self.one_text and self.cut:
            typer.echo(too_long, err=True)
        elif self.several and not self.one_text:
            cut = f"; in {self.cut:,} of them {too_long}" if self.cut else ""
            lines = counted(self.lines, "line")
            typer.echo(f"{self.several:,} of {lines} were translated in several pieces{cut}", err=True)


@contextmanager
def written_output(out: Path | None, source: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that is replaced when it is complete; the first rank alone writes it."""
    from dragoman.data.output import write_text_atomically

    if out is None or str(out) == "-" or not current().first:
        yield sys.stdout
        return
    if source is not None and out.exists() and Path(source).exists() and out.samefile(source):
        raise ConfigurationError(f"{out} is the input file; choose another name")
    with write_text_atomically(out) as file:
        yield file


def _written(line: str, translation: Translation, translator: Translator, as_json: bool) -> _Written:
    if as_json:
        texts = [json.dumps(_as_object(line, translation, translator), ensure_ascii=False)]
    else:
        texts = [alternative.text for alternative in translation.alternatives]
    return texts, translation.pieces, translation.cut, translation.warnings


def _as_object(line: str, translation: Translation, translator: Translator) -> dict[str, Any]:
    found: dict[str, Any] = {
        "source": line,
        "confidence": round(translation.confidence, 4),
        "translations": [{"text": a.text, "score": round(a.score, 4)} for a in translation.alternatives],
        "pieces": translation.pieces,
        "cut": translation.cut,
        "warnings": translation.warnings,
    }
    if translation.pieces == 1:
        alignment = translator.align(*translation.units[0])
        found["alignment"] = {
            "source": alignment.source,
            "reference": alignment.reference,
            "links": alignment.links(),
        }
    return found
