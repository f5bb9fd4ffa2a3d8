"""dragoman translate: write translations to standard output, one line per line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import TextOptions, with_text_options
from dragoman.errors import ConfigurationError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.translation.translator import Translation, Translator

EXCERPT = 60  # characters of a line to show in a warning


@with_text_options
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

    One translation a line. Documents (XLIFF, PO, subtitles, HTML, DOCX ...) are refused.
    """
    from dragoman.tasks.translation.translator import DecodingOptions, Translator

    choice = DecodingOptions(beam, best, length_penalty, sample, temperature, top_k, top_p, seed, maximum)
    given = reading.input(text, "translate", "source")
    one_text = given.is_text
    if prefix is not None and not one_text:
        raise ConfigurationError("--prefix goes with one TEXT")
    translator = Translator.load(model)
    choose_engine(one_text)
    number, unseen = 0, Counter[str]()
    with written_output(out, None if one_text else given.given) as file:
        for lines in given.chunks():
            prefixes = None if prefix is None else [prefix] * len(lines)
            for line, translation in zip(lines, translator.translations(lines, choice, prefixes), strict=True):
                number += 1
                _warn(translation, "the text" if one_text else f"line {number}", line, unseen)
                _write(line, translation, number, translator, as_json, file)
            file.flush()
    for script, count in unseen.items():
        if count > 1:
            typer.echo(f"warning: {count:,} lines in all are {script}: their translations are made up", err=True)


def _warn(translation: Translation, place: str, line: str, unseen: Counter[str]) -> None:
    """Warn about the first line of each script, and count the others."""
    script = translation.unseen_script
    if script is None:
        return
    unseen[script] += 1
    if unseen[script] == 1:
        shown = line if len(line) <= EXCERPT else line[:EXCERPT] + "..."
        typer.echo(f"warning: {place}: {'; '.join(translation.warnings)} ({shown})", err=True)


@contextmanager
def written_output(out: Path | None, source: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that is replaced when it is complete."""
    from dragoman.data.output import write_text_atomically

    if out is None or str(out) == "-":
        yield sys.stdout
        return
    if source is not None and out.exists() and Path(source).exists() and out.samefile(source):
        raise ConfigurationError(f"{out} is the input file; choose another name")
    with write_text_atomically(out) as file:
        yield file


def _write(
    line: str, translation: Translation, number: int, translator: Translator, as_json: bool, file: TextIO
) -> None:
    if translation.pieces > 1:
        words = counted(len(line.split()), "word")
        typer.echo(f"line {number} ({words}) was translated in {translation.pieces} pieces", err=True)
    if as_json:
        print(json.dumps(_as_object(line, translation, translator), ensure_ascii=False), file=file)
        return
    for alternative in translation.alternatives:
        print(alternative.text, file=file)


def _as_object(line: str, translation: Translation, translator: Translator) -> dict[str, Any]:
    found: dict[str, Any] = {
        "source": line,
        "confidence": round(translation.confidence, 4),
        "translations": [{"text": a.text, "score": round(a.score, 4)} for a in translation.alternatives],
        "pieces": translation.pieces,
        "warnings": translation.warnings,
    }
    if translation.pieces == 1:
        alignment = translator.align(line, translation.text)
        found["alignment"] = {
            "source": alignment.source,
            "reference": alignment.reference,
            "links": alignment.links(),
        }
    return found
