"""dragoman data: check, clean, split and prepare a corpus, or download one."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.console import Console
from rich.markup import escape

from dragoman.cli.clean import clean
from dragoman.cli.corpus import Files, opened_corpus
from dragoman.cli.options import ReadingOptions, Shares, hint, is_quiet, new_table, shares_of, with_reading_options
from dragoman.cli.options import console as new_console
from dragoman.cli.prepare import prepare
from dragoman.errors import DragomanError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.data.doctor import Report

ENOUGH_TO_JUDGE = 1000  # pairs needed to tell the two languages apart

app = typer.Typer(help="Check, clean, split and prepare a corpus, or download one.", no_args_is_help=True)


@app.command("check")
@with_reading_options(on_bad_line="skip")
def checkopened_corpus(
    files: Files,
    against: Annotated[
        str | None, typer.Option(metavar="FILE", help="Another file, such as a test set, to check for leakage.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Report duplicates, lengths, odd characters, wrong languages and leakage, with examples and advice."""
    from dragoman.data.doctor import examine, leakage

    console = new_console()
    notices = Console(stderr=True) if as_json else console
    pairs = reading.read(files, "skip")
    with opened_corpus(pairs, notices) as corpus:
        report = examine(corpus)
        if against is not None:
            with opened_corpus(reading.read([against], "skip"), notices) as other:
                report.signs.extend(leakage(corpus, other, against))
    if as_json:
        left_out = [str(problem) for kept in pairs.problems.examples.values() for problem in kept]
        skipped = {
            "skipped": dict(pairs.problems.skipped),
            "notes": list(pairs.problems.notes),
            "left_out": dict(pairs.problems.counts),
            "left_out_examples": left_out,
        }
        typer.echo(json.dumps(asdict(report) | skipped, ensure_ascii=False, indent=2))
    else:
        _print_report(report, console)


def _print_report(report: Report, console: Console) -> None:
    console.print(
        f"[bold]{counted(report.pairs, 'pair')}[/], {report.distinct_sources:,} distinct sources, "
        f"{report.distinct_references:,} distinct targets"
    )
    if report.several_references:
        console.print(
            f"{report.several_references:,} sources have several translations, up to {report.most_references}: "
            "split by source, as dragoman data split does, or test sentences will leak"
        )
    words = new_table(console, "Words")
    cut = new_table(console, "Texts longer than so many tokens (estimate)")
    some = report.lengths["source"]
    for table, headings in (
        (words, [*(f"{p} %" for p in some.percentiles), "longest"]),
        (cut, [f"{limit}" for limit in some.cut_by]),
    ):
        table.add_column("side")
        for heading in headings:
            table.add_column(heading, justify="right", overflow="fold")
    for side, lengths in zip(("source", "target"), report.lengths.values(), strict=True):
        words.add_row(side, *(f"{n:,}" for n in [*lengths.percentiles.values(), lengths.longest]))
        cut.add_row(side, *(f"{n:,}" for n in lengths.cut_by.values()))
    console.print(words)
    console.print(cut)
    console.print(f"Characters of the target over those of the source, median: {report.ratio:.2f}")
    if not report.signs:
        judged = "no wrong language" if report.pairs >= ENOUGH_TO_JUDGE else "too few pairs to judge their language"
        console.print(f"[green]No problems found: no duplicates, no odd characters, {judged}.[/]")
    for sign in report.signs:
        console.print(f"[yellow]{sign.count:,}[/] {escape(sign.name)} [dim]({sign.advice})[/]", highlight=False)
        for example in sign.examples:
            console.print(f"    {example}", style="dim", highlight=False, markup=False)


app.command("clean")(clean)


@app.command("split")
@with_reading_options()
def splitopened_corpus(
    files: Files,
    out: Annotated[Path, typer.Option(help="Directory for training.tsv, validation.tsv and testing.tsv.")],
    shares: Shares = None,
    by: Annotated[
        str, typer.Option(help="source: equal sources stay in one part; sample: every pair on its own.")
    ] = "source",
    seed: Annotated[int, typer.Option(help="Random seed of the split.")] = 0,
    *,
    reading: ReadingOptions,
) -> None:
    """Split pairs into training, validation and testing parts that share no source; `train` takes the folder."""
    from dragoman.data.repairs import write_parts
    from dragoman.data.splits import (
        DEFAULT_SHARES,
        FILES,
        PARTS,
        Splitting,
        assign_parts,
        check_training,
        unusual_parts,
    )

    console = new_console()
    splitting = Splitting(shares_of(shares) or DEFAULT_SHARES, cast(Literal["source", "sample"], by), seed)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DragomanError(f"--out {out}: {error}") from None
    with opened_corpus(reading.read(files, "error"), console) as corpus:
        sources = (text for chunk in corpus.chunks(0) for text in chunk)
        parts = assign_parts(sources, splitting, purpose=FILES)
        check_training(parts)
        counts = write_parts(corpus, parts, PARTS, out)
    for name, count in counts.items():
        console.print(f"{count:>12,} pairs in {out / name}.tsv", highlight=False, markup=False)
    for part in unusual_parts(counts, splitting.shares).values():
        warning = f"warning: {part.what}. {part.advice}"
        console.print(warning, style="yellow", highlight=False, markup=False, soft_wrap=True)
    command = shlex.join(["dragoman", "train", str(out), "--out", "model"])
    hint(console, f"Next: {command}")


app.command("prepare")(prepare)


@app.command("get")
def getopened_corpus(
    name: Annotated[str, typer.Argument(help="eng-spa: 118,964 English-Spanish pairs from Tatoeba.")],
    to: Annotated[Path, typer.Option(help="Directory to download to.")] = Path(),
) -> None:
    """Download a public corpus. An interrupted download resumes; the checksum is verified."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from dragoman.data.fetch import fetch

    console = new_console()
    said: list[str] = []
    columns = (TextColumn("downloading"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True, disable=is_quiet()) as progress:
        task = progress.add_task("fetching", total=None)
        path = fetch(name, to, lambda done, total: progress.update(task, completed=done, total=total), said.append)
    for sentence in said:
        console.print(sentence, highlight=False, markup=False)
    hint(console, f"Next: dragoman data check {shlex.quote(str(path))}")
