"""Repairs: what is changed, what is left out, and that all of it is accounted for."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data.corpus import Corpus
from dragoman.data.findings import KINDS
from dragoman.data.mending import DEFAULT, REPAIRS, repair_text
from dragoman.data.records import Record
from dragoman.data.repairs import Cleaning, Outcome, clean_pairs, write_parts
from dragoman.errors import ConfigurationError, DataError
from tests.data.test_doctor import SOUND


def corpus_of(pairs: list[tuple[str, str]], directory: Path) -> Corpus:
    directory.mkdir(exist_ok=True)
    return Corpus([Record(pair, "in.tsv", line) for line, pair in enumerate(pairs, start=1)], directory)


def cleaned(pairs: list[tuple[str, str]], place: Path, repairs: Any = DEFAULT, drops: Any = (), **more: Any) -> Outcome:
    """Pairs go to out.tsv, what was left out to removed.tsv."""
    for name in ("store", "work"):
        (place / name).mkdir()
    corpus, cleaning = corpus_of(pairs, place / "store"), Cleaning(repairs, drops)
    return clean_pairs(corpus, place / "work", place / "out.tsv", place / "removed.tsv", cleaning, **more)


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("repair", "before", "after"),
    [
        ("mojibake", "El niÃ±o comiÃ³ en el cafÃ©.", "El niño comió en el café."),
        ("mojibake", "¿QuÃ©? «sí», donâ€™t", "¿Qué? «sí», don’t"),
        ("mojibake", "Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "привет"),
        ("mojibake", "NiÃ\x83Â±o", "Niño"),
        ("mojibake", "æ—¥æœ¬èªž", "日本語"),
        ("control", "one\x0ctwo\x07 three\x85four", "one two three four"),
        ("spaces", "a  b\tc   d", "a b c d"),
        ("invisible", "a\u200bb\u2028c\u00ad", "ab c"),
        ("nbsp", "a\u00a0b\u202fc", "a b c"),
        ("html", "Salt &amp; pepper &#39;n&#x27; &lt;b>", "Salt & pepper 'n' <b>"),
        ("quotes", "“Hola”, «dijo» ‘él’ y it’s", '"Hola", "dijo" \'él\' y it\'s'),
        ("dashes", "bien‑hecho – sí ― no − 3", "bien-hecho — sí — no - 3"),
    ],
)
def test_text_is_mended_only_by_the_repair_that_was_chosen(repair: str, before: str, after: str) -> None:
    assert repair_text(before, [repair]) == (after, [repair])
    assert repair_text(before, []) == (before, [])
    assert repair_text(after, [repair]) == (after, [])


def test_accents_and_inverted_marks_are_no_oddities() -> None:
    text = "¿Qué pingüino comió piñas? ¡El mío!"
    assert repair_text(text, list(REPAIRS)) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "«Ñ»",
        "“café”",
        "HÂ» é",
        "AMANHÃ É",
        "10–20 Uhr, „gut“, l’eau\u00a0: ‘él’ …",
        "ខ្ញុំ\u200bស្រលាញ់",
        "\u200fשלום\u200f!",
        "ÐÑ, Ñandú",
        "می\u200cخواهم \U0001f469\u200d\U0001f4bb",
    ],
)
def test_what_a_language_needs_is_no_damage(text: str) -> None:
    assert repair_text(text, DEFAULT) == (text, [])


def test_everything_is_accounted_for(tmp_path: Path) -> None:
    trouble = [
        ("\x07", "Nada."),
        SOUND[5],
        ("Same.", "Same."),
        ("Nobody has translated this.", "Nobody has translated this."),
        ("Short.", "muy " * 60),
        ("It’s  late.", "Es\u00a0tarde."),
    ]
    outcome = cleaned([*SOUND, *trouble], tmp_path, REPAIRS, ("duplicates", "identical", "untranslated", "outliers"))
    assert outcome.removed == {"empty": 1, "duplicates": 1, "untranslated": 1, "identical": 1, "outliers": 1}
    assert outcome.changed == {"spaces": 1, "quotes": 1, "nbsp": 1}
    kept = rows(tmp_path / "out.tsv")
    assert len(kept) == outcome.written == len(SOUND) + 1
    assert kept == [*map(list, SOUND), ["It's late.", "Es tarde."]]
    removed = rows(tmp_path / "removed.tsv")
    assert [row[:3] for row in removed] == [
        ["empty", "in.tsv", "241"],
        ["duplicates", "in.tsv", "242"],
        ["identical", "in.tsv", "243"],
        ["untranslated", "in.tsv", "244"],
        ["outliers", "in.tsv", "245"],
    ]
    assert outcome.read == outcome.written + len(removed)


TROUBLE = {
    "duplicates": SOUND[0],
    "untranslated": ("The cat sat on the mat.", "The cat sat on the mat."),
    "identical": ("Barcelona 1992", "Barcelona 1992"),
    "outliers": ("The man reads.", "El hombre " + "lee y " * 30 + "lee."),
    "long": ("word " * 2001, "palabra " * 1900),
    "replaced": ("The caf\ufffd is open.", "El café está abierto."),
    "mojibake": ("The child eats.", "El niÃ±o come. Ã©l"),
    "control": ("The man\x07 reads.", "El hombre lee."),
    "invisible": ("The man reads.", "El hombre\u200b lee."),
    "nbsp": ("The man reads.", "El hombre\u00a0lee."),
    "html": ("Salt &amp; pepper.", "Sal y pimienta."),
    "inverted": ("Where is it?", "¿Dónde está."),
    "swapped": SOUND[7][::-1],
    "wrong-source": (SOUND[9][1], SOUND[8][1]),
    "wrong-target": (SOUND[9][0], SOUND[8][0]),
}


@pytest.mark.parametrize("name", KINDS)
def test_everything_that_check_finds_can_be_left_out_by_name(name: str, tmp_path: Path) -> None:
    outcome = cleaned([*SOUND, TROUBLE[name]], tmp_path, (), [name])
    assert outcome.removed == {name: 1}
    assert [row[:3] for row in rows(tmp_path / "removed.tsv")] == [[name, "in.tsv", "241"]]


@pytest.mark.parametrize(
    ("repair", "kind"), [*((name, name) for name in REPAIRS if name in KINDS), ("swapped", "swapped")]
)
def test_what_is_mended_is_not_left_out(repair: str, kind: str, tmp_path: Path) -> None:
    outcome = cleaned([*SOUND, TROUBLE[kind]], tmp_path, [repair], [kind])
    assert (outcome.changed, outcome.removed) == ({repair: 1}, {})
    if repair == "swapped":
        assert rows(tmp_path / "out.tsv")[-1] == list(SOUND[7])


def test_pairs_with_a_text_of_a_test_set_are_left_out(tmp_path: Path) -> None:
    other = corpus_of([(SOUND[3][0], "Otra."), ("Other.", SOUND[4][1]), ("New.", "Nuevo.")], tmp_path / "other")
    outcome = cleaned(SOUND[:10], tmp_path, against=other)
    assert outcome.removed == {"leaked": 2}
    assert rows(tmp_path / "out.tsv") == [list(pair) for pair in SOUND[:3] + SOUND[5:10]]


def test_what_was_not_chosen_stays(tmp_path: Path) -> None:
    for name in ("store", "work"):
        (tmp_path / name).mkdir()
    corpus = corpus_of([SOUND[0], SOUND[0], ("“a”", "b")], tmp_path / "store")
    places = tmp_path / "work", tmp_path / "out.tsv.gz", tmp_path / "removed.tsv"
    assert clean_pairs(corpus, *places, Cleaning(["spaces"], [])).written == 3
    with gzip.open(tmp_path / "out.tsv.gz", "rt", encoding="utf-8") as file:
        assert file.read().splitlines()[2] == "“a”\tb"


def test_a_line_break_cannot_tear_a_row_apart(tmp_path: Path) -> None:
    cleaned([("a\nb\tc", "d")], tmp_path, ())
    assert rows(tmp_path / "out.tsv") == [["a b c", "d"]]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown --repair 'typos'; available: mojibake"):
        Cleaning(["typos"])
    with pytest.raises(ConfigurationError, match="unknown --drop 'typos'; available: duplicates"):
        Cleaning([], ["typos"])
    (tmp_path / "out.tsv").mkdir()
    with pytest.raises(DataError, match="could not be written"):
        cleaned(SOUND[:1], tmp_path)
    assert not list(tmp_path.glob("*.part"))


def test_lines_no_pair_could_be_made_of_are_kept_too(tmp_path: Path) -> None:
    lines = [("empty reference", "in.tsv", 7, "Hi | ")]
    outcome = cleaned(SOUND[:1], tmp_path, unreadable=lines)
    assert (outcome.read, outcome.written) == (2, 1)
    assert (tmp_path / "removed.tsv").read_text(encoding="utf-8") == "empty reference\tin.tsv\t7\tHi | \n"


def test_parts_get_their_names_together_or_not_at_all(tmp_path: Path) -> None:
    corpus = corpus_of(SOUND[:6], tmp_path / "s")
    (tmp_path / "testing.tsv").mkdir()  # in the way of the last one
    with pytest.raises(DataError, match="could not be written"):
        write_parts(corpus, np.array([0, 1, 2, 0, 1, 2]), ["training", "validation", "testing"], tmp_path)
    assert not (tmp_path / "training.tsv").exists()
