"""Functions of one number, as kernels have them."""

import numpy as np
import pytest

pytest.importorskip("numba")
from numba import njit

from dragoman.engines.numba.simd.elementwise import exponential, maximum


@njit
def raised(x, y):
    for i in range(x.size):
        y[i] = exponential(x[i])


@njit
def largest(x):
    top = x[0]
    for i in range(x.size):
        top = maximum(top, x[i])
    return top


@pytest.mark.parametrize(("kind", "reach", "tolerance"), [(np.float32, 87, 3e-7), (np.float64, 700, 1e-15)])
def test_the_exponential(kind, reach, tolerance):
    x = np.linspace(-reach, reach, 100_001).astype(kind)
    found = np.empty_like(x)
    raised(x, found)
    np.testing.assert_allclose(found, np.exp(x.astype(np.longdouble)).astype(float), rtol=tolerance)


def test_where_the_exponential_ends():
    x = np.array([np.nan, np.inf, -np.inf, 1e9, -1e9], np.float32)
    found = np.empty_like(x)
    raised(x, found)
    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()
    assert (found[[1, 3]] > 1e38).all()
    assert ((found[[2, 4]] > 0) & (found[[2, 4]] < 2e-38)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 8, 1003])
def test_the_maximum(kind, size):
    x = np.random.default_rng(size).standard_normal(size).astype(kind) - 9
    assert largest(x) == x.max()
    x[size // 2] = np.nan
    assert np.isnan(largest(x))
