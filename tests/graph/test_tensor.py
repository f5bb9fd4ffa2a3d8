"""Values that want a gradient, and the published parameters inside one matrix."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.graph import Parameter, Tensor, value_of
from dragoman.operations import add


def test_split_names_equal_blocks_as_views():
    block = Parameter(np.arange(12.0).reshape(2, 6), ("query.weights", "key.weights", "value.weights"))
    parts = dict(block.split("encoder.0.attention.query_key_value_weights"))
    assert list(parts) == [f"encoder.0.attention.{name}.weights" for name in ("query", "key", "value")]
    np.testing.assert_array_equal(parts["encoder.0.attention.key.weights"], [[2, 3], [8, 9]])
    parts["encoder.0.attention.key.weights"][:] = 0
    assert not block.value[:, 2:4].any()

    gradient = np.ones((2, 6))
    assert all(np.shares_memory(part, gradient) for _, part in block.split("x", gradient))


def test_split_of_a_single_parameter_is_itself():
    biases = Parameter(np.zeros(3))
    [(name, value)] = biases.split("output.biases")
    assert name == "output.biases"
    assert value is biases.value


def test_a_tensor_says_what_it_is():
    x = Tensor(np.zeros((2, 3), np.float32))
    assert repr(x) == "Tensor(shape=(2, 3), dtype=float32)"
    assert repr(add(x, x)) == "Tensor(shape=(2, 3), dtype=float32, from add)"
    assert repr(Parameter(np.zeros(1))) == "Parameter(shape=(1,), dtype=float64)"


@pytest.mark.parametrize("wrap", [Tensor, Parameter, np.asarray])
def test_value_of(wrap):
    array = np.ones(2)
    assert value_of(wrap(array)) is array
    assert float(wrap(np.array(2.5))) == 2.5
