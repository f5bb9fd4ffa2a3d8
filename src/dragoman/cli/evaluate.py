"""dragoman evaluate: the testing analysis of a model."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from dragoman.analysis.verdict import verdict
from dragoman.cli.engine import choose_engine
from dragoman.cli.fields import print_field
from dragoman.cli.options import (
    AsJson,
    Fill,
    ReadingOptions,
    column_from,
    columns_from,
    console,
    given_only,
    with_reading_options,
)
from dragoman.cli.quality import print_verdict
from dragoman.errors import ConfigurationError, DataError, DragomanError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.analysis.testing import ScoredSentence, TestingAnalysis
    from dragoman.tasks.translation.translator import Translator

SHOWN = 3  # best and worst sentences to show in the terminal; the page has more


@with_reading_options()
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="Pairs; default: the model's own testing part.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the search, up to 256; 1 is greedy, and faster.")] = 4,
    text: Annotated[str | None, typer.Option(help="Columns that hold the text; default: as in training.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the label; default: as in training.")] = None,
    fill: Fill = None,
    most: Annotated[int | None, typer.Option(min=1, help="Only the first so many pairs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of report.html and report.json.")] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Measure a model on its own testing part or on a file; writes report.html and report.json."""
    from dragoman.cli.report import evaluate_model
    from dragoman.tasks.model import load_metadata
    from dragoman.tasks.translation.corpus import read_pairs
    from dragoman.tasks.translation.settings import PairData
    from dragoman.tasks.translation.testing import load_testing
    from dragoman.tasks.translation.translator import DecodingOptions, Translator

    trained = load_metadata(model).task
    if trained != "translation":
        others = {"text": columns_from(text), "label": column_from(label), "fill": fill}
        settings = given_only({**reading.settings(any_columns=trained == "forecasting"), **others})
        evaluate_model(model, files or (), settings, most, out, as_json)
        return
    choice = DecodingOptions(beam=beam)
    translator = Translator.load(model)
    if files:
        chosen = PairData(files=tuple(files), **given_only(reading.settings()))
        pairs, name = read_pairs(chosen, lambda line: typer.echo(line, err=True)), ", ".join(files)
    else:
        pairs, name = load_testing(model), "its own testing part"
    if not pairs:
        raise DataError(f"{name} has no pairs; give a file of sentence pairs")
    pairs = pairs[:most]
    choose_engine()
    screen = console()
    place = out or model / "evaluation"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be created: {error}") from None
    columns_shown = (TextColumn("translating"), BarColumn(), MofNCompleteColumn())
    notices = console(stderr=True)
    with Progress(*columns_shown, console=notices, transient=True, disable=not notices.is_terminal) as progress:
        task = progress.add_task("translating", total=len(pairs))
        analysis = translator.evaluate(pairs, choice, lambda done: progress.update(task, completed=done))
    as_text = _write(analysis, translator, name, beam, place)
    if as_json:
        typer.echo(as_text)
        return
    _print(analysis, screen)
    screen.print(f"The whole report: {place / 'report.html'} and report.json", highlight=False, markup=False)


def _print(analysis: TestingAnalysis, screen: Console) -> None:
    bleu, chrf = analysis.bleu, analysis.chrf
    print_verdict(verdict(bleu.value, chrf.value, analysis.sentences), screen)
    table = Table(title=counted(analysis.sentences, "sentence"), title_justify="left", show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    measured = {
        "error": f"{analysis.error:.4f}",
        "accuracy": f"{analysis.accuracy:.4f}",
        "perplexity": f"{analysis.perplexity:.2f}",
        "exact": f"{analysis.exact:.1%}",
        "BLEU": f"{bleu.value:.2f} ({bleu.low:.1f} to {bleu.high:.1f})",
        "chrF": f"{chrf.value:.2f} ({chrf.low:.1f} to {chrf.high:.1f})",
    }
    for name, value in measured.items():
        table.add_row(name, value)
    screen.print(table)
    for name, score in (("BLEU", bleu), ("chrF", chrf)):
        print_field(name, score.signature, 10, screen, style="dim")
    lengths = Table(title="By words of the source", title_justify="left", header_style="dim")
    for heading in ("words", "sentences", "accuracy", "BLEU", "chrF"):
        lengths.add_column(heading, justify="right")
    for row in analysis.lengths:
        accuracy = "" if row.accuracy is None else f"{row.accuracy:.4f}"
        lengths.add_row(row.words, f"{row.sentences:,}", accuracy, f"{row.bleu:.1f}", f"{row.chrf:.1f}")
    screen.print(lengths)
    for title, sentences in (("Worst", analysis.worst), ("Best", analysis.best)):
        screen.print(f"{title}:", style="bold")
        for scored in sentences[:SHOWN]:
            _print_sentence(scored, screen)


def _print_sentence(scored: ScoredSentence, screen: Console) -> None:
    sentence = scored.sentence
    for name, text in (("source", sentence.source), ("reference", sentence.reference), ("model", sentence.translation)):
        print_field(name, text, 10, screen)
    print_field("chrF", f"{scored.chrf:.1f}", 10, screen, style="dim")


def _write(analysis: TestingAnalysis, translator: Translator, name: str, beam: int, place: Path) -> str:
    """Write both reports; return the one in JSON."""
    from dragoman.analysis.report import testing_page

    facts = _facts(translator, name, beam)
    quality = verdict(analysis.bleu.value, analysis.chrf.value, analysis.sentences)
    as_text = {"facts": facts, "verdict": asdict(quality), **analysis.as_dict()}
    text = json.dumps(as_text, ensure_ascii=False, indent=2)
    try:
        (place / "report.json").write_text(text, encoding="utf-8")
        model = "model" if translator.directory is None else translator.directory.resolve().name
        page = testing_page(analysis, model, facts, _figures(analysis, translator))
        (place / "report.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{place} could not be written: {error}") from None
    return text


def _facts(translator: Translator, name: str, beam: int) -> dict[str, str]:
    metadata = translator.metadata
    data, size = metadata.data, translator.network.configuration.summary()
    return {
        "model": f"{translator.directory}: {metadata.architecture}, {metadata.preset or 'own size'} ({size})",
        "parameters": f"{metadata.parameters:,}",
        "trained on": f"{', '.join(data.files)}: {data.parts.get('training', 0):,} pairs, {data.split_description}, "
        f"seed {metadata.seed}, recipe {metadata.recipe}",
        "training": f"{counted(metadata.training.get('steps', 0), 'step')}, "
        f"{counted(metadata.training.get('epochs', 0), 'epoch')}",
        "tested on": name,
        "search": "greedy" if beam == 1 else f"beam of {beam}",
        "command": shlex.join(["dragoman", *sys.argv[1:]]),
        "dragoman": metadata.dragoman,
    }


def _figures(analysis: TestingAnalysis, translator: Translator) -> dict[str, str]:
    """Draw training curves, attention of a sentence, and the architecture, if matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return {}
    from dragoman.analysis.figures import as_svg
    from dragoman.tasks.translation import figures

    drawn = {}
    if translator.directory is not None and (translator.directory / "history.jsonl").exists():
        try:
            drawn["Training"] = as_svg(figures.history(translator, None))
        except DragomanError as error:
            typer.echo(f"the training curves are left out of the page: {error}", err=True)
    if analysis.best:
        drawn["Where a translation looked"] = as_svg(figures.attention(translator, analysis.best[0].sentence.source))
    with suppress(DragomanError):  # a vocabulary without words
        drawn["Word vectors"] = as_svg(figures.embeddings(translator, None))
    drawn["Architecture"] = as_svg(figures.architecture(translator, None))
    return drawn
