"""Section 3: ReLU, softmax, cross-entropy and mean squared error by numbers worked out on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.graph import Tensor, backpropagate, value_of
from dragoman.operations import activate, attention_weights, clip_values, cross_entropy, mean_squared_error, softmax
from dragoman.operations.teaching.jacobians import relu_jacobian, softmax_jacobian


@pytest.mark.ledger("N-3.3-relu", "N-3.3-drelu")
def test_relu_and_its_derivative_with_0_chosen_at_0() -> None:
    x = Tensor(np.array([-1.0, 0.0, 2.0]))
    y = activate(x, activation="relu")
    assert y.value.tolist() == [0, 0, 2]
    (dx,) = backpropagate([y], [x], [np.array([5.0, 6.0, 7.0])])
    assert dx.tolist() == [0, 0, 7]
    assert relu_jacobian(x.value).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.ledger("N-3.4-softmax")
def test_the_same_softmax_at_the_output_and_inside_attention() -> None:
    shares = np.array([0.0900305732, 0.2447284711, 0.6652409558])
    np.testing.assert_allclose(softmax(np.array([1.0, 2.0, 3.0])), shares, rtol=1e-9)
    queries, keys = np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]])
    weights = attention_weights(queries, keys, offsets=np.array([0, 3]), heads=1)
    np.testing.assert_allclose(weights[0, 0], np.tile(shares, (3, 1)), rtol=1e-9)


@pytest.mark.ledger("N-3.4-maxsub", "N-3.4-clip")
@pytest.mark.parametrize("top", [0.0, 60.0, 1e4, -1e4])
def test_subtracting_the_maximum_is_exact_where_clipping_is_not(top: float) -> None:
    scores = np.array([top, top - 5])
    np.testing.assert_allclose(softmax(scores), [0.9933071491, 0.0066928509], rtol=1e-8)
    clipped = softmax(clip_values(scores, limit=50))
    assert clipped[0] == pytest.approx(0.9933071491 if top == 0 else 0.5)


@pytest.mark.ledger("N-3.4.1", "N-3.4.2", "N-3.4.3")
def test_jacobian_of_softmax_by_hand() -> None:
    """y = (1/2, 1/4, 1/4)"""
    found = softmax_jacobian(np.log([2.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, np.array([[4, -2, -2], [-2, 3, -1], [-2, -1, 3]]) / 16, rtol=0, atol=1e-16)


@pytest.mark.ledger("N-3.4-chain")
def test_gradient_through_softmax_by_hand() -> None:
    x = Tensor(np.log([2.0, 1.0, 1.0]))
    (dx,) = backpropagate([softmax(x)], [x], [np.array([1.0, 0.0, 2.0])])
    np.testing.assert_allclose(dx, [0.0, -0.25, 0.25], rtol=0, atol=1e-16)


SCORES = np.log([[2.0, 1.0, 1.0], [1.0, 1.0, 6.0]])  # P = (1/2, 1/4, 1/4) and (1/8, 1/8, 3/4)


@pytest.mark.ledger("N-3.5-CE", "N-3.5-sparse", "N-3.5-MLE")
def test_cross_entropy_of_a_one_hot_truth_is_minus_the_log_of_its_probability() -> None:
    one, _ = cross_entropy(SCORES[:1], targets=np.array([1]))
    assert value_of(one) == pytest.approx(math.log(4))
    both, _ = cross_entropy(SCORES, targets=np.array([1, 2]), total=1.0)
    assert math.exp(-value_of(both)) == pytest.approx(1 / 4 * 3 / 4)  # the likelihood of both


@pytest.mark.ledger("N-3.5-CE")
def test_less_cross_entropy_is_more_probability_for_the_truth() -> None:
    errors = [value_of(cross_entropy(np.array([[z, 0.0]]), targets=np.array([0]))[0]) for z in (-1.0, 0.0, 1.0, 5.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] == pytest.approx(math.log(2))


@pytest.mark.ledger("N-3.5-dCE")
def test_cross_entropy_back_through_softmax_is_p_minus_a() -> None:
    z = Tensor(SCORES[:1])
    (dz,) = backpropagate(cross_entropy(z, targets=np.array([1]))[0], [z])
    np.testing.assert_allclose(dz, [[1 / 2, 1 / 4 - 1, 1 / 4]], rtol=1e-15)
    by_probability = np.array([0.0, -4.0, 0.0])  # -A / P
    np.testing.assert_allclose(by_probability @ softmax_jacobian(SCORES[0]), dz[0], rtol=0, atol=1e-15)


@pytest.mark.ledger("N-3.6-MSE", "N-3.6-dMSE")
def test_mean_squared_error_by_hand() -> None:
    P = Tensor(np.array([1.0, 2.0]))
    error = mean_squared_error(P, targets=np.zeros(2))
    assert float(error) == 2.5
    assert value_of(mean_squared_error(np.zeros(2), targets=P.value)) == 2.5  # the sign is free
    (dP,) = backpropagate(error, [P])
    assert dP.tolist() == [1.0, 2.0]
