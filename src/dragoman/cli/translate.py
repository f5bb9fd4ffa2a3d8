"""dragoman translate: only the translation on standard output, one line for each line."""

from __future__ import annotations

import io
import json
import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from dragoman.tasks.translator import Translation, Translator

TOGETHER = 1024  # lines translated together at most
LONGEST_LINE = 1 << 20  # characters


def translate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="A text, or a file of lines; - or nothing: standard input.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the search; 1 is greedy, and faster.")] = 4,
    best: Annotated[int, typer.Option(min=1, help="So many translations of each line, best first.")] = 1,
    length_penalty: Annotated[float, typer.Option(help="0 prefers short translations, more than 1 long ones.")] = 1.0,
    sample: Annotated[bool, typer.Option("--sample", help="Draw each piece at random instead.")] = False,
    temperature: Annotated[float, typer.Option(help="Of sampling: below 1 more careful, above 1 more daring.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from the k most probable.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the most probable that make up this share.")] = None,
    seed: Annotated[int, typer.Option(help="Of sampling.")] = 0,
    prefix: Annotated[str | None, typer.Option(help="How the translation must begin.")] = None,
    maximum: Annotated[int | None, typer.Option(help="Labels a translation may have.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: source, translations, scores, alignment.")
    ] = False,
) -> None:
    """Translate a text, a file line by line, or standard input as it comes."""
    from dragoman.tasks.translator import Choice, Translator

    choice = Choice(beam, best, length_penalty, sample, temperature, top_k, top_p, seed, maximum)
    if prefix is not None and (text is None or text == "-" or _is_file(text)):
        raise ConfigurationError("--prefix goes with one TEXT")
    translator = Translator.load(model)
    number = 0
    for lines in _lines(text):
        prefixes = None if prefix is None else [prefix] * len(lines)
        for line, translation in zip(lines, translator.translations(lines, choice, prefixes), strict=True):
            number += 1
            _write(line, translation, number, translator, as_json)
        sys.stdout.flush()


def _write(line: str, translation: Translation, number: int, translator: Translator, as_json: bool) -> None:
    if translation.pieces > 1:
        words = len(line.split())
        typer.echo(f"line {number} ({words:,} words) was translated in {translation.pieces} pieces", err=True)
    if as_json:
        typer.echo(json.dumps(_told(line, translation, translator), ensure_ascii=False))
        return
    for alternative in translation.alternatives:
        typer.echo(alternative.text)


def _told(line: str, translation: Translation, translator: Translator) -> dict[str, Any]:
    told: dict[str, Any] = {
        "source": line,
        "translations": [{"text": a.text, "score": round(a.score, 4)} for a in translation.alternatives],
        "pieces": translation.pieces,
    }
    if translation.pieces == 1:
        alignment = translator.align(line, translation.text)
        told["alignment"] = {
            "source": alignment.source,
            "reference": alignment.reference,
            "links": alignment.links(),
        }
    return told


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _lines(text: str | None) -> Iterator[list[str]]:
    if text is None or text == "-":
        yield from as_they_come(sys.stdin)
    elif _is_file(text):
        try:
            with Path(text).open(encoding="utf-8-sig", newline="\n") as file:
                yield from _chunks(_checked(file))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{text} cannot be read as UTF-8 text: {error}") from None
    else:
        yield [" ".join(text.splitlines())]


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise DataError(f"line {number} is longer than {LONGEST_LINE:,} characters; cut it into lines first")
        yield line.rstrip("\r\n")


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == TOGETHER:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def as_they_come(stream: Iterable[str]) -> Iterator[list[str]]:
    """Whatever lines have arrived, at least one: a program that waits for each answer gets it, a file goes fast."""
    if isinstance(stream, io.TextIOWrapper):  # never the encoding of the terminal, nor half a character
        stream.reconfigure(encoding="utf-8", errors="strict")
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(TOGETHER)

    def read() -> None:
        try:
            for line in _checked(stream):
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # told where lines are asked for
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    more = True
    while more:
        chunk: list[str] = []
        waiting = True
        while more and len(chunk) < TOGETHER and (waiting or not arrived.empty()):
            line = arrived.get()
            waiting = False
            if isinstance(line, str):
                chunk.append(line)
                continue
            more = False
            if isinstance(line, UnicodeDecodeError):
                raise DataError(f"standard input is not UTF-8: {line}")
            if line is not None:
                raise line
        if chunk:
            yield chunk
