"""A testing analysis as one self-contained page: nothing is loaded from anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from dragoman.analysis.audit.page import STYLE
from dragoman.analysis.testing import Score, ScoredSentence, TestingAnalysis

OWN_STYLE = """
body { max-width: 64rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.narrow { width: auto; }
td.signature { font: .78rem ui-monospace, monospace; color: var(--soft); overflow-wrap: anywhere; min-width: 9rem; }
td.bar { width: 35%; min-width: 6rem; vertical-align: middle; }
td.bar svg { display: block; width: 100%; height: .8rem; }
.bar .track { fill: var(--line); } .bar .value { fill: var(--good); }
.sentence { display: grid; grid-template-columns: 6.5rem 1fr; gap: .1rem .8rem; border-bottom: 1px solid var(--line);
  padding: .6rem 0; }
.sentence dt { font-size: .85rem; } .sentence dd { white-space: pre-wrap; }
.sentence .score { font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; } figcaption { color: var(--soft); margin-bottom: .4rem; }
figure .paper { background: #fff; border-radius: .4rem; padding: .4rem; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; margin: auto; }
@media (max-width: 36rem) { body { margin-top: 1rem; } th, td { padding: .4rem .2rem; font-size: .8rem; }
  td.number, th.number { white-space: normal; } td.signature { min-width: 6rem; font-size: .7rem; }
  td.bar { min-width: 3rem; }
  figure svg { max-width: 44rem; margin: 0; }
  .sentence { grid-template-columns: 1fr; gap: 0; } .sentence dd { margin-bottom: .3rem; } }
"""


def testing_page(analysis: TestingAnalysis, facts: Mapping[str, str], figures: Mapping[str, str]) -> str:
    """The whole report as HTML: facts of the model by name, figures as SVG elements by title."""
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Testing analysis</title><style>{STYLE}{OWN_STYLE}</style></head><body>",
        "<h1>Testing analysis</h1>",
        f'<p class="lead">{analysis.sentences:,} sentences with {analysis.positions:,.0f} positions.</p>',
        _facts(facts),
        "<h2>Error and accuracy</h2>",
        _errors(analysis),
        "<h2>Scores</h2>",
        _scores({"BLEU": analysis.bleu, "chrF": analysis.chrf}),
        "<h2>By length of the source</h2>",
        _lengths(analysis),
        "<h2>The best translations</h2>",
        *map(_sentence, analysis.best),
        "<h2>The worst translations</h2>",
        *map(_sentence, analysis.worst),
    ]
    if figures:
        parts.append("<h2>Figures</h2>")
        parts += [_figure(number, title, svg) for number, (title, svg) in enumerate(figures.items(), 1)]
    parts.append("</body></html>\n")
    return "\n".join(parts)


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
            f'<td class="bar">{_bar(row.chrf)}</td>',
        ]
        for row in analysis.lengths
    ]
    return _table(["words", "#sentences", "#accuracy", "#BLEU", "#chrF", "chrF of 100"], rows)


def _bar(percent: float) -> str:
    return (
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="8"></rect>'
        f'<rect class="value" width="{percent:.1f}" height="8"></rect></svg>'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "wide") -> str:
    """A column whose name begins with # holds numbers."""
    names = [f'<th class="number">{n[1:]}</th>' if n.startswith("#") else f"<th>{n}</th>" for n in head]
    top = f"<thead><tr>{''.join(names)}</tr></thead>"
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{body}</tbody></table></div>'


def _number(text: str) -> str:
    return f'<td class="number">{text}</td>'


def _sentence(scored: ScoredSentence) -> str:
    lines = {
        "source": escape(scored.sentence.source),
        "reference": escape(scored.sentence.reference),
        "translation": escape(scored.sentence.translation) or "(nothing)",
        "chrF": f'<span class="score">{scored.chrf:.1f}</span>',
    }
    return f'<dl class="sentence">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in lines.items())}</dl>'


def _figure(number: int, title: str, svg: str) -> str:
    """A figure on white paper, as it was drawn for it. Its names get a number: those of two figures are the same."""
    own = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>figure{number}-", svg)
    return f'<figure><figcaption>{escape(title)}</figcaption><div class="paper">{own}</div></figure>'
