"""The audit as one self-contained page: formulas as MathML, nothing loaded from anywhere."""

from __future__ import annotations

import html
from collections.abc import Sequence

from latex2mathml.converter import convert

from dragoman.analysis.audit.run import SOURCES, Finding

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5b6475; --line: #d9dde5; --paper: #ffffff; --good: #12703f;
  --bad: #b3261e; --fixed: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaf0; --soft: #a2abbd; --line: #343b4a; --paper: #161a22;
  --good: #6fd39d; --bad: #ff8a80; --fixed: #f0c36d; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 88rem; padding: 0 1rem; }
h1 { margin-bottom: 0; } p.lead { color: var(--soft); margin-top: .3rem; max-width: 60rem; }
h2 { margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .85rem; }
th, td { padding: .55rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.id { font: .78rem ui-monospace, monospace; color: var(--soft); white-space: nowrap; }
td.error { font: .82rem ui-monospace, monospace; white-space: nowrap; }
td.title { min-width: 13rem; }
math { font-size: 1.05rem; math-style: normal; }
.holds { color: var(--good); } .FAILS { color: var(--bad); font-weight: 700; } .corrected { color: var(--fixed); }
.printed math { color: var(--bad); } .label { color: var(--soft); font-size: .8rem; display: block; }
.printed { margin-bottom: .5rem; }
"""


def audit_page(findings: Sequence[Finding], version: str) -> str:
    """The whole report as HTML."""
    failed = sum(not finding.passed for finding in findings)
    corrected = sum(finding.verdict == "corrected" for finding in findings)
    verdict = f"{failed} fail." if failed else "All of them hold."
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Equation audit - Dragoman {html.escape(version)}</title><style>{STYLE}</style></head><body>",
        "<h1>Equation audit</h1>",
        f"<p class=lead>Dragoman {html.escape(version)} ran {len(findings)} published equations in float64. {verdict} "
        f"{corrected} of them are wrong as printed and stand here with their correction. A derivative is compared with "
        "central differences and, where the function is analytic, with the complex step; the error is the largest "
        "absolute difference over the largest absolute reference.</p>",
    ]
    for source in SOURCES.values():
        rows = [f for f in findings if f.source == source and f.printed is None]
        if rows:
            parts.append(f"<h2>{source}</h2>{_table([_row(f) for f in rows])}")
    fixes = [f for f in findings if f.printed is not None]
    if fixes:
        parts.append(f"<h2>Wrong as printed</h2>{_table([_row(f) for f in fixes])}")
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _table(rows: Sequence[str]) -> str:
    head = "<tr><th>verdict<th>equation<th>formula<th>worst error<th>ledger</tr>"
    return f"<div class=scroll><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def _row(finding: Finding) -> str:
    ids = "<br>".join(html.escape(i) for i in finding.ids)
    errors = "<br>".join(f"{value:.0e} {html.escape(method)}" for method, value in finding.errors.items())
    formula = convert(finding.formula)
    if finding.printed is not None and finding.printed_error is not None:
        formula = (
            f"<div class=printed><span class=label>printed</span>{convert(finding.printed)}</div>"
            f"<div><span class=label>corrected</span>{formula}</div>"
        )
        errors = f"{_how_wrong(finding.printed_error)} as printed<br>{errors}"
    return (
        f"<tr><td class={finding.verdict}>{finding.verdict}</td><td class=title>{html.escape(finding.title)}</td>"
        f"<td>{formula}</td><td class=error>{errors}</td><td class=id>{ids}</td></tr>"
    )


def _how_wrong(error: float) -> str:
    return "shapes do not fit" if error == float("inf") else f"{error:.1g}"
