"""Repairs: what is changed, what is left out, and that all of it is accounted for."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.doctor import Corpus
from dragoman.data.records import Record
from dragoman.data.repairs import REPAIRS, clean, repair_text, write_parts
from dragoman.errors import ConfigurationError, DataError
from tests.data.test_doctor import SOUND


def corpus_of(pairs: list[tuple[str, str]], directory: Path) -> Corpus:
    directory.mkdir(exist_ok=True)
    return Corpus([Record(pair, "in.tsv", line) for line, pair in enumerate(pairs, start=1)], directory)


@pytest.mark.parametrize(
    ("repair", "before", "after"),
    [
        ("spaces", "  a\u00a0 b\t\u200bc \x07", "a b c"),
        ("spaces", "one\x0ctwo\u2028three\x85four", "one two three four"),
        ("quotes", "“Hola”, «dijo» ‘él’ y it’s", '"Hola", "dijo" \'él\' y it\'s'),
        ("dashes", "bien‑hecho – sí ― no − 3", "bien-hecho — sí — no - 3"),
    ],
)
def test_text_is_put_in_order_only_by_the_repair_that_was_chosen(repair: str, before: str, after: str) -> None:
    assert repair_text(before, [repair]) == (after, [repair])
    assert repair_text(before, []) == (before, [])
    assert repair_text(after, [repair]) == (after, [])


def test_accents_and_inverted_marks_are_no_oddities() -> None:
    text = "¿Qué pingüino comió piñas? ¡El mío!"
    assert repair_text(text, list(REPAIRS)) == (text, [])


def test_everything_is_accounted_for(tmp_path: Path) -> None:
    trouble = [
        ("", "Nada."),
        SOUND[5],
        ("Same.", "Same."),
        ("Short.", "muy " * 60),
        ("It’s  late.", "Es\u00a0tarde."),
    ]
    corpus = corpus_of([*SOUND, *trouble], tmp_path / "store")
    outcome = clean(corpus, tmp_path / "out.tsv", tmp_path / "removed.tsv", list(REPAIRS))
    assert outcome.removed == {"empties": 1, "duplicates": 1, "identical": 1, "outliers": 1}
    assert outcome.changed["spaces"] == 2  # the late pair, and the blank at the end of the long one
    assert outcome.changed["quotes"] == 1
    kept = (tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()
    assert len(kept) == outcome.written == len(SOUND) + 1
    assert kept[:-1] == ["\t".join(pair) for pair in SOUND]
    assert kept[-1] == "It's late.\tEs tarde."
    removed = [line.split("\t") for line in (tmp_path / "removed.tsv").read_text(encoding="utf-8").splitlines()]
    assert [row[:3] for row in removed] == [
        ["empties", "in.tsv", "241"],
        ["duplicates", "in.tsv", "242"],
        ["identical", "in.tsv", "243"],
        ["outliers", "in.tsv", "244"],
    ]
    assert outcome.read == outcome.written + len(removed)


def test_what_was_not_chosen_stays(tmp_path: Path) -> None:
    corpus = corpus_of([SOUND[0], SOUND[0], ("“a”", "b")], tmp_path / "store")
    outcome = clean(corpus, tmp_path / "out.tsv.gz", tmp_path / "removed.tsv", ["spaces"])
    assert outcome.written == 3
    with gzip.open(tmp_path / "out.tsv.gz", "rt", encoding="utf-8") as file:
        assert file.read().splitlines()[2] == "“a”\tb"


def test_a_line_break_cannot_tear_a_row_apart(tmp_path: Path) -> None:
    clean(corpus_of([("a\nb\tc", "d")], tmp_path / "s"), tmp_path / "o.tsv", tmp_path / "r.tsv", [])
    assert (tmp_path / "o.tsv").read_text(encoding="utf-8") == "a b c\td\n"


def test_mistakes_are_named(tmp_path: Path) -> None:
    corpus = corpus_of([SOUND[0]], tmp_path / "s")
    with pytest.raises(ConfigurationError, match="unknown repair 'typos'; available: spaces"):
        clean(corpus, tmp_path / "o.tsv", tmp_path / "r.tsv", ["typos"])
    with pytest.raises(DataError, match="could not be written"):
        clean(corpus, tmp_path / "no" / "o.tsv", tmp_path / "r.tsv")
    assert not list(tmp_path.glob("*.part"))


def test_joiners_are_spelling_and_stay() -> None:
    for text in ("می\u200cخواهم", "\U0001f469\u200d\U0001f4bb"):
        assert repair_text(text, list(REPAIRS)) == (text, [])


def test_lines_no_pair_could_be_made_of_are_kept_too(tmp_path: Path) -> None:
    corpus = corpus_of([SOUND[0]], tmp_path / "s")
    lines = [("empty reference", "in.tsv", 7, "Hi | ")]
    outcome = clean(corpus, tmp_path / "o.tsv", tmp_path / "r.tsv", unreadable=lines)
    assert (outcome.read, outcome.written) == (2, 1)
    assert (tmp_path / "r.tsv").read_text(encoding="utf-8") == "empty reference\tin.tsv\t7\tHi | \n"


def test_parts_get_their_names_together_or_not_at_all(tmp_path: Path) -> None:
    corpus = corpus_of(SOUND[:6], tmp_path / "s")
    (tmp_path / "testing.tsv").mkdir()  # in the way of the last one
    with pytest.raises(DataError, match="could not be written"):
        write_parts(corpus, np.array([0, 1, 2, 0, 1, 2]), ["training", "validation", "testing"], tmp_path)
    assert not (tmp_path / "training.tsv").exists()
