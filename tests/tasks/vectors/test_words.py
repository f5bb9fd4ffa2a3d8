"""Words and their vectors: near words, analogies, cosines."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, DataError, ShapeError
from dragoman.tasks.vectors.words import WordVectors, cosine
from tests.tasks.vectors.made_up import BOOK, PLANE, vectors_of


@pytest.mark.ledger("B-7.1-king", "B-7.1-embedding")
def test_the_cosines_of_the_book() -> None:
    table = vectors_of(BOOK).cosines(["king", "queen", "mean"])
    np.testing.assert_allclose(table[np.triu_indices(3, 1)], [0.7290, -0.0396, 0.1563], atol=5e-5)
    np.testing.assert_allclose(np.diag(table), 1, rtol=1e-15)
    np.testing.assert_array_equal(table, table.T)
    assert cosine(np.array(BOOK["king"]), np.array(BOOK["queen"])) == pytest.approx(0.7290, abs=5e-5)
    assert cosine(np.zeros(2), np.ones(2)) == 0


def test_near_is_a_small_angle_whatever_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = vectors_of(PLANE)
    near = vectors.nearest("man", 3)
    assert [word for word, _ in near] == ["king", "woman", "queen"]
    assert near[1].cosine == pytest.approx(0.5**0.5, rel=1e-6)
    assert len(vectors.nearest("man", 50)) == len(PLANE) - 1
    monkeypatch.setattr("dragoman.tasks.vectors.words.AT_A_TIME", 2)
    assert vectors.nearest("man", 3) == near
    assert vectors.nearest("man", 5)[-1].word == "apple"
    assert {near.cosine for near in vectors.nearest("nothing")} == {0.0}


def test_an_analogy_leaves_out_what_was_given() -> None:
    found = vectors_of(PLANE).analogy("man", "woman", "king", 2)
    assert found[0].word == "queen"
    expected = np.array([1, 1]) / 2**0.5 - np.array([1, 0]) + np.array([5, 0.1]) / np.hypot(5, 0.1)
    assert found[0].cosine == pytest.approx(cosine(expected, np.array([4, 5])), rel=1e-6)
    assert not {"man", "woman", "king"} & {word for word, _ in vectors_of(PLANE).analogy("man", "woman", "king")}


@pytest.mark.parametrize(
    ("word", "told"),
    [("quen", "did you mean 'queen'"), ("King", "did you mean 'king'"), ("xyzzy", "not among the 6 words")],
)
def test_a_word_without_vector_is_told(word: str, told: str) -> None:
    vectors = vectors_of(PLANE)
    for ask in (
        vectors.nearest,
        vectors.__getitem__,
        lambda w: vectors.analogy("man", "woman", w),
        lambda w: vectors.cosines([w]),
    ):
        with pytest.raises(DataError, match=told):
            ask(word)


def test_mistakes_in_making_and_asking() -> None:
    with pytest.raises(ShapeError, match="2 words, but vectors of shape"):
        WordVectors(["a", "b"], np.ones((3, 2)))
    with pytest.raises(DataError, match="word occurs twice"):
        WordVectors(["a", "a"], np.ones((2, 2)))
    with pytest.raises(ConfigurationError, match="at least 1"):
        vectors_of(PLANE).nearest("man", 0)


def test_words_and_those_around_them() -> None:
    vectors = vectors_of(PLANE)
    assert vectors.around(["man", "apple", "man"], 0) == {"man": "man", "apple": "apple"}
    assert vectors.around(["man", "queen"], 2) == {"man": "man", "king": "man", "woman": "queen", "queen": "queen"}
    units = vectors.units(["queen", "king"])
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(units[0], np.array([4, 5]) / 41**0.5, rtol=1e-7)
