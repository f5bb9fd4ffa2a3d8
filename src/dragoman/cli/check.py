"""dragoman check: run every published equation and say whether it holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from dragoman import __version__
from dragoman.cli.options import AsJson
from dragoman.cli.options import console as new_console
from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.analysis.audit import Finding
    from dragoman.analysis.audit.ledger import Ledger

WIDE = 100  # columns of the full table
COLOURS = {"holds": "green", "corrected": "yellow", "FAILS": "bold red"}


def check(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[EQUATION]", help="Only these, in full: a word, a ledger id (T-4.3.7-LNx) or a number (4.3.7)."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the report, formulas rendered, as one HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove every equation: each derivative against central differences and the complex step, in float64.

    Exit code 1 if anything fails.
    """
    from dragoman.analysis.audit.ledger import Ledger
    from dragoman.cli.check_equation import as_dict, print_equation, with_details

    if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
        raise DragomanError(f"--html {html}: give a file name in a directory that exists")
    screen, ledger = new_console(), Ledger()
    findings = _run(query, ledger)
    if as_json:
        found = [as_dict(f) if query is None else with_details(f, ledger) for f in findings]
        typer.echo(json.dumps({**_counts(findings), "equations": found}, ensure_ascii=False, indent=2))
    elif query is None:
        _print_all(findings, screen)
    else:
        shown: set[str] = set()
        for finding in findings:
            print_equation(finding, ledger, screen, shown)
        screen.rule(style="dim")
    if not as_json:
        _print_counts(findings, screen)
    if html is not None:
        from dragoman.analysis.audit.page import audit_page

        html.write_text(audit_page(findings, __version__), encoding="utf-8")
        if not as_json:
            screen.print(f"The report with its formulas is in {html}", highlight=False, markup=False)
    if not all(finding.passed for finding in findings):
        raise typer.Exit(1)


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    verdicts = Counter(finding.verdict for finding in findings)
    named = {"hold": verdicts["holds"], "corrected": verdicts["corrected"], "fail": verdicts["FAILS"]}
    return {"run": len(findings), **named}


def _print_all(findings: Sequence[Finding], screen: Console) -> None:
    wide = screen.width >= WIDE
    screen.print(_table("Published equations", [f for f in findings if f.printed is None], wide))
    screen.print(_table("Wrong as printed, with the correction that holds", [f for f in findings if f.printed], wide))
    for finding in findings:
        if not finding.passed:
            screen.print(f"[bold red]fails:[/] {', '.join(finding.ids)}  {finding.title}  {finding.errors}")
    screen.print(
        "Worst error of each: largest difference over largest reference, by central differences (which see to about "
        "1e-9), by the complex step, and of values. 'no fit': shapes that cannot be multiplied.",
        style="dim",
    )


def _print_counts(findings: Sequence[Finding], screen: Console) -> None:
    n = _counts(findings)
    screen.print(
        f"{n['run']} {'equation' if n['run'] == 1 else 'equations'} run: {n['hold']} hold, "
        f"{n['corrected']} {'is' if n['corrected'] == 1 else 'are'} wrong as printed and hold as corrected, "
        f"{n['fail']} fail."
    )


def _run(query: str | None, ledger: Ledger) -> list[Finding]:
    from dragoman.analysis.audit import audit, audit_size, equations
    from dragoman.analysis.audit.lookup import look_up

    only = None if query is None else look_up(query, equations(), ledger)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[title]}"))
    findings = []
    notices = new_console(stderr=True)
    progress = Progress(*columns, console=notices, transient=True, disable=not notices.is_terminal)
    # The matrices are tiny: BLAS threads would only wait for each other.
    with threadpool_limits(1), progress:
        task = progress.add_task("checking", total=audit_size() if only is None else len(only), title="")
        for finding in audit() if only is None else audit(only):
            findings.append(finding)
            progress.update(task, advance=1, title=finding.title)
    return findings


def _table(title: str, findings: Sequence[Finding], wide: bool) -> Table:
    """Make the table; a narrow one has the id below the equation, and only the worst error."""
    corrections = any(finding.printed_error is not None for finding in findings)
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", expand=False)
    if wide:
        table.add_column("ledger id", no_wrap=True)
    table.add_column("equation", max_width=52, overflow="fold")
    methods = ["differences", "complex step", "value"] if wide else ["worst"]
    for heading in (["as printed"] if corrections else []) + methods:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    source = ""
    for finding in findings:
        if finding.source != source:
            source = finding.source
            table.add_section()
            table.add_row(*[""] * wide, f"[bold]{source}[/]")
        verdict = f"[{COLOURS[finding.verdict]}]{finding.verdict}[/]"
        ids = "\n".join(finding.ids)
        first = [ids, finding.title] if wide else [f"{finding.title}\n[dim]{ids}[/]"]
        table.add_row(*first, *_errors(finding, wide), verdict)
    return table


def _errors(finding: Finding, wide: bool) -> list[str]:
    """Return the worst error by each method, or of all; for a correction, first that of the printed form."""
    cells = []
    if finding.printed_error is not None:
        cells.append("no fit" if finding.printed_error == float("inf") else f"{finding.printed_error:.1e}")
    if not wide:
        return [*cells, f"{finding.worst:.1e}"]
    for methods in (("central differences",), ("complex step",), ("value", "back-propagation", "rounded value")):
        known = [finding.errors[method] for method in methods if method in finding.errors]
        cells.append(f"{known[0]:.1e}" if known else "")
    return cells
