"""What the tests of operations share: whole Jacobians, and whether two functions are one."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Tensor, backpropagate, value_of


def jacobian(function, x):
    """[y.shape + x.shape]: one partial for each pair of entries, a row of it from each back-propagation."""
    y = value_of(function(Tensor(x)))
    rows = np.empty(y.shape + x.shape)
    for index in np.ndindex(y.shape):
        delta = np.zeros_like(y)
        delta[index] = 1
        leaf = Tensor(x)
        (rows[index],) = backpropagate(function(leaf), [leaf], [delta])
    return rows


def values_and_gradients(function, inputs, deltas=None):
    """Outputs, then the derivative by every input of the outputs weighted with fixed random deltas."""
    leaves = [Tensor(x) for x in inputs]
    result = function(*leaves)
    outputs = result if isinstance(result, tuple) else (result,)
    if deltas is None:
        rng = np.random.default_rng(0)
        deltas = [rng.standard_normal(y.shape).astype(y.value.dtype) for y in outputs]
    return [y.value for y in outputs], backpropagate(outputs, leaves, deltas)


def assert_same_function(first, second, *inputs, deltas=None):
    """Equal outputs and equal derivatives."""
    for ours, theirs in zip(
        values_and_gradients(first, inputs, deltas), values_and_gradients(second, inputs, deltas), strict=True
    ):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
