"""The corpus doctor: every kind of trouble is planted once among sound pairs, and found where it was planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.corpus import Corpus
from dragoman.data.doctor import Report, examine, leakage
from dragoman.data.findings import ratio_outliers
from dragoman.data.records import Record

SUBJECTS = [
    ("The man", "El hombre"),
    ("My sister", "Mi hermana"),
    ("The teacher", "El profesor"),
    ("Our dog", "Nuestro perro"),
]
VERBS = [("reads", "lee"), ("wants", "quiere"), ("sees", "ve"), ("has", "tiene"), ("looks for", "busca")]
OBJECTS = [
    ("the book", "el libro"),
    ("a white house", "una casa blanca"),
    ("two letters", "dos cartas"),
    ("the key", "la llave"),
]
SOUND = [
    (f"{s[0]} {v[0]} {o[0]} {w[0]}.", f"{s[1]} {v[1]} {o[1]} {w[1]}.")
    for s in SUBJECTS
    for v in VERBS
    for o in OBJECTS
    for w in [("today", "hoy"), ("this week", "esta semana"), ("in the kitchen", "en la cocina")]
]


def examined(pairs: list[tuple[str, str]], directory: Path) -> tuple[Corpus, Report]:
    records = [Record(pair, "pairs.tsv", line) for line, pair in enumerate(pairs, start=1)]
    corpus = Corpus(records, directory)
    return corpus, examine(corpus)


def test_a_sound_corpus_has_nothing_to_tell(tmp_path: Path) -> None:
    _, report = examined(SOUND, tmp_path)
    assert report.signs == []
    assert (report.pairs, report.distinct_sources, report.distinct_references) == (240, 240, 240)
    assert (report.several_references, report.most_references) == (0, 1)
    assert 0.8 < report.ratio < 1.2


@pytest.mark.parametrize(
    ("pair", "sign"),
    [
        (SOUND[0], "duplicate pairs"),
        (("Barcelona 1992", "Barcelona 1992"), "source and target identical"),
        (("The man reads.", "El hombre " + "lee y " * 30 + "lee."), "one side far too long for the other"),
        (("The caf\ufffd is open.", "El café está abierto."), "a replacement character from a wrong decoding"),
        (("The child eats.", "El niÃ±o come. Ã©l"), "letters of a wrong decoding, such as Ã© for é"),
        (("The man\x07 reads.", "El hombre lee."), "a control character"),
        (("The man reads.", "El hombre\u200b lee."), "an invisible character"),
        (("The man reads.", "El hombre\u00a0lee."), "a no-break space"),
        (("Salt &amp; pepper.", "Sal y pimienta."), "an HTML entity or tag"),
        (("Where is it?", "¿Dónde está."), "an inverted question or exclamation mark without its partner"),
        (SOUND[7][::-1], "source and target seem swapped"),
        ((SOUND[9][1], SOUND[8][1]), "source seems to be in the target language"),
        ((SOUND[9][0], SOUND[8][0]), "target seems to be in the source language"),
    ],
)
def test_trouble_is_found_where_it_is(pair: tuple[str, str], sign: str, tmp_path: Path) -> None:
    _, report = examined([*SOUND[:100], pair, *SOUND[100:]], tmp_path)
    (found,) = [s for s in report.signs if s.name == sign]
    assert found.count == 1
    assert found.advice
    assert found.examples[0].startswith("pairs.tsv, line 101: ")


def test_several_references_are_counted_once_for_each_distinct_one(tmp_path: Path) -> None:
    extra = [("Go.", "Ve."), ("Go.", "Vete."), ("Go.", "Vete."), ("Stop.", "Para.")]
    _, report = examined([*SOUND, *extra], tmp_path)
    assert (report.several_references, report.most_references) == (1, 2)
    assert report.distinct_sources == 242


def test_lengths_and_what_a_maximum_would_cut(tmp_path: Path) -> None:
    pairs = [(" ".join(["a"] * n), " ".join(["b"] * 2 * n)) for n in range(1, 101)]
    _, report = examined(pairs, tmp_path)
    assert report.lengths["source"].percentiles[50] == 50
    assert report.lengths["source"].longest == 100
    # a word is one label here, and start and end make two more
    assert report.lengths["source"].cut_by == {10: 92, 20: 82, 30: 72, 50: 52, 100: 2, 200: 0}
    assert report.lengths["reference"].cut_by[100] == 51


def test_texts_that_differ_in_white_space_alone_are_the_same(tmp_path: Path) -> None:
    _, report = examined([*SOUND, (SOUND[3][0].replace(" ", "  "), SOUND[3][1])], tmp_path)
    assert [s.name for s in report.signs] == ["duplicate pairs"]


def test_letters_of_a_few_pairs_do_not_come_back(tmp_path: Path) -> None:
    strange = [(f"Word {chr(0x4E00 + i)} here.", "Palabra aquí.") for i in range(9)]
    _, report = examined([*SOUND, *strange], tmp_path)
    (sign,) = [s for s in report.signs if "cannot restore" in s.name]
    assert 3 <= sign.count <= 6  # about every second one is in the half that trained


def test_leakage_into_another_part(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    corpus, _ = examined(SOUND[:200], tmp_path / "a")
    clean, _ = examined(SOUND[200:], tmp_path / "b")
    assert leakage(corpus, clean, "test.tsv") == []
    (tmp_path / "c").mkdir()
    leaking, _ = examined([*SOUND[200:], SOUND[3], ("New.", SOUND[4][1])], tmp_path / "c")
    sources, references = leakage(corpus, leaking, "test.tsv")
    assert (sources.count, references.count) == (1, 2)
    assert "source of test.tsv" in sources.name


def test_an_empty_corpus_has_a_report_too(tmp_path: Path) -> None:
    _, report = examined([], tmp_path)
    assert report.pairs == 0
    assert report.signs == []


def test_outliers_are_judged_by_the_corpus_itself() -> None:
    """Twice as long throughout is this corpus's way; only what departs from it is an outlier."""
    rng = np.random.default_rng(0)
    source = rng.integers(20, 60, 500)
    reference = 2 * source + rng.integers(-3, 4, 500)
    assert len(ratio_outliers(source, reference)) == 0
    reference[7] = 5
    np.testing.assert_array_equal(ratio_outliers(source, reference), [7])


def test_pairs_that_training_would_leave_out(tmp_path: Path) -> None:
    pairs = [("a sentence", "una frase"), ("word " * 2001, "palabra " * 1900), ("word " * 2000, "palabra " * 1900)]
    corpus = Corpus([Record(pair, "pairs.tsv", line) for line, pair in enumerate(pairs, 1)], tmp_path)
    [sign] = [sign for sign in examine(corpus).signs if "words on a side" in sign.name]
    assert (sign.name, sign.count) == ("more than 2,000 words on a side", 1)
    assert sign.examples[0].startswith("pairs.tsv, line 2:")
