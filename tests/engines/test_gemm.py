"""The matrix products of training against NumPy's, on matrices of any shape."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba")
from dragoman.engines.activations import IDENTITY
from dragoman.engines.numba.gemm import gemm
from dragoman.engines.numba.kernels import linear

NOTHING = np.zeros(0, np.float32)
SHAPES = [
    (19, 4, 16),  # left to the BLAS: too few rows
    (20, 1, 16),  # tiles of 5 rows
    (30, 5, 15),  # left to the BLAS: fewer columns than a panel has
    (21, 3, 17),  # the last columns with some before them
    (24, 8, 32),
    (31, 67, 100),  # inputs that are no multiple of what is unrolled
    (23, 1100, 150),  # more inputs and columns than are laid out at a time
    (40, 64, 1003),
]


@pytest.fixture(params=["ours", "blas"])
def addresses(request, monkeypatch):
    monkeypatch.setattr(gemm, "has_own_gemm", lambda: request.param == "ours")
    return gemm.gemm_addresses(np.dtype(np.float32))


def drawn(*shape):
    return np.random.default_rng(len(shape) * shape[0] + shape[-1]).standard_normal(shape).astype(np.float32)


def between_guards(*shape):
    """A matrix in the middle of a longer vector, which tells whether something was written beyond it."""
    size = int(np.prod(shape))
    whole = np.full(size + 64, 777.0, np.float32)
    return whole, whole[32 : 32 + size].reshape(shape)


def agree(whole, found, expected, inputs):
    assert (whole[:32] == 777).all()
    assert (whole[-32:] == 777).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6 * inputs**0.5)


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_outputs_with_and_without_biases(addresses, m, k, n):
    x, w, biases = drawn(m, k), drawn(k, n), drawn(n)
    for b in (biases, NOTHING):
        for weights, transposed in ((w, False), (np.ascontiguousarray(w.T), True)):
            whole, y = between_guards(m, n)
            linear.linear(linear.linear_rows.address(np.float32), addresses, x, weights, transposed, b, IDENTITY, y, y)
            agree(whole, y, x.astype(float) @ w + (biases if b.size else 0), k)


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_the_derivative_by_weights(addresses, m, k, n):
    x, dy = drawn(m, k), drawn(m, n)
    whole, dw = between_guards(k, n)
    linear.weights_derivative(addresses, x, 0, dy, 0, dw, 0, n, False)
    agree(whole, dw, x.astype(float).T @ dy, m)


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_columns_of_a_derivative_are_set_or_added_to(addresses, m, k, n):
    x, dy, before = drawn(m, k + 3), drawn(m, n + 5), drawn(k, n + 9)
    product = x[:, 2 : 2 + k].astype(float).T @ dy[:, 4 : 4 + n]
    for add in (False, True):
        whole, dw = between_guards(k, n + 9)
        dw[...] = before
        linear.weights_derivative(addresses, x, 2, dy, 4, dw, 7, n, add)
        expected = before.astype(float)
        expected[:, 7 : 7 + n] = product + (expected[:, 7 : 7 + n] if add else 0)
        agree(whole, dw, expected, m)


def test_double_precision_is_the_blas_s():
    address, ours = gemm.gemm_addresses(np.dtype(np.float64))
    assert address
    assert ours == 0
    x, w = drawn(9, 5).astype(float), drawn(5, 20).astype(float)
    y = np.empty((9, 20))
    linear.linear(linear.linear_rows.address(x.dtype), (address, ours), x, w, False, np.empty(0), IDENTITY, y, y)
    np.testing.assert_allclose(y, x @ w, rtol=1e-12)


@pytest.mark.parametrize(
    ("processor", "openblas", "expected"),
    [
        ("znver3", "Zen", True),
        ("alderlake", "Haswell", True),
        ("znver4", "SkylakeX", True),  # wider vectors, taken in halves
        ("skylake-avx512", "SkylakeX", False),
        ("apple-m1", "VORTEX", False),
    ],
)
def test_where_products_are_our_own(monkeypatch, processor, openblas, expected):
    library = SimpleNamespace(info=lambda: {"architecture": openblas})
    monkeypatch.setattr(gemm, "get_host_cpu_name", lambda: processor)
    monkeypatch.setattr(gemm, "ThreadpoolController", lambda: SimpleNamespace(lib_controllers=[library]))
    assert gemm.has_own_gemm.__wrapped__() is expected
