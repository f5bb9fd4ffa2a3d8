"""A testing analysis as one self-contained page: nothing is loaded from anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from dragoman.analysis.differences import Run, differences
from dragoman.analysis.html_page import html_page
from dragoman.analysis.testing import Score, ScoredSentence, TestingAnalysis
from dragoman.analysis.verdict import verdict

STYLE = """
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
.verdict { background: var(--shade); border-left: .3rem solid var(--fixed); padding: .7rem 1rem; margin: 1rem 0; }
.verdict.light, .verdict.moderate { border-color: var(--good); }
.verdict.unusable, .verdict.gist { border-color: var(--bad); }
.verdict strong { display: block; font-size: 1.15rem; } .verdict span { color: var(--soft); font-size: .9rem; }
th, td { overflow-wrap: normal; } td:first-child { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid; }
th button::after { content: " ↕"; opacity: .5; }
th[aria-sort] button::after { content: " ▲"; opacity: 1; } th[aria-sort=descending] button::after { content: " ▼"; }
table.narrow { width: auto; }
td.signature { font: .78rem ui-monospace, monospace; color: var(--soft); min-width: 9rem; overflow-wrap: anywhere; }
td.bar { width: 35%; min-width: 6rem; vertical-align: middle; }
td.bar svg { display: block; width: 100%; height: .8rem; }
.bar .track { fill: var(--line); } .bar .value { fill: var(--good); }
.sentence { grid-template-columns: 6.5rem minmax(0, 1fr); gap: .1rem .8rem; border-bottom: 1px solid var(--line);
  padding: .6rem 0; margin: 0; }
.sentence dt { font-size: .85rem; } .sentence dd { white-space: pre-wrap; }
.sentence .score { font-variant-numeric: tabular-nums; }
mark { background: var(--tint); color: inherit; border-radius: .15rem;
  text-decoration: underline 2px var(--edge); text-underline-offset: .2em; }
