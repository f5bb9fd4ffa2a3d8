"""Stand-ins are taught on any corpus: a share of the training pairs gets some, at places that correspond."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.augmentation import Augmentation, Lexicon, share_of, words
from dragoman.data.dataset import Encoding, Part, prepare
from dragoman.data.protection import STANDINS
from dragoman.data.splits import Splitting

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
    return dataset.tokenizers[side].decode([dataset.labels[side][i] for i in part.samples])


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
        for side, texts in enumerate(("source", "reference")):
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
            np.testing.assert_array_equal(other.labels[side][place], one.labels[side][i])


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
