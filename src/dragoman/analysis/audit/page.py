"""The audit as one self-contained page: formulas as MathML, nothing loaded from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from latex2mathml.converter import convert

from dragoman.analysis.audit.run import SOURCES, Finding
from dragoman.analysis.html_page import html_page

FIXES = "Wrong as printed"
STYLE = """
nav { margin: 1.5rem 0; } nav summary { cursor: pointer; padding: .2rem 0; }
nav ul { columns: 18rem; column-gap: 2.5rem; margin: .2rem 0 1rem; padding-left: 1.2rem; } nav li { break-inside: avoid; }
.filter { position: sticky; top: 0; background: var(--paper); padding: .6rem 0; border-bottom: 1px solid var(--line); }
.filter input { font: inherit; color: inherit; background: var(--shade); border: 1px solid var(--line);
  border-radius: .3rem; padding: .4rem .6rem; width: min(24rem, 100%); margin-right: .6rem; }
.filter output { color: var(--soft); font-size: .9rem; }
article { border-bottom: 1px solid var(--line); padding: .8rem 0; scroll-margin-top: 4rem; }
article:target { background: var(--shade); }
h3 { font-size: 1rem; margin: 0; display: inline; margin-right: .6rem; }
.formula { overflow-x: auto; padding: .5rem 0; margin: .2rem 0; }
.small { font-size: .85rem; color: var(--soft); margin: 0; } .small code { white-space: nowrap; }
math { font-size: 1.05rem; math-style: normal; }
.holds { color: var(--good); } .FAILS { color: var(--bad); font-weight: 700; } .corrected { color: var(--fixed); }
.printed math { color: var(--bad); } .label { color: var(--soft); font-size: .8rem; display: block; }
[hidden] { display: none; }
"""

# Every word of the box must be found in an equation; a document without one goes too.
FILTERING = """
const box = document.querySelector(".filter input"), count = document.querySelector(".filter output");
const equations = [...document.querySelectorAll("article")];
box.parentElement.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const equation of equations)
    equation.hidden = !words.every(word => equation.dataset.words.includes(word));
  for (const section of document.querySelectorAll("section"))
    section.hidden = !section.querySelector("article:not([hidden])");
  count.textContent = `${equations.filter(equation => !equation.hidden).length} of ${equations.length} equations`;
});
"""


def audit_page(findings: Sequence[Finding], version: str) -> str:
    """The whole report as HTML."""
    failed = sum(not finding.passed for finding in findings)
    corrected = sum(finding.verdict == "corrected" for finding in findings)
    verdict = f"{failed} fail." if failed else "All of them hold."
    sections = {name: rows for name, rows in _sections(findings) if rows}
    lead = (
        f'<p class="lead">Dragoman {escape(version)} ran {len(findings)} published equations in float64. {verdict} '
        f"{corrected} of them are wrong as printed and stand here with their correction. A derivative is compared with "
        "central differences and, where the function is analytic, with the complex step; the error is the largest "
        "absolute difference over the largest absolute reference.</p>"
    )
    search = (
        '<div class="filter" hidden><input type="search" placeholder="Filter: softmax, T-4.3.7, fails ..." '
        'aria-label="Filter the equations"><output></output></div>'
    )
    bodies = (_section(name, rows) for name, rows in sections.items())
    body = "\n".join(["<h1>Equation audit</h1>", lead, _contents(sections), search, *bodies])
    return html_page(f"Equation audit - Dragoman {version}", STYLE, body, FILTERING)


def _sections(findings: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    for source in SOURCES.values():
        yield source, [f for f in findings if f.source == source and f.printed is None]
    yield FIXES, [f for f in findings if f.printed is not None]


def _contents(sections: dict[str, list[Finding]]) -> str:
    """A line for each document, which opens to its equations."""
    entries = (
        f'<details><summary><a href="#{_anchor(name)}">{escape(name)}</a>: {len(rows)} equations</summary>'
        f"<ul>{''.join(_entry(finding) for finding in rows)}</ul></details>"
        for name, rows in sections.items()
    )
    return f'<nav aria-label="Contents">{"".join(entries)}</nav>'


def _entry(finding: Finding) -> str:
    return f'<li><a href="#{_name(finding)}">{escape(finding.title)}</a></li>'


def _section(name: str, rows: Sequence[Finding]) -> str:
    return f'<section><h2 id="{_anchor(name)}">{escape(name)}</h2>{"".join(map(_article, rows))}</section>'


def _article(finding: Finding) -> str:
    ids = ", ".join(f"<code>{escape(i)}</code>" for i in finding.ids)
    errors = [f"{_digit(value)} {escape(method)}" for method, value in finding.errors.items()]
    formula = f'<div class="formula">{convert(finding.formula)}</div>'
    if finding.printed is not None and finding.printed_error is not None:
        printed = f'<div class="formula printed">{convert(finding.printed)}</div>'
        formula = f'<span class="label">printed</span>{printed}<span class="label">corrected</span>{formula}'
        errors.insert(0, f"{_how_wrong(finding.printed_error)} as printed")
    words = " ".join((finding.title, *finding.ids, finding.verdict, finding.source)).lower()
    return (
        f'<article id="{_name(finding)}" data-words="{escape(words)}"><h3>{escape(finding.title)}</h3> '
        f'<span class="{finding.verdict}">{finding.verdict}</span>{formula}'
        f'<p class="small">worst error: {"; ".join(errors)}</p><p class="small">ledger: {ids}</p></article>'
    )


def _name(finding: Finding) -> str:
    """What links to an equation end in; two equations may settle the same statement."""
    return _anchor(" ".join((*finding.ids, finding.title)))


def _anchor(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text)


def _digit(error: float) -> str:
    return "0" if error == 0 else f"{error:.0e}"


def _how_wrong(error: float) -> str:
    return "shapes do not fit" if error == float("inf") else f"{error:.1g}"
