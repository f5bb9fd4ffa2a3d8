"""Patches, convolution and pooling: their equations by loops, their derivatives, and what they refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import gradient_check
from dragoman.operations import average_pool, convolve, linear, max_pool, patches
from tests.strategies import generators, sizes

few = settings(max_examples=12)
pairs = st.tuples(sizes(1, 3), sizes(1, 3))


def distinct(rng, *shape):
    """Values far enough apart that no maximum changes in a gradient check."""
    return rng.permutation(np.linspace(-1, 1, int(np.prod(shape)))).reshape(shape)


@pytest.mark.ledger("L-5-patch")
def test_an_image_of_8_by_8_has_four_patches_of_4_by_4():
    image = np.arange(64.0).reshape(1, 8, 8, 1)
    rows = patches(image, size=(4, 4))
    assert rows.shape == (4, 16)
    corners = [(0, 0), (0, 4), (4, 0), (4, 4)]
    for row, (i, j) in zip(rows, corners, strict=True):
        np.testing.assert_array_equal(row, image[0, i : i + 4, j : j + 4, 0].ravel())


@few
@given(rng=generators(), b=sizes(0, 2), n=sizes(1, 3), m=sizes(1, 3), size=pairs, c=sizes(1, 3))
def test_patches_hold_every_pixel_once_and_go_back(rng, b, n, m, size, c):
    x = rng.standard_normal((b, n * size[0], m * size[1], c))
    rows = patches(x, size=size)
    assert rows.shape == (b * n * m, size[0] * size[1] * c)
    np.testing.assert_array_equal(np.sort(rows, axis=None), np.sort(x, axis=None))
    gradient_check(patches, x, size=size).require()


@pytest.mark.ledger("L-7-vit", "B-7.5-images")
@few
@given(rng=generators(), n=sizes(1, 3), m=sizes(1, 3), size=pairs, c=sizes(1, 3), k=sizes(1, 4))
def test_patches_times_a_matrix_are_a_convolution_with_equal_stride(rng, n, m, size, c, k):
    x = rng.standard_normal((2, n * size[0], m * size[1], c))
    weights, biases = rng.standard_normal((size[0] * size[1] * c, k)), rng.standard_normal(k)
    tokens = linear(patches(x, size=size), weights, biases)
    np.testing.assert_allclose(tokens.reshape(2, n, m, k), convolve(x, weights, biases, size=size, stride=size))


def convolved_by_loops(x, weights, size, stride, padding):
    """The sum over the window, one number at a time; outside of the image there are zeros."""
    (h, w), (down, across), (b, height, width, c) = size, stride, x.shape
    if padding == "same":
        rows, columns = -(-height // down), -(-width // across)
        top = max(0, (rows - 1) * down + h - height) // 2
        left = max(0, (columns - 1) * across + w - width) // 2
    else:
        rows, columns, top, left = (height - h) // down + 1, (width - w) // across + 1, 0, 0
    y = np.zeros((b, rows, columns, weights.shape[1]))
    kernel = weights.reshape(h, w, c, -1)
    for i, j, p, q in itertools.product(range(rows), range(columns), range(h), range(w)):
        u, v = i * down - top + p, j * across - left + q
        if 0 <= u < height and 0 <= v < width:
            y[:, i, j] += x[:, u, v] @ kernel[p, q]
    return y


@settings(max_examples=40)
@given(
    rng=generators(),
    height=sizes(1, 6),
    width=sizes(1, 6),
    c=sizes(1, 2),
    k=sizes(1, 2),
    size=pairs,
    stride=pairs,
    padding=st.sampled_from(["valid", "same"]),
)
def test_convolution_equals_its_loops(rng, height, width, c, k, size, stride, padding):
    x, weights = rng.standard_normal((2, height, width, c)), rng.standard_normal((size[0] * size[1] * c, k))
    if padding == "valid" and (height < size[0] or width < size[1]):
        with pytest.raises(ShapeError, match="does not fit"):
            convolve(x, weights, size=size, stride=stride)
        return
    y = convolve(x, weights, size=size, stride=stride, padding=padding)
    np.testing.assert_allclose(y, convolved_by_loops(x, weights, size, stride, padding), atol=1e-12)


@few
@given(
    rng=generators(),
    height=sizes(3, 5),
    width=sizes(3, 5),
    size=pairs,
    stride=pairs,
    padding=st.sampled_from(["valid", "same"]),
    activation=st.sampled_from(["identity", "tanh", "gelu"]),
    biased=st.booleans(),
)
def test_the_derivative_of_a_convolution(rng, height, width, size, stride, padding, activation, biased):
    inputs = [rng.standard_normal((2, height, width, 2)), rng.standard_normal((size[0] * size[1] * 2, 3))]
    inputs += [rng.standard_normal(3)] if biased else []
    options = {"size": size, "stride": stride, "padding": padding, "activation": activation}
    gradient_check(convolve, *inputs, **options).require()


@pytest.mark.parametrize("pool", [max_pool, average_pool])
@few
@given(rng=generators(), height=sizes(3, 6), width=sizes(3, 6), size=pairs, stride=st.none() | pairs, c=sizes(1, 2))
def test_pooling_equals_its_loops_and_has_this_derivative(pool, rng, height, width, size, stride, c):
    x = distinct(rng, 2, height, width, c)
    (h, w), (down, across) = size, stride or size
    y = pool(x, size=size, stride=stride)
    assert y.shape == (2, (height - h) // down + 1, (width - w) // across + 1, c)
    reduce = np.max if pool is max_pool else np.mean
    for i, j in itertools.product(range(y.shape[1]), range(y.shape[2])):
        window = x[:, i * down : i * down + h, j * across : j * across + w]
        np.testing.assert_allclose(y[:, i, j], reduce(window, axis=(1, 2)), atol=1e-12)
    gradient_check(pool, x, size=size, stride=stride).require()


def test_equal_maxima_give_the_first_one_the_derivative_and_nan_propagates():
    _, backward = max_pool.definition(np.ones((1, 2, 2, 1)), size=(2, 2))
    np.testing.assert_array_equal(backward(np.full((1, 1, 1, 1), 5.0))[0, :, :, 0], [[5, 0], [0, 0]])
    x = np.zeros((1, 2, 2, 1))
    x[0, 1, 0, 0] = np.nan
    assert np.isnan(max_pool(x, size=(2, 2))).all()


def test_mistakes_name_the_sizes():
    x = np.zeros((1, 8, 6, 1))
    with pytest.raises(ShapeError, match=r"8 x 6 pixels cannot be cut into patches of 4 x 4; choose a patch"):
        patches(x, size=(4, 4))
    with pytest.raises(ShapeError, match="hold 9 numbers, but weights has shape"):
        convolve(x, np.zeros((8, 2)), size=(3, 3))
    with pytest.raises(ShapeError, match=r"a window of 7 x 7 does not fit"):
        max_pool(x, size=(7, 7))
    with pytest.raises(ConfigurationError, match="'valid' or 'same'"):
        convolve(x, np.zeros((9, 2)), size=(3, 3), padding="full")
    with pytest.raises(ConfigurationError, match="at least one pixel"):
        average_pool(x, size=(2, 2), stride=(0, 1))
