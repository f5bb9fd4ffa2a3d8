"""The report is one well-formed page that shows what was measured, whatever the sentences contain."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dragoman.analysis import report, testing
from dragoman.analysis.figures import activations_figure, as_svg, attention_figure
from dragoman.analysis.testing import LengthScores, Score, ScoredSentence, Sentence, TestingAnalysis

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<script>alert('¿qué?')</script> & \"quotes\""
BLEU = "nrefs:1|bs:1000|seed:0|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


class Page(HTMLParser):
    """Tags must close in the order they were opened; texts, attributes and ids are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and "style" not in self.open:
            self.texts.append(data.strip())

    def values(self, attribute: str) -> list[str]:
        return [value or "" for _, name, value in self.attributes if name == attribute]


def scored(text: str, chrf: float, translation: str = "") -> ScoredSentence:
    return ScoredSentence(Sentence(f"{text} source", f"{text} reference", translation, 1.0, 1.0, 2.0), chrf)


def analysis() -> TestingAnalysis:
    return TestingAnalysis(
        sentences=1234,
        positions=56789.0,
        error=1.77,
        accuracy=0.66,
        perplexity=5.8709,
        exact=0.125,
        bleu=Score(31.456, 29.5, 33.25, BLEU),
        chrf=Score(54.321, 53.0, 55.75, "nrefs:1|<chrF>"),
        lengths=(LengthScores("1-5", 1000, 0.75, 40.12, 61.3), LengthScores("31+", 234, None, 0.0, 7.2)),
        best=(scored("best", 100.0, "right"), scored(EVIL, 90.0, EVIL)),
        worst=(scored("worst", 3.14),),
    )


FACTS = {"model": "small", "parameters": "1,166,966", "command": f"dragoman test {EVIL}", "a & b": "c < d"}


@pytest.fixture(scope="module")
def figures() -> dict[str, str]:
    attention = attention_figure(np.full((2, 2), 0.5), ["--><script>", "sí"], ["<b>", "&amp;"])
    return {"Activations": as_svg(activations_figure()), f"Attention {EVIL}": as_svg(attention)}


@pytest.mark.ledger("T-6.2-test")
def test_the_page_shows_the_table_of_the_thesis_and_all_scores() -> None:
    page = Page(report.testing_page(analysis(), FACTS, {}))
    cells = " | ".join(page.texts)
    assert "testing error | accuracy | perplexity | exact matches | 1.7700 | 0.6600 | 5.87 | 12.5%" in cells
    assert f"BLEU | 31.46 | 29.50 to 33.25 | {BLEU} | chrF | 54.32 | 53.00 to 55.75 | nrefs:1|<chrF>" in cells
    assert "1-5 | 1,000 | 0.750 | 40.1 | 61.3 | 31+ | 234 | - | 0.0 | 7.2" in cells
    assert "1,234 sentences with 56,789 positions." in cells
    assert "model | small | parameters | 1,166,966" in cells


def test_bars_are_as_long_as_the_scores() -> None:
    page = Page(report.testing_page(analysis(), FACTS, {}))
    widths = [value for tag, name, value in page.attributes if (tag, name) == ("rect", "width")]
    assert widths == ["100", "61.3", "100", "7.2"]


def test_sentences_stand_with_their_score_best_before_worst() -> None:
    texts = Page(report.testing_page(analysis(), FACTS, {})).texts
    best, worst = texts.index("The best translations"), texts.index("The worst translations")
    assert texts[best + 1 : best + 9] == [
        "source", "best source", "reference", "best reference", "translation", "right", "chrF", "100.0",
    ]  # fmt: skip
    assert texts[worst + 1 :] == [
        "source", "worst source", "reference", "worst reference", "translation", "(nothing)", "chrF", "3.1",
    ]  # fmt: skip


def test_what_users_wrote_is_text_and_never_markup(figures: dict[str, str]) -> None:
    html = report.testing_page(analysis(), FACTS, figures)
    page = Page(html)
    assert "script" not in page.tags
    assert "<script" not in html
    texts = " | ".join(page.texts)
    for shown in (
        f"{EVIL} source",
        f"{EVIL} reference",
        f"dragoman test {EVIL}",
        f"Attention {EVIL}",
        "a & b",
        "c < d",
    ):
        assert shown in texts
    assert texts.count(EVIL) == 5  # source, reference, translation, command, title of a figure


def test_nothing_is_loaded_from_anywhere(figures: dict[str, str]) -> None:
    html = report.testing_page(analysis(), FACTS, figures)
    page = Page(html)
    assert not {"link", "img", "script", "iframe"} & set(page.tags)
    assert page.values("src") == []
    within = ("#", "data:image/png;base64,")
    assert all(value.startswith(within) for value in (*page.values("href"), *page.values("xlink:href")))
    assert "@import" not in html
    assert re.findall(r"url\((?!#)", html) == []
    assert 'name="viewport"' in html
    assert "prefers-color-scheme: dark" in html


def test_names_within_figures_are_their_own(figures: dict[str, str]) -> None:
    """Two figures of matplotlib use the same names; on one page each must find its own."""
    first, second = (set(re.findall(r'\bid="([^"]+)"', svg)) for svg in figures.values())
    assert first & second
    html = report.testing_page(analysis(), FACTS, figures)
    names = Page(html).values("id")
    assert len(names) == len(set(names)) == len(first) + len(second)
    used = re.findall(r'href="#([^"]+)"', html) + re.findall(r"url\(#([^)]+)\)", html)
    assert used
    assert set(used) <= set(names)


def test_an_analysis_becomes_a_page() -> None:
    sentences = [Sentence(f"the {i}", f"el {i}", f"la {i}", 2.0, 1.0, 3.0) for i in range(5)]
    measured = testing.testing_analysis(sentences)
    page = Page(report.testing_page(measured, {}, {}))
    assert measured.bleu.signature in page.texts
    assert "Figures" not in page.texts
    assert page.texts.count("the 3") == 2
