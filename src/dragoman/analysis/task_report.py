"""The evaluation of a model as numbers, tables and figures, and as one self-contained page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from dragoman.analysis.html_page import html_page
from dragoman.analysis.report import SORTING, STYLE, figure_element

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float


@dataclass(frozen=True)
class ReportTable:
    """Rows under named columns; numbers stay numbers until they are shown."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows} | ({"note": self.note} if self.note else {})


@dataclass(frozen=True)
class TaskReport:
    """What was measured of a model.

    headline  the one sentence to read first
    metrics   numbers by name, the most important first
    figures   drawn when they are asked for, by title
    note      how far to trust the headline
    summary   what the headline rests on, in a line
    examples  samples by title, each with its fields by name, for the terminal
    facts     how it was measured, by name
    """

    headline: str
    metrics: Mapping[str, float]
    tables: Sequence[ReportTable] = ()
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    note: str = ""
    summary: str = ""
    examples: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def screen_tables(self) -> list[ReportTable]:
        """The tables for the terminal."""
        return [ReportTable("Scores", ("score", "value"), list(self.metrics.items())), *self.tables]

    def page(self, name: str, facts: Mapping[str, str], drawn: Mapping[str, str]) -> str:
        """The report as HTML; figures are SVG elements by title."""
        return report_page(self, name, facts, drawn)

    def as_dict(self) -> dict[str, Any]:
        return {
            "headline": self.headline,
            "metrics": {name: _plain(value) for name, value in self.metrics.items()},
            "tables": [table.as_dict() for table in self.tables],
        }


def _plain(value: Cell) -> Cell | None:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: Cell) -> str:
    """A number as a reader wants it: four decimals, or thousands separated."""
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else value


def report_page(report: TaskReport, name: str, facts: Mapping[str, str], figures: Mapping[str, str]) -> str:
    """The report as HTML; figures are SVG elements by title."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    measured = ReportTable("Scores", ("score", "value"), [(name, value) for name, value in report.metrics.items()])
    parts = [
        f"<h1>{escape(name)}: testing analysis</h1>",
        f'<p class="verdict"><strong>{escape(report.headline)}</strong></p>',
        f"<dl>{rows}</dl>",
        *(_table(table) for table in (measured, *report.tables) if table.rows),
    ]
    if figures:
        parts.append("<h2>Figures</h2>")
        parts += [figure_element(number, title, svg) for number, (title, svg) in enumerate(figures.items(), 1)]
    return html_page(f"{name}: testing analysis", STYLE, "\n".join(parts), SORTING)


def _table(table: ReportTable) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    note = f'<p class="lead">{escape(table.note)}</p>' if table.note else ""
    kind = "narrow sortable" if len(table.rows) > 1 else "narrow"
    return (
        f'<h2>{escape(table.title)}</h2>{note}<div class="scroll"><table class="{kind}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: Cell) -> str:
    kind = ' class="number"' if isinstance(value, int | float) else ""
    return f"<td{kind}>{escape(shown(value))}</td>"
