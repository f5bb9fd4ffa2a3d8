"""Labels to vectors, and the deltas that come back to the rows they were taken from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LabelError, ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import Dropout, embed
from dragoman.operations.embedding import scatter_add
from dragoman.operations.positions import half_sinusoid
from tests.strategies import arrays, generators, labels, sizes


@st.composite
def cases(draw):
    """Tables and options of an embedding, with and without positions, scale and dropout."""
    rows, d, vocabulary, rng = draw(sizes(0, 5)), draw(sizes()), draw(sizes()), draw(generators())
    options = {"labels": draw(labels(rows, vocabulary)), "scale": draw(st.sampled_from((1.0, d**0.5)))}
    options["dropout"] = draw(st.sampled_from((None, Dropout(0.4, key=5, first_row=2))))
    tables = [rng.standard_normal((vocabulary, d))]
    if draw(st.booleans()):
        tables.append(rng.standard_normal((3, d)))
        options["positions"] = draw(labels(rows, 3))
    return tables, options


@pytest.mark.ledger("T-4.3.29-emb")
@given(cases())
def test_gradient(case):
    tables, options = case
    gradient_check(embed, *tables, **options).require()


@pytest.mark.ledger("T-3.2-I-lookup")
@given(arrays(5, 3), labels(6, 5))
def test_a_label_copies_out_its_row(table, words):
    np.testing.assert_array_equal(embed(table, labels=words), [table[word] for word in words])


@pytest.mark.ledger("T-3.2-I-scale")
@given(arrays(5, 4), labels(6, 5))
def test_scaled_and_moved_by_the_position(table, words):
    positions, codes = np.array([0, 1, 2, 0, 1, 2]), half_sinusoid(3, 4)
    y = embed(table, codes, labels=words, positions=positions, scale=2.0)  # sqrt(d) at d = 4
    np.testing.assert_array_equal(y, [2 * table[w] + codes[j] for w, j in zip(words, positions, strict=True)])


def test_dropout_comes_last():
    table, codes, words = np.ones((3, 4)), np.full((2, 4), 5.0), np.array([0, 2])
    dropout = Dropout(0.5, key=1)
    y = embed(table, codes, labels=words, positions=np.array([0, 1]), dropout=dropout)
    np.testing.assert_array_equal(y, 6 * dropout.mask((2, 4), np.dtype(float)))


@pytest.mark.ledger("T-4.3.29-emb", "T-4.27")
def test_rows_collect_the_deltas_of_every_place():
    table, words = Tensor(np.ones((4, 4))), np.array([2, 0, 2, 2])
    delta = np.random.default_rng(0).standard_normal((4, 4))
    (dtable,) = backpropagate(embed(table, labels=words, scale=2.0), [table], [delta])
    np.testing.assert_allclose(dtable[2], 2 * (delta[0] + delta[2] + delta[3]), rtol=1e-14)
    np.testing.assert_array_equal(dtable[0], 2 * delta[1])
    np.testing.assert_array_equal(dtable[[1, 3]], 0)  # exactly


@given(generators(), sizes(0, 8), sizes(1, 4))
def test_scatter_add_is_the_loop(rng, count, size):
    rows, places = rng.standard_normal((count, 2)), rng.integers(0, size, count)
    expected = np.zeros((size, 2))
    for row, place in zip(rows, places, strict=True):
        expected[place] += row
    np.testing.assert_allclose(scatter_add(rows, places, size), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.ledger("T-4.27")
def test_labels_are_whole_numbers_without_a_derivative():
    with pytest.raises(LabelError, match="integers, got float64"):
        embed(np.ones((3, 2)), labels=np.array([0.0, 1.0]))
    _, backward = embed.definition(np.ones((3, 2)), labels=np.array([0, 1]))
    derivatives = [d for d in backward(np.ones((2, 2))) if d is not None]
    assert [d.shape for d in derivatives] == [(3, 2)]  # the table's, and no other


@pytest.mark.parametrize("word", [3, -1])
def test_a_label_outside_the_table_is_refused(word):
    with pytest.raises(LabelError, match=f"embed: label {word} .* 1 is not in the vocabulary.* 0 to 2"):
        embed(np.ones((3, 2)), labels=np.array([0, word]))


def test_a_position_outside_its_table_is_refused():
    with pytest.raises(LabelError, match=r"embed.*position.* 2 "):
        embed(np.ones((3, 2)), np.ones((2, 2)), labels=np.array([0, 1]), positions=np.array([0, 2]))


def test_every_label_has_its_own_position():
    table = np.ones((3, 2))
    with pytest.raises(ShapeError, match="they differ in N"):
        embed(table, table, labels=np.array([0, 1, 2]), positions=np.array([0]))
    with pytest.raises(ShapeError, match="come together"):
        embed(table, table, labels=np.array([0]))
