"""The report is one well-formed page that shows what was measured, whatever the sentences contain."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.analysis import report, testing
from dragoman.analysis.differences import differences
from dragoman.analysis.figures import activations_figure, as_svg, attention_figure
from dragoman.analysis.testing import Judged, LengthScores, Score, ScoredSentence, Sentence, TestingAnalysis

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
        if data.strip() and not {"style", "script"} & set(self.open):
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
        judged=Judged(400, 0.125, 0.0, Score(31.456, 29.5, 33.25, BLEU), Score(54.321, 53.0, 55.75, "nrefs:1|<chrF>")),
    )


FACTS = {"model": "small", "parameters": "1,166,966", "command": f"dragoman test {EVIL}", "a & b": "c < d"}


@pytest.fixture(scope="module")
def figures() -> dict[str, str]:
    attention = attention_figure(np.full((2, 2), 0.5), ["--><script>", "sí"], ["<b>", "&amp;"])
    return {"Activations": as_svg(activations_figure()), f"Attention {EVIL}": as_svg(attention)}


@pytest.mark.ledger("T-6.2-test")
def test_the_page_shows_the_table_of_the_thesis_and_all_scores() -> None:
    page = Page(report.testing_page(analysis(), "small model", FACTS, {}))
    cells = " | ".join(page.texts)
    assert "testing error | accuracy | perplexity | exact matches | 1.7700 | 0.6600 | 5.87 | 12.5%" in cells
    assert f"BLEU | 31.46 | 29.50 to 33.25 | {BLEU} | chrF | 54.32 | 53.00 to 55.75 | nrefs:1|<chrF>" in cells
    assert "1-5 | 1,000 | 0.750 | 40.1 | 61.3 | 31+ | 234 | - | 0.0 | 7.2" in cells
    assert "1,234 sentences with 56,789 positions." in cells
    assert "model | small | parameters | 1,166,966" in cells


def test_bars_are_as_long_as_the_scores() -> None:
    page = Page(report.testing_page(analysis(), "small model", FACTS, {}))
    widths = [value for tag, name, value in page.attributes if (tag, name) == ("rect", "width")]
    assert widths == ["100", "61.3", "100", "7.2"]


def test_the_model_and_a_verdict_stand_on_top() -> None:
    page = Page(report.testing_page(analysis(), f"model {EVIL}", FACTS, {}))
    assert page.texts[:3] == [
        f"model {EVIL}: testing analysis",  # of the browser's window
        f"model {EVIL}: testing analysis",
        "1,234 sentences with 56,789 positions.",
    ]
    assert page.texts[3] == "Expect heavy post-editing: most sentences need several corrections."
    assert page.texts[4].startswith("A rule of thumb from BLEU and chrF")


def test_sentences_stand_with_their_score_worst_before_best() -> None:
    html = report.testing_page(analysis(), "m", FACTS, {})
    texts = Page(html).texts
    worst, best = texts.index("The worst translations"), texts.index("The best translations")
    shown = texts[texts.index("worst source") - 1 : best]
    assert worst < texts.index("worst source")
    assert shown == [
        "source", "worst source", "reference", "worst reference", "translation", "(nothing)", "chrF", "3.1",
    ]  # fmt: skip
    assert texts[best + 1 : best + 9] == [
        "source", "best source", "reference", "best reference", "translation", "right", "chrF", "100.0",
    ]  # fmt: skip


def test_words_that_differ_are_marked_on_both_sides() -> None:
    pair = Sentence("s", "Mi <b>tía</b> come pan.", "Mi tío come <i>el</i> pan.", 1.0, 1.0, 2.0)
    html = report.testing_page(replace(analysis(), worst=(ScoredSentence(pair, 3.14),)), "m", FACTS, {})
    assert '<dd>Mi <mark class="missing">&lt;b&gt;tía&lt;/b&gt;</mark> come pan.</dd>' in html
    assert (
        '<dd>Mi <mark class="extra">tío</mark> come <mark class="extra">&lt;i&gt;el&lt;/i&gt;</mark> pan.</dd>' in html
    )
    Page(html)


@given(st.text(), st.text())
def test_stretches_of_both_sides_are_the_texts_again(reference: str, translation: str) -> None:
    for text, runs in zip((reference, translation), differences(reference, translation), strict=True):
        assert "".join(part for part, _ in runs) == text
        assert all(part and not (lacks and part.isspace()) for part, lacks in runs)


@pytest.mark.parametrize(
    ("reference", "translation", "missing", "extra"),
    [
        ("el  pan", "el pan", [], []),  # spaces are no words
        ("¿Está bien?", "¿Está mal?", ["bien"], ["mal"]),
        ("我吃面包", "我吃米饭", ["面包"], ["米饭"]),  # no spaces between words
        ("", "sí", [], ["sí"]),
    ],
)
def test_differences_are_those_of_words(reference: str, translation: str, missing: list[str], extra: list[str]) -> None:
    sides = differences(reference, translation)
    assert [[text for text, lacks in side if lacks] for side in sides] == [missing, extra]


def test_the_only_script_is_the_one_that_the_policy_names() -> None:
    html = report.testing_page(analysis(), "m", FACTS, {})
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in html
    assert re.findall(r' on\w+="', html) == []


def test_tables_of_several_rows_can_be_sorted() -> None:
    html = report.testing_page(analysis(), "m", FACTS, {})
    assert re.findall(r'<table class="([^"]+)">', html) == ["wide sortable", "narrow", "wide sortable"]
    assert "aria-sort" in html


def test_what_users_wrote_is_text_and_never_markup(figures: dict[str, str]) -> None:
    html = report.testing_page(analysis(), "small model", FACTS, figures)
    page = Page(re.sub(r"</?mark[^>]*>", "", html))
    assert page.tags.count("script") == html.count("<script") == 1  # the page's own
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
    html = report.testing_page(analysis(), "small model", FACTS, figures)
    page = Page(html)
    assert not {"link", "img", "iframe"} & set(page.tags)
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
    html = report.testing_page(analysis(), "small model", FACTS, figures)
    names = Page(html).values("id")
    assert len(names) == len(set(names)) == len(first) + len(second)
    used = re.findall(r'href="#([^"]+)"', html) + re.findall(r"url\(#([^)]+)\)", html)
    assert used
    assert set(used) <= set(names)


def test_an_analysis_becomes_a_page() -> None:
    sentences = [Sentence(f"the {i}", f"el {i}", f"la {i}", 2.0, 1.0, 3.0) for i in range(5)]
    measured = testing.testing_analysis(sentences)
    page = Page(report.testing_page(measured, "m", {}, {}))
    assert measured.bleu.signature in page.texts
    assert "Figures" not in page.texts
    assert page.texts.count("the 3") == 2