mark.missing { --tint: #b3261e22; --edge: var(--bad); text-decoration-style: dotted; }
mark.extra { --tint: #c78a0033; --edge: var(--fixed); }
figure { margin: 1.5rem 0; } figcaption { color: var(--soft); margin-bottom: .4rem; }
figure .paper { background: #fff; border-radius: .4rem; padding: .4rem; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; margin: auto; }
@media (max-width: 36rem) { body { margin-top: 1rem; } th, td { padding: .4rem .2rem; font-size: .8rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dt { font-size: .85rem; margin-top: .3rem; }
  td.number, th.number { white-space: normal; } td.signature { min-width: 6rem; font-size: .7rem; }
  .bar { display: none; } th:not([aria-sort]) button::after { content: none; }
  figure svg { max-width: 40rem; margin: 0; } figcaption::after { content: " (swipe sideways to see all of it)"; }
  .sentence { grid-template-columns: 1fr; gap: 0; } .sentence dd { margin-bottom: .3rem; } }
"""

# A click on a heading sorts by that column, the next one the other way round. A cell counts as its first number.
SORTING = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("th")], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || !head.hasAttribute("aria-sort");
      const text = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const found = row => parseFloat(text(row).replaceAll(",", ""));
      const number = row => Number.isNaN(found(row)) ? -Infinity : found(row);
      const order = (a, b) => number(a) - number(b) || text(a).localeCompare(text(b));
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...[...body.rows].sort((a, b) => up ? order(a, b) : order(b, a)));
    });
  });
}
"""


def testing_page(analysis: TestingAnalysis, name: str, facts: Mapping[str, str], figures: Mapping[str, str]) -> str:
    """The whole report as HTML: the model's name, facts by name, figures as SVG elements by title."""
    parts = [
        f"<h1>{escape(name)}: testing analysis</h1>",
        f'<p class="lead">{analysis.sentences:,} sentences with {analysis.positions:,.0f} positions.</p>',
        _verdict(analysis),
        _facts(facts),
        "<h2>Scores</h2>",
        _scores({"BLEU": analysis.bleu, "chrF": analysis.chrf}),
        "<h2>Error and accuracy</h2>",
        _errors(analysis),
        "<h2>By length of the source</h2>",
        _lengths(analysis),
        "<h2>The worst translations</h2>",
        LEGEND,
        *map(_sentence, analysis.worst),
        "<h2>The best translations</h2>",
        *map(_sentence, analysis.best),
    ]
    if figures:
        parts.append("<h2>Figures</h2>")
        parts += [figure_element(number, title, svg) for number, (title, svg) in enumerate(figures.items(), 1)]
    return html_page(f"{name}: testing analysis", STYLE, "\n".join(parts), SORTING)


LEGEND = (
    '<p class="lead">Marked word by word: <mark class="missing">what the reference has</mark> and the translation '
    'lacks, and <mark class="extra">what the translation has</mark> and the reference lacks. A marked word is not '
    "always a mistake: there is more than one good translation.</p>"
)


def _verdict(analysis: TestingAnalysis) -> str:
    found = verdict(analysis.judged)
    caveat = f"<span>{escape(found.caveat)}</span>"
    return f'<p class="verdict {found.level}"><strong>{escape(str(found))}</strong> {caveat}</p>'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f"<dl>{rows}</dl>"


def _errors(analysis: TestingAnalysis) -> str:
    """The thesis's table of testing errors (6.2), with what else follows from it."""
    columns = {
        "testing error": f"{analysis.error:.4f}",
        "accuracy": f"{analysis.accuracy:.4f}",
        "perplexity": f"{analysis.perplexity:,.2f}",
        "exact matches": f"{analysis.exact:.1%}",
    }
    return _table([f"#{name}" for name in columns], [[_number(value) for value in columns.values()]], "narrow")


def _scores(scores: Mapping[str, Score]) -> str:
    rows = [
        [
            f"<td>{name}</td>",
            _number(f"{score.value:.2f}"),
            _number(f"{score.low:.2f} to {score.high:.2f}"),
            f'<td class="signature">{escape(score.signature)}</td>',
        ]
        for name, score in scores.items()
    ]
    return _table(["score", "#value", "#95 % confidence", "signature"], rows)


def _lengths(analysis: TestingAnalysis) -> str:
    rows = [
        [
            f"<td>{row.words}</td>",
            _number(f"{row.sentences:,}"),
            _number("-" if row.accuracy is None else f"{row.accuracy:.3f}"),
            _number(f"{row.bleu:.1f}"),
            _number(f"{row.chrf:.1f}"),
            f'<td class="bar" data-value="{row.chrf:.1f}">{_bar(row.chrf)}</td>',
        ]
        for row in analysis.lengths
    ]
    return _table(["words", "#sentences", "#accuracy", "#BLEU", "#chrF", "|chrF of 100"], rows)


def _bar(percent: float) -> str:
    return (
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="8"></rect>'
        f'<rect class="value" width="{percent:.1f}" height="8"></rect></svg>'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "wide") -> str:
    """A column whose name begins with # holds numbers, one with | bars."""
    kinds = {"#": "number", "|": "bar"}
    names = [f'<th class="{kinds[n[0]]}">{n[1:]}</th>' if n[0] in kinds else f"<th>{n}</th>" for n in head]
    top = f"<thead><tr>{''.join(names)}</tr></thead>"
    kind += " sortable" if len(rows) > 1 else ""
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{body}</tbody></table></div>'


def _number(text: str) -> str:
    return f'<td class="number">{text}</td>'


def _sentence(scored: ScoredSentence) -> str:
    sentence = scored.sentence
    reference, translation = differences(sentence.reference, sentence.translation)
    lines = {
        "source": escape(sentence.source),
        "reference": _marked(reference, "missing"),
        "translation": _marked(translation, "extra") or "(nothing)",
        "chrF": f'<span class="score">{scored.chrf:.1f}</span>',
    }
    return f'<dl class="sentence">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in lines.items())}</dl>'


def _marked(runs: Sequence[Run], kind: str) -> str:
    return "".join(f'<mark class="{kind}">{escape(text)}</mark>' if lacks else escape(text) for text, lacks in runs)


def figure_element(number: int, title: str, svg: str) -> str:
    """A figure on white paper, as it was drawn for it. Its names get a number: those of two figures are the same."""
    own = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>figure{number}-", svg)
    return f'<figure><figcaption>{escape(title)}</figcaption><div class="paper" tabindex="0">{own}</div></figure>'
