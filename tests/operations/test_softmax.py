"""Softmax: distributions, their Jacobian, and the form that cannot overflow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError
from dragoman.graph import Tensor, backpropagate, gradient_check, operation
from dragoman.operations import activate, add, clip_values, embed, softmax
from dragoman.operations.positions import one_hot
from dragoman.operations.softmax import masked_softmax, softmax_backward
from tests.operations.calculus import jacobian
from tests.strategies import arrays, generators, sizes

shapes = st.lists(sizes(), min_size=1, max_size=3).map(tuple)


@pytest.mark.ledger("T-1.2.2-softmaxjac", "N-3.4-chain")
@given(shapes, generators())
def test_gradient(shape, rng):
    gradient_check(softmax, rng.standard_normal(shape)).require()


@pytest.mark.ledger("T-1.4-softmax", "T-1.2.1-stable", "N-3.4-softmax", "N-3.4-maxsub")
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 2, 3], [0.090030573, 0.244728471, 0.665240956]),
        ([1000, 1001, 999], [0.244728471, 0.665240956, 0.090030573]),
        ([60, 55], [0.99330715, 0.00669285]),
        ([-1e4, 1e4], [0, 1]),
    ],
)
def test_values(x, y):
    np.testing.assert_allclose(softmax(np.array(x, float)), y, atol=1e-9)
    assert softmax(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.ledger("T-1.2.1-stable")
@given(arrays(2, 3), st.floats(-1e3, 1e3))
def test_a_common_shift_changes_nothing(x, shift):
    np.testing.assert_allclose(softmax(x + shift), softmax(x), rtol=1e-12)  # x + shift itself rounds


@pytest.mark.ledger("N-3.4-clip")
def test_clipping_is_another_function():
    scores = np.array([60.0, 55.0])
    np.testing.assert_array_equal(softmax(clip_values(scores, limit=50)), [0.5, 0.5])
    assert softmax(scores)[0] > 0.99  # ours does not clip
    leaf = Tensor(np.array([60.0, 49.0, -51.0]))
    (slopes,) = backpropagate(clip_values(leaf, limit=50), [leaf], [np.array([2.0, 3.0, 4.0])])
    np.testing.assert_array_equal(slopes, [0, 3, 0])  # what is clipped does not move
    with pytest.raises(ConfigurationError, match="limit above 0, got -1"):
        clip_values(scores, limit=-1)


@pytest.mark.ledger("T-1.2.2-softmaxjac", "N-3.4.1", "N-3.4.2", "N-3.4.3", "N-2.1-jac")
@given(generators(), sizes(1, 5))
def test_jacobian(rng, n):
    y = softmax(np.array([1.0, 2.0, 3.0]))
    first_row = jacobian(softmax, np.array([1.0, 2.0, 3.0]))[0]
    np.testing.assert_allclose(first_row, [0.081925069, -0.022033045, -0.059892025], atol=1e-9)

    x = rng.standard_normal(n)
    y, matrix = softmax(x), jacobian(softmax, x)
    assert matrix.shape == (n, n)
    for i in range(n):
        for j in range(n):
            expected = y[i] * (1 - y[i]) if i == j else -y[i] * y[j]
            assert matrix[i, j] == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-15)
    np.testing.assert_allclose(matrix.sum(axis=1), 0, atol=1e-15)


@pytest.mark.ledger("N-3.4-chain")
@given(arrays(4), arrays(4))
def test_upstream_gradient_times_jacobian(x, upstream):
    leaf = Tensor(x)
    (dx,) = backpropagate(softmax(leaf), [leaf], [upstream])
    np.testing.assert_allclose(dx, upstream @ jacobian(softmax, x), rtol=1e-10, atol=1e-15)


@pytest.mark.ledger("T-1.3-simplex", "T-3.2-VI")
@given(arrays(3, 4, scale=3.0), arrays(3, 4, scale=3.0), st.floats(0, 1))
def test_mixtures_of_distributions_are_distributions(x1, x2, share):
    mixture = share * softmax(x1) + (1 - share) * softmax(x2)
    assert (mixture >= 0).all()
    np.testing.assert_allclose(mixture.sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.ledger("T-1.3-vertices")
def test_labels_are_the_vertices():
    labels = np.array([2, 0, 3])
    vertices = embed(one_hot(4), labels=labels)
    np.testing.assert_array_equal(vertices, [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(vertices.argmax(axis=1), labels)
    np.testing.assert_array_equal(softmax(1e4 * vertices), vertices)  # certainty is a corner


@pytest.mark.ledger("T-1.2-tensor")
def test_depth_is_the_last_axis():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))  # sample, position, depth
    y = softmax(x)
    for sample in range(2):
        for position in range(3):
            np.testing.assert_allclose(y[sample, position], softmax(x[sample, position]), rtol=1e-14)
    assert add(x, y)[1, 2, 3] == x[1, 2, 3] + y[1, 2, 3]
    assert activate(x, activation="tanh").shape == x.shape


@st.composite
def masks(draw):
    rows, columns = draw(sizes()), draw(sizes())
    return draw(generators()).random((rows, columns)) < 0.6


@operation
def masked(x, *, allowed):
    y = masked_softmax(x, allowed)
    return y, lambda dy: softmax_backward(y, dy)


@pytest.mark.ledger("T-4.3-dA", "T-3.2-II-obs38")
@given(masks(), generators())
def test_masked_entries_have_no_weight_and_no_gradient(allowed, rng):
    x = rng.standard_normal(allowed.shape)
    gradient_check(masked, x, allowed=allowed).require()
    y = masked_softmax(x, allowed)
    assert not y[~allowed].any()
    np.testing.assert_allclose(y.sum(axis=1), allowed.any(axis=1), rtol=1e-12)  # 0, not NaN, where all is masked
    dx = softmax_backward(y, rng.standard_normal(x.shape))
    assert not dx[~allowed].any()
    np.testing.assert_allclose(dx.sum(axis=1), 0, atol=1e-15)


@pytest.mark.parametrize(
    ("x", "allowed", "y"),
    [([1.0, 1e300, np.inf], [1, 0, 0], [1, 0, 0]), ([1e4, 1e4, -1e4], [1, 1, 1], [0.5, 0.5, 0])],
    ids=["masked scores may be anything", "allowed ones may be large"],
)
def test_masked_softmax_cannot_overflow(x, allowed, y):
    np.testing.assert_array_equal(masked_softmax(np.array([x]), np.array([allowed], bool)), [y])
