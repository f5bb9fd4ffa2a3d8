"""dragoman check: run every published equation and say whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from dragoman import __version__
from dragoman.cli.options import console as new_console
from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.analysis.audit import Finding

COLOURS = {"holds": "green", "corrected": "yellow", "FAILS": "bold red"}


def check(
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the report, formulas rendered, as one HTML page.")
    ] = None,
) -> None:
    """Prove every equation: each derivative against central differences and the complex step, in float64.

    Exit code 1 if anything fails.
    """
    if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
        raise DragomanError(f"--html {html}: give a file name in a directory that exists")
    console = new_console()
    findings = _run(console)
    console.print(_table("Published equations", [f for f in findings if f.printed is None]))
    console.print(_table("Wrong as printed, with the correction that holds", [f for f in findings if f.printed]))
    failed = [finding for finding in findings if not finding.passed]
    for finding in failed:
        console.print(f"[bold red]fails:[/] {', '.join(finding.ids)}  {finding.title}  {finding.errors}")
    corrected = sum(finding.verdict == "corrected" for finding in findings)
    console.print(
        "Worst error of each: largest difference over largest reference, by central differences (which see to about "
        "1e-9), by the complex step, and of values. 'no fit': shapes that cannot be multiplied.",
        style="dim",
    )
    console.print(
        f"{len(findings)} equations run: {len(findings) - corrected - len(failed)} hold, "
        f"{corrected} are wrong as printed and hold as corrected, {len(failed)} fail."
    )
    if html is not None:
        from dragoman.analysis.audit.page import audit_page

        html.write_text(audit_page(findings, __version__), encoding="utf-8")
        console.print(f"The report with its formulas is in {html}")
    if failed:
        raise typer.Exit(1)


def _run(console: Console) -> list[Finding]:
    from dragoman.analysis.audit import audit, audit_size

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[title]}"))
    findings = []
    # The matrices are tiny: BLAS threads would only wait for each other.
    with threadpool_limits(1), Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("checking", total=audit_size(), title="")
        for finding in audit():
            findings.append(finding)
            progress.update(task, advance=1, title=finding.title)
    return findings


def _table(title: str, findings: Sequence[Finding]) -> Table:
    corrections = any(finding.printed_error is not None for finding in findings)
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", expand=False)
    table.add_column("ledger id", no_wrap=True)
    table.add_column("equation", max_width=52)
    for heading in (["as printed"] if corrections else []) + ["differences", "complex step", "value"]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    source = ""
    for finding in findings:
        if finding.source != source:
            source = finding.source
            table.add_section()
            table.add_row("", f"[bold]{source}[/]")
        verdict = f"[{COLOURS[finding.verdict]}]{finding.verdict}[/]"
        table.add_row("\n".join(finding.ids), finding.title, *_errors(finding), verdict)
    return table


def _errors(finding: Finding) -> list[str]:
    """The worst error by each method; for a correction, first that of the printed form."""
    cells = []
    if finding.printed_error is not None:
        cells.append("no fit" if finding.printed_error == float("inf") else f"{finding.printed_error:.1e}")
    for methods in (("central differences",), ("complex step",), ("value", "back-propagation", "rounded value")):
        known = [finding.errors[method] for method in methods if method in finding.errors]
        cells.append(f"{known[0]:.1e}" if known else "")
    return cells
