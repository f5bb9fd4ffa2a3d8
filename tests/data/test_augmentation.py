"""Stand-ins are taught on any corpus: a share of the training pairs gets some, at places that correspond."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.augmentation import (
    ASSOCIATED,
    MOST_WORDS,
    SEEN_TOGETHER,
    Augmentation,
    Lexicon,
    Word,
    share_of,
    words,
)
from dragoman.data.dataset import Part, prepare
from dragoman.data.pair_encoding import Encoding
from dragoman.data.splits import Splitting
from dragoman.errors import DragomanWarning
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from dragoman.text.protection import STANDINS, mask_pair
from tests.tasks.models import tiny, write_pairs

ADJECTIVES = {"red": "rojo", "blue": "azul", "green": "verde", "old": "viejo", "small": "pequeño", "new": "nuevo"}
NOUNS = {"dog": "perro", "tree": "árbol", "book": "libro", "boat": "barco", "car": "coche", "hat": "sombrero"}
VERBS = {"sees": "ve", "buys": "compra", "wants": "quiere", "paints": "pinta", "sells": "vende"}
# Nothing in them is protected, and no name stands on both sides.
PAIRS = [
    (f"{who} {does} the {adjective} {noun}.", f"¿{quien} {hace} el {nombre} {adjetivo}?")
    for who, quien in {"Mother": "Madre", "Father": "Padre", "Everybody": "Todos"}.items()
    for does, hace in VERBS.items()
    for adjective, adjetivo in ADJECTIVES.items()
    for noun, nombre in NOUNS.items()
]
MEANING = {**ADJECTIVES, **NOUNS, **VERBS, "mother": "madre", "father": "padre", "everybody": "todos", "the": "el"}


def standins_in(text: str) -> list[str]:
    return [character for character in text if character in STANDINS]


def shown(part: Part, side: int) -> list[str]:
    """What a network is trained on, as text."""
    dataset = part.dataset
    return dataset.tokenizers[side].decode([dataset.encoded[side][i] for i in part.samples])


def test_a_corpus_without_a_single_span_teaches_standins(tmp_path: Path) -> None:
    prepared = prepare(PAIRS, tmp_path / "d", Encoding(protect=True), Splitting((0.6, 0.2, 0.2)))
    sources, references = (shown(prepared.part("training"), side) for side in (0, 1))
    taught = [pair for pair in zip(sources, references, strict=True) if standins_in(pair[0])]
    assert 0.3 < len(taught) / len(sources) < 0.5
    assert all(Counter(standins_in(a)) == Counter(standins_in(b)) for a, b in taught)
    assert {s for source, _ in taught for s in standins_in(source)} == set(STANDINS)
    assert {len(standins_in(source)) for source, _ in taught} >= {1, 2, 3, 4, 5}


def test_scores_are_measured_on_pairs_as_they_are(tmp_path: Path) -> None:
    prepared = prepare(PAIRS, tmp_path / "d", Encoding(protect=True), Splitting((0.6, 0.2, 0.2)))
    for name in ("validation", "testing"):
        part = prepared.part(name)
        for side, texts in enumerate(("source", "target")):
            assert shown(part, side) == list(part.texts(texts))


def test_texts_are_stored_as_they_are(tmp_path: Path) -> None:
    prepared = prepare(PAIRS, tmp_path / "d", Encoding(protect=True))
    assert list(prepared.texts[0].texts(range(len(PAIRS)))) == [source for source, _ in PAIRS]


def test_the_same_corpus_gives_the_same_labels_in_any_order(tmp_path: Path) -> None:
    shuffled = random.Random(0).sample(range(len(PAIRS)), len(PAIRS))
    one = prepare(PAIRS, tmp_path / "one", Encoding(protect=True))
    other = prepare([PAIRS[i] for i in shuffled], tmp_path / "other", Encoding(protect=True))
    for side in (0, 1):
        assert one.tokenizers[side].to_json() == other.tokenizers[side].to_json()
        for place, i in enumerate(shuffled):
            np.testing.assert_array_equal(other.encoded[side][place], one.encoded[side][i])


def test_words_are_linked_with_their_translations() -> None:
    lexicon = Lexicon(PAIRS)
    for source, reference in PAIRS[::7]:
        sides = words(source), words(reference)
        links = lexicon.links(*sides)
        assert len(links) >= 4
        assert all(MEANING[sides[0][i][0]] == sides[1][j][0] for i, j in links)


def test_what_a_standin_stands_beside_or_replaces_corresponds() -> None:
    """Around "red" in the source, around "rojo" in the reference; instead of both; at the ends of both."""
    augment = Augmentation(PAIRS, 1.0)
    around = instead = first = last = 0
    for source, reference in PAIRS:
        a, b = augment(source, reference)
        assert a != source
        inside = re.compile("([\ue000-\ue007]) (\\w+) ([\ue000-\ue007])")
        for left, word, right in inside.findall(a):
            translations = [w for x, w, y in inside.findall(b) if (x, y) == (left, right)]
            around += translations == [MEANING[word.lower()]]
        gone = [MEANING[w] for w, _, _ in words(source) if w not in a.lower().split() and f"{w}." not in a.lower()]
        assert sorted(gone) == sorted(w for w, _, _ in words(reference) if w not in [x for x, _, _ in words(b)])
        instead += len(gone)
        first += a[0] in STANDINS and b[0] == a[0]
        last += a[-1] in STANDINS and b[-1] == a[-1]
    assert min(around, instead, first, last) > 50


@given(
    source=st.text(st.sampled_from([*"abcñ .,¿?!'-5日", STANDINS[0], STANDINS[6]]), max_size=30),
    reference=st.text(st.sampled_from([*"abcñ .,¿?!'-5日", STANDINS[0], STANDINS[6]]), max_size=30),
)
def test_any_pair_holds_the_same_standins_on_both_sides(source: str, reference: str) -> None:
    augment = Augmentation([*PAIRS[:50], (source, reference)], 1.0)
    a, b = augment(source, reference)
    assert Counter(standins_in(a)) == Counter(standins_in(b))
    assert augment(source, reference) == (a, b)


@pytest.mark.parametrize(("pairs", "share"), [(0, 0.4), (4_500, 0.4), (15_000, 0.4), (30_000, 0.2), (1_000_000, 0.006)])
def test_of_many_pairs_a_smaller_share_is_enough(pairs: int, share: float) -> None:
    assert share_of(pairs) == pytest.approx(share)


@pytest.mark.parametrize("encoding", [Encoding(protect=True, room=14), Encoding(protect=True, maximum=(14, 14))])
def test_no_pair_is_augmented_beyond_the_room_that_there_is(encoding: Encoding, tmp_path: Path) -> None:
    """A network with 14 positions was trained on these pairs before; it still is, and nothing is cut."""
    prepared = prepare(PAIRS, tmp_path / "d", encoding)
    assert max(prepared.about["longest"]) == 14
    assert prepared.about["truncated"] == [0, 0]
    assert any(map(standins_in, shown(prepared.part("training"), 0)))
    free = prepare(PAIRS, tmp_path / "free", Encoding(protect=True))
    assert max(free.about["longest"]) > 14


def spelled(number: int) -> str:
    """A word of letters for every number."""
    return "w" + str(number).translate(str.maketrans("0123456789", "abcdefghij"))


@pytest.mark.parametrize("distinct", [20_000, 10])
def test_a_pair_as_long_as_a_book_is_prepared_as_fast_as_any_other(distinct: int, tmp_path: Path) -> None:
    """Found by a user whose training stood still: what a pair costs grew with the square of its words."""
    long = " ".join(spelled(i % distinct) for i in range(20_000))
    books = [(f"{word} {long}", f"{long} {word}") for word in ("one", "two", "three", "four", "five")]
    started = time.process_time()
    prepared = prepare([*PAIRS, *books], tmp_path / "d", Encoding(protect=True), Splitting((1.0, 0.0, 0.0)))
    assert time.process_time() - started < 20
    assert prepared.about["left_out"] == len(books)
    assert len(prepared.part("training")) == len(PAIRS)


def test_a_training_with_a_pair_of_30_000_words_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # a dataset that is found there is not prepared
    long = " ".join(map(spelled, range(30_000)))
    pairs = [*PAIRS, *((f"{word} {long}", f"{long} {word}") for word in ("one", "two", "three"))]
    started = time.process_time()
    settings = {"data": {"files": [write_pairs(tmp_path / "long.tsv", pairs)]}, "stopping": {"steps": 2}}
    with pytest.warns(DragomanWarning, match="3 pairs"):
        train_model(merged(tiny(), settings))
    assert time.process_time() - started < 60


def test_only_pairs_of_very_many_words_are_not_augmented() -> None:
    def pair(count: int) -> tuple[str, str]:
        text = " ".join(map(spelled, range(count)))
        return f"{text}.", f"{text}!"

    assert len(standins_in(Augmentation([pair(MOST_WORDS)], 1.0)(*pair(MOST_WORDS))[0])) > 0
    assert Augmentation(PAIRS, 1.0)(*pair(MOST_WORDS + 1)) == pair(MOST_WORDS + 1)
    assert Augmentation([pair(MOST_WORDS + 1)] * 2, 1.0).lexicon.translations("wb") == {}


# What the links are, written down without a thought of time


def every_association(pairs: list[tuple[str, str]], source: str, reference: str) -> float:
    """2 c(s, r) / (c(s) + c(r)), by counting pairs."""
    if source == reference and len(source) > 2:
        return 1.0
    held = [({w for w, _, _ in words(a)}, {w for w, _, _ in words(b)}) for a, b in pairs]
    together = sum(source in a and reference in b for a, b in held)
    alone = sum(source in a for a, _ in held) + sum(reference in b for _, b in held)
    return 2 * together / alone if together >= SEEN_TOGETHER else 0.0


def plain_links(pairs: list[tuple[str, str]], source: list[Word], reference: list[Word]) -> list[tuple[int, int]]:
    """Words that stand once on their side and are each other's best, from the whole table."""
    if not source or not reference:
        return []
    table = np.array([[every_association(pairs, s[0], r[0]) for r in reference] for s in source])
    for i, (word, _, _) in enumerate(source):
        table[i] *= sum(word == other for other, _, _ in source) == 1
    for j, (word, _, _) in enumerate(reference):
        table[:, j] *= sum(word == other for other, _, _ in reference) == 1
    best, back = table.argmax(axis=1), table.argmax(axis=0)
    return [(i, int(j)) for i, j in enumerate(best) if table[i, j] >= ASSOCIATED and back[j] == i]


