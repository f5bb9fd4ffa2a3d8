"""Word vectors: predictions of neighbours and their derivatives, by differences, by the complex step, by PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from dragoman.errors import LabelError, NonFiniteError, ShapeError
from dragoman.graph import gradient_check
from dragoman.operations import cbow, embed, linear_cross_entropy, log_error, mean_rows, negative_sampling, skip_gram
from tests.operations.calculus import assert_same_function, values_and_gradients
from tests.strategies import generators, sizes, to_offsets


@st.composite
def tables(draw, rows=None):
    """A generator, the number of words, and two tables of them."""
    rng, v, d = draw(generators()), draw(sizes(1, 5)), draw(sizes(1, 4))
    return rng, v, rng.standard_normal((v if rows is None else rows, d)), rng.standard_normal((v, d))


@st.composite
def bags(draw):
    """CBOW: tables, and bags of words, with repetitions."""
    rng, v, table, outputs = draw(tables())
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    contexts = rng.integers(0, v, sum(lengths))
    options = {"contexts": contexts, "offsets": to_offsets(lengths), "targets": rng.integers(0, v, len(lengths))}
    return (table, outputs), options


@st.composite
def draws(draw):
    """Negative sampling: rows, a table, and negatives of which some are the target and some occur twice."""
    n, k = draw(sizes()), draw(sizes(0, 5))
    rng, v, h, outputs = draw(tables(rows=n))
    return (h, outputs), {"targets": rng.integers(0, v, n), "negatives": rng.integers(0, v, (n, k))}


@pytest.mark.ledger("B-7.1-skipgram")
@given(tables(), sizes(1, 5))
def test_skip_gram_is_the_cross_entropy_of_scores_over_all_words(case, n):
    rng, v, table, outputs = case
    options = {"words": rng.integers(0, v, n), "contexts": rng.integers(0, v, n)}
    gradient_check(skip_gram, table, outputs, **options).require()

    def composed(table, outputs):
        h = embed(table, labels=options["words"])
        return linear_cross_entropy(h, outputs, targets=options["contexts"], transposed=True)[0]

    assert_same_function(lambda *t: skip_gram(*t, **options), composed, table, outputs)


@pytest.mark.ledger("B-7.1-cbow")
@given(bags())
def test_cbow_predicts_from_the_mean_of_its_bag(case):
    (table, outputs), options = case
    gradient_check(cbow, table, outputs, **options).require()

    def composed(table, outputs):
        h = mean_rows(embed(table, labels=options["contexts"]), offsets=options["offsets"])
        return linear_cross_entropy(h, outputs, targets=options["targets"], transposed=True)[0]

    assert_same_function(lambda *t: cbow(*t, **options), composed, table, outputs)


@pytest.mark.ledger("B-7.1-cbow", "B-7.1-skipgram")
@given(draws())
def test_negative_sampling_gradient(case):
    (h, outputs), options = case
    gradient_check(negative_sampling, h, outputs, **options).require()


def from_torch(function, *arrays):
    """Value and gradients of a scalar function of tensors."""
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    value = function(*leaves)
    value.backward()
    return value.item(), [leaf.grad.numpy() for leaf in leaves]


def assert_as_in_torch(operation, reference, arrays, options):
    (value,), gradients = values_and_gradients(lambda *t: operation(*t, **options), arrays, deltas=[np.ones(())])
    expected, references = from_torch(reference, *arrays)
    assert float(value) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    for found, wanted in zip(gradients, references, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


@given(draws())
def test_negative_sampling_is_that_of_torch(case):
    arrays, options = case
    targets, negatives = torch.tensor(options["targets"]), torch.tensor(options["negatives"])

    def reference(h, outputs):
        right = functional.logsigmoid((h * outputs[targets]).sum(1))
        wrong = functional.logsigmoid(-(h[:, None] * outputs[negatives]).sum(2))
        return -(right + (wrong * (negatives != targets[:, None])).sum(1)).mean()

    assert_as_in_torch(negative_sampling, reference, arrays, options)


@given(bags())
def test_cbow_is_that_of_torch(case):
    arrays, options = case
    contexts, offsets = torch.tensor(options["contexts"]), torch.tensor(options["offsets"][:-1])

    def reference(table, outputs):
        h = functional.embedding_bag(contexts, table, offsets, mode="mean")
        return functional.cross_entropy(h @ outputs.T, torch.tensor(options["targets"]))

    assert_as_in_torch(cbow, reference, arrays, options)


def test_negative_sampling_is_the_log_error_of_true_and_drawn():
    h, outputs = np.array([[1.0, -0.5]]), np.array([[0.3, 0.2], [1.0, 1.0], [-2.0, 0.5]])
    found = float(negative_sampling(h, outputs, targets=np.array([2]), negatives=np.array([[0, 1, 1, 2]])))
    chances = 1 / (1 + np.exp(-outputs[[2, 0, 1, 1]] @ h[0]))  # the draw of the target does not count, two of 1 do
    assert found == pytest.approx(4 * float(log_error(chances, targets=np.array([1.0, 0, 0, 0]))[0]), rel=1e-14)


def test_scores_of_ten_thousand_stay_finite():
    h, outputs = np.array([[1.0]], np.float32), np.array([[1e4], [-1e4]], np.float32)
    assert float(negative_sampling(h, outputs, targets=np.array([1]), negatives=np.array([[0]]))) == 2e4
    assert float(negative_sampling(h, outputs, targets=np.array([0]), negatives=np.array([[1]]))) == 0


TWO = np.ones((2, 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: cbow(TWO, TWO, contexts=np.array([0]), offsets=np.array([0, 1, 1]), targets=np.array([0, 1])),
            ShapeError,
            "target 1 has no words around it",
        ),
        (
            lambda: cbow(TWO, TWO, contexts=np.array([2]), offsets=np.array([0, 1]), targets=np.array([0])),
            LabelError,
            "label 2",
        ),
        (
            lambda: cbow(TWO, TWO, contexts=np.array([0]), offsets=np.array([0, 2]), targets=np.array([0])),
            ShapeError,
            "offsets end at 2",
        ),
        (
            lambda: skip_gram(TWO, np.ones((2, 3)), words=np.array([0]), contexts=np.array([0])),
            ShapeError,
            "differ in d",
        ),
        (lambda: skip_gram(TWO, TWO, words=np.array([-1]), contexts=np.array([0])), LabelError, "label -1"),
        (
            lambda: negative_sampling(TWO, TWO, targets=np.array([0, 1]), negatives=np.array([[0], [2]])),
            LabelError,
            "label 2",
        ),
        (
            lambda: negative_sampling(TWO, TWO, targets=np.array([0]), negatives=np.array([[0], [1]])),
            ShapeError,
            "differ in N",
        ),
        (
            lambda: negative_sampling(TWO * np.nan, TWO, targets=np.array([0, 1]), negatives=np.array([[0], [1]])),
            NonFiniteError,
            "negative sampling is nan",
        ),
    ],
)
def test_mistakes_are_told(call, error, message):
    with pytest.raises(error, match=message):
        call()
