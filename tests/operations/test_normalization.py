"""Both published forms of normalization, exact to the last epsilon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.layers import Initializer, Normalization
from dragoman.operations import Dropout, add, add_normalize, drop, normalize
from tests.operations.calculus import assert_same_function, jacobian
from tests.strategies import generators, sizes

both_forms = pytest.mark.parametrize("form", ["inside", "outside"])
EPSILON = 0.1  # large, so that it shows where it stands


def draw_inputs(rng, n, d, matrices=1):
    return [rng.standard_normal(shape) for shape in [(n, d)] * matrices + [(d,), (d,)]]


def spread(x):
    """mu and sigma of each row, as columns."""
    return x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)


@pytest.mark.ledger("T-4.3.5-gamma", "T-4.3.6-beta", "T-4.3.7-LNx", "B-7.5-LN")
@both_forms
@given(rng=generators(), n=sizes(), d=sizes(2, 5), epsilon=st.sampled_from((EPSILON, 1e-5)))
def test_gradient(form, rng, n, d, epsilon):
    gradient_check(normalize, *draw_inputs(rng, n, d), form=form, epsilon=epsilon).require()


@pytest.mark.ledger("T-3.2-IV-norm", "B-7.5-LN")
@pytest.mark.parametrize(("form", "first"), [("outside", (-1.329747166, -0.443249055)), ("inside", (-1.33630621,))])
def test_values(form, first):
    y = normalize(np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(4), np.zeros(4), form=form, epsilon=1e-2)[0]
    np.testing.assert_allclose(y[: len(first)], first, atol=1e-8)
    np.testing.assert_allclose(y, -y[::-1], rtol=1e-14)


@pytest.mark.ledger("T-3.2-IV-norm", "T-3.2-IV-affine", "B-7.5-LN")
@given(generators(), sizes(1, 3), sizes(2, 5))
def test_centred_scaled_and_shifted(rng, n, d):
    x, gamma, beta = draw_inputs(rng, n, d)
    mu, sigma = spread(x)
    divisors = {"outside": sigma + EPSILON, "inside": np.sqrt(sigma**2 + EPSILON)}
    for form, divisor in divisors.items():
        plain = normalize(x, np.ones(d), np.zeros(d), form=form, epsilon=EPSILON)
        np.testing.assert_allclose(plain, (x - mu) / divisor, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(spread(plain)[1], sigma / divisor, rtol=1e-10)
        affine = normalize(x, gamma, beta, form=form, epsilon=EPSILON)
        np.testing.assert_allclose(affine, plain * gamma + beta, rtol=1e-12, atol=1e-14)


@pytest.mark.ledger("T-4.3.9-11", "T-4.3.7-LNx")
@given(generators(), sizes(2, 5))
def test_jacobian_from_its_pieces(rng, d):
    x = rng.standard_normal((1, d))
    mu, sigma = spread(x)
    centred = (x - mu)[0]
    centring = np.eye(d) - 1 / d  # d(x_k - mu)/dx_i
    deviation = centred / (d * sigma[0])  # dsigma/dx_i
    r = sigma[0] + EPSILON
    expected = centring / r - np.outer(centred, deviation) / r**2
    found = jacobian(lambda x: normalize(x, np.ones(d), np.zeros(d), form="outside", epsilon=EPSILON), x)
    np.testing.assert_allclose(found[0, :, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.ledger("T-L25")
@given(generators(), sizes(2, 5))
def test_listing_25_belongs_to_the_other_form(rng, d):
    x, gamma, beta = draw_inputs(rng, 3, d)
    dy = rng.standard_normal((3, d))
    mu, sigma = spread(x)
    g = gamma * dy

    def third_term(divisor):
        xhat = (x - mu) / divisor
        return xhat * (xhat * g).mean(axis=1, keepdims=True)

    def listing(divisor):
        """The same divisor in all three terms."""
        return (g - g.mean(axis=1, keepdims=True)) / divisor - third_term(divisor) / divisor

    def derivative(form):
        leaf = Tensor(x)
        return backpropagate(normalize(leaf, gamma, beta, form=form, epsilon=EPSILON), [leaf], [dy])[0]

    np.testing.assert_allclose(derivative("inside"), listing(np.sqrt(sigma**2 + EPSILON)), rtol=1e-8, atol=1e-11)
    missing = listing(sigma + EPSILON) - derivative("outside")
    share = EPSILON / (sigma + EPSILON)
    np.testing.assert_allclose(missing, share * third_term(sigma + EPSILON) / sigma, rtol=1e-8, atol=1e-11)


@pytest.mark.ledger("T-4.3.7-LNx")
@pytest.mark.parametrize(("form", "slope"), [("outside", 1 / EPSILON), ("inside", EPSILON**-0.5)])
@given(dy=generators().map(lambda rng: rng.standard_normal((2, 4))))
def test_a_constant_row_has_the_limit_of_its_derivative(form, slope, dy):
    x, gamma = Tensor(np.array([[2.5] * 4, [0.1] * 4])), np.array([1.0, -2.0, 0.5, 3.0])
    y = normalize(x, gamma, np.arange(4.0), form=form, epsilon=EPSILON)
    np.testing.assert_allclose(y.value, [np.arange(4.0)] * 2, atol=1e-14)
    (dx,) = backpropagate(y, [x], [dy])
    g = gamma * dy
    np.testing.assert_allclose(dx, (g - g.mean(axis=1, keepdims=True)) * slope, rtol=1e-10, atol=1e-12)


@both_forms
def test_a_constant_row_without_epsilon_is_zero(form):
    x = Tensor(np.full((1, 4), 2.0))
    y = normalize(x, np.ones(4), np.zeros(4), form=form, epsilon=0.0)
    np.testing.assert_array_equal(y.value, np.zeros((1, 4)))
    np.testing.assert_array_equal(backpropagate(y, [x], [np.arange(4.0)[None]])[0], np.zeros((1, 4)))


@pytest.mark.ledger("T-3.2-IV-layer", "B-7.5-LNvsBN", "T-1.2-tensor")
@both_forms
def test_each_row_by_itself(form):
    rng = np.random.default_rng(0)
    x, gamma, beta = draw_inputs(rng, 4, 3)
    y = normalize(x, gamma, beta, form=form)
    other = np.concatenate((x[:1], 100 * rng.standard_normal((3, 3))))
    np.testing.assert_array_equal(normalize(other, gamma, beta, form=form)[0], y[0])
    np.testing.assert_array_equal(normalize(x[::-1], gamma, beta, form=form), y[::-1])
    assert Normalization(3, Initializer(0)).count() == 2 * 3


@pytest.mark.ledger("T-4.3.5-gamma", "T-4.3.6-beta")
def test_gain_collects_the_normalized_input_and_shift_the_delta():
    x, gamma, beta = (Tensor(x) for x in draw_inputs(np.random.default_rng(1), 5, 3))
    dy = np.random.default_rng(2).standard_normal((5, 3))
    y = normalize(x, gamma, beta, form="outside", epsilon=EPSILON)
    dgamma, dbeta = backpropagate(y, [gamma, beta], [dy])
    mu, sigma = spread(x.value)
    np.testing.assert_allclose(dgamma, ((x.value - mu) / (sigma + EPSILON) * dy).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(dbeta, dy.sum(axis=0), rtol=1e-14)


dropouts = st.sampled_from((None, Dropout(0.5, key=3), Dropout(0.5, key=3, first_row=4)))


@both_forms
@given(rng=generators(), n=sizes(), d=sizes(2, 4), dropout=dropouts)
def test_add_normalize_gradient(form, rng, n, d, dropout):
    inputs = draw_inputs(rng, n, d, matrices=2)
    gradient_check(add_normalize, *inputs, form=form, epsilon=EPSILON, dropout=dropout).require()


@pytest.mark.ledger("T-3.2-III", "T-4.3.12-13")
@both_forms
@pytest.mark.parametrize("unused", [None, 0, 1])
@given(rng=generators(), n=sizes(), d=sizes(2, 4), dropout=dropouts)
def test_add_normalize_is_drop_then_add_then_normalize(form, unused, rng, n, d, dropout):
    def fused(update, residual, gamma, beta):
        return add_normalize(update, residual, gamma, beta, form=form, epsilon=EPSILON, dropout=dropout)

    def composed(update, residual, gamma, beta):
        total = add(residual, drop(update, dropout=dropout))
        return total, normalize(total, gamma, beta, form=form, epsilon=EPSILON)

    deltas = [None if i == unused else rng.standard_normal((n, d)) for i in range(2)]
    assert_same_function(fused, composed, *draw_inputs(rng, n, d, matrices=2), deltas=deltas)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, g: normalize(x, g, g, form="middle"),
        lambda x, g: add_normalize(x, x, g, g, form="middle"),
    ],
)
def test_an_unknown_form_is_refused(call):
    with pytest.raises(ConfigurationError, match=r"'inside' or 'outside', got 'middle'"):
        call(np.ones((1, 2)), np.ones(2))


@pytest.mark.ledger("L-41-ln")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 7.7, -1e6])
@pytest.mark.parametrize("depth", [3, 7, 39])
def test_a_constant_row_without_epsilon_is_0(dtype, constant, depth):
    x, one, zero = Tensor(np.full((1, depth), constant, dtype)), np.ones(depth, dtype), np.zeros(depth, dtype)
    y = normalize(x, one, zero, epsilon=0.0)
    np.testing.assert_array_equal(y.value, 0)
    (dx,) = backpropagate(y, [x], [np.ones((1, depth))])
    np.testing.assert_array_equal(dx, 0)
