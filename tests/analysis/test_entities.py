"""Entities as conlleval counts them."""

from __future__ import annotations

import pytest

from dragoman.analysis.entities import are_spans, entities


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-PER I-PER O B-LOC", {(0, 2, "PER"), (3, 4, "LOC")}),
        ("B-PER B-PER I-PER", {(0, 1, "PER"), (1, 3, "PER")}),
        ("I-PER I-PER O I-LOC", {(0, 2, "PER"), (3, 4, "LOC")}),  # IOB1
        ("I-PER I-LOC", {(0, 1, "PER"), (1, 2, "LOC")}),
        ("B-PER I-LOC", {(0, 1, "PER"), (1, 2, "LOC")}),
        ("S-PER B-LOC E-LOC I-LOC", {(0, 1, "PER"), (1, 3, "LOC"), (3, 4, "LOC")}),  # BIOES
        ("U-PER B-LOC I-LOC L-LOC O", {(0, 1, "PER"), (1, 4, "LOC")}),  # BILOU
        ("O O", set()),
        ("", set()),
        ("B-geo-loc I-geo-loc", {(0, 2, "geo-loc")}),
    ],
)
def test_spans(tags: str, expected: set[tuple[int, int, str]]) -> None:
    assert entities(tags.split()) == expected


def test_which_tags_mark_spans() -> None:
    assert are_spans(["O", "B-PER", "I-PER"])
    assert are_spans(["I-NP", "O"])
    assert not are_spans(["NOUN", "VERB"])
    assert not are_spans(["O"])
    assert not are_spans(["B-PER", "NOUN"])
