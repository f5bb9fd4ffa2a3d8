"""The kernels over windows of images compute what the definitions compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import operations
from dragoman.errors import ShapeError
from tests.strategies import generators, sizes

pytest.importorskip("numba")
from tests.engines.test_numba_operations import KINDS, assert_same, both, drawn

few = settings(max_examples=12)
pairs = st.tuples(sizes(1, 3), sizes(1, 3))
both_kinds = pytest.mark.parametrize("kind", KINDS)


@both_kinds
@few
@given(
    rng=generators(),
    b=sizes(0, 2),
    height=sizes(3, 6),
    width=sizes(3, 6),
    c=sizes(1, 3),
    size=pairs,
    stride=pairs,
    padding=st.sampled_from(["valid", "same"]),
    activation=st.sampled_from(["identity", "relu", "gelu"]),
    biased=st.booleans(),
)
def test_convolution(kind, rng, b, height, width, c, size, stride, padding, activation, biased):
    x, weights = drawn(rng, kind, b, height, width, c), drawn(rng, kind, size[0] * size[1] * c, 2)
    options = {"size": size, "stride": stride, "padding": padding, "activation": activation}
    assert_same(both(operations.convolve, x, weights, drawn(rng, kind, 2) if biased else None, **options), kind)


@both_kinds
@pytest.mark.parametrize("pool", [operations.max_pool, operations.average_pool])
@few
@given(rng=generators(), height=sizes(3, 6), width=sizes(3, 6), c=sizes(1, 3), size=pairs, stride=st.none() | pairs)
def test_pooling(kind, pool, rng, height, width, c, size, stride):
    x = np.round(drawn(rng, kind, 2, height, width, c))  # with equal maxima
    assert_same(both(pool, x, size=size, stride=stride), kind)


@both_kinds
@few
@given(rng=generators(), b=sizes(0, 2), n=sizes(1, 3), m=sizes(1, 3), size=pairs, c=sizes(1, 3))
def test_patches(kind, rng, b, n, m, size, c):
    assert_same(both(operations.patches, drawn(rng, kind, b, n * size[0], m * size[1], c), size=size), kind)


def test_nan_propagates_and_other_inputs_go_to_the_definition():
    kernel = operations.max_pool._faster["numba"]
    x = np.zeros((1, 2, 2, 2), np.float32)
    x[0, 1, 1, 0] = np.nan
    y, _ = kernel(x, size=(2, 2))
    np.testing.assert_array_equal(np.isnan(y[0, 0, 0]), [True, False])
    assert kernel(x.transpose(0, 2, 1, 3), size=(2, 2)) is NotImplemented  # not contiguous
    assert kernel(x[0], size=(2, 2)) is NotImplemented
    weights = np.zeros((8, 1), np.float32)
    assert operations.convolve._faster["numba"](x, weights, size=(2, 2), activation="tanh") is NotImplemented
    with pytest.raises(ShapeError, match="does not fit"):
        kernel(x, size=(3, 3))