sentences = st.lists(st.sampled_from(["a", "b", "c", "dog", "cat", "sun", "Sun", "5"]), max_size=8).map(" ".join)


@given(pairs=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=12))
def test_links_are_those_of_the_whole_table(pairs: list[tuple[str, str]]) -> None:
    lexicon = Lexicon(pairs)
    for source, reference in pairs:
        sides = words(source), words(reference)
        assert lexicon.links(*sides) == plain_links(pairs, *sides)


def test_a_corpus_is_prepared_as_it_ever_was() -> None:
    """The digest of what version 0.1.0 made of it: a training that it began is resumed with the same pairs."""
    extra = [
        ("It costs $5.00 or 50 % of 10km, 42%s and {name}42.", "Cuesta $5.00 o 50 % de 10km, 42%s y {name}42."),
        ("Tom sees 1 000 dogs at example.com.", "Tom ve 1 000 perros en example.com."),
        ("<b>5</b> of <br/><br/>%d%% H2O: v2.0, COVID-19", "<b>5</b> de <br/><br/>%d%% H2O: v2.0, COVID-19"),
        (" ".join(map(spelled, range(300))), " ".join(map(spelled, range(0, 600, 2)))),
    ]
    augment = Augmentation([mask_pair(*pair) for pair in [*PAIRS, *extra]], 1.0)
    many = [(f"{spelled(i)} {a}", f"{b} {spelled(i)}") for a, b in extra for i in range(20)]
    told = "\n".join(text for pair in [*PAIRS, *many] for text in augment(*pair))
    assert blake2b(told.encode(), digest_size=16).hexdigest() == "b3a3262ae2082629abf34f11cb7e85f4"
