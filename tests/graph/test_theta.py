"""theta: one vector, of which the parameters are views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import GraphError, ShapeError
from dragoman.graph import Parameter, Theta
from dragoman.operations import linear, mean_squared_error
from tests.strategies import generators, sizes


@pytest.mark.ledger("T-3.1.1-params", "N-2.1-vec")
def test_parameters_end_to_end_row_by_row():
    a, b = Parameter(np.array([[1.0, 2.0], [3.0, 4.0]])), Parameter(np.array([5.0]))
    theta = Theta([a, b])
    np.testing.assert_array_equal(theta.values, [1, 2, 3, 4, 5])
    assert len(theta) == 5
    theta.values[1] = 20
    b.value[0] = 50
    np.testing.assert_array_equal(a.value, [[1, 20], [3, 4]])
    np.testing.assert_array_equal(theta.values, [1, 20, 3, 4, 50])


@pytest.mark.ledger("T-3.1.1-params")
@given(st.lists(st.lists(sizes(0, 3), max_size=3).map(tuple), max_size=5), generators())
def test_cutting_theta_up_returns_every_share(shapes, rng):
    originals = [rng.standard_normal(shape) for shape in shapes]
    parameters = [Parameter(original.copy()) for original in originals]
    theta = Theta(parameters)
    assert len(theta) == sum(original.size for original in originals)
    for original, parameter in zip(originals, parameters, strict=True):
        np.testing.assert_array_equal(theta.view(theta.values, parameter), original)
        np.testing.assert_array_equal(parameter.value, original)
        assert not original.size or np.shares_memory(parameter.value, theta.values)


def test_values_that_are_set_are_copied_and_stay_those_of_the_parameters():
    parameter = Parameter(np.zeros(2))
    theta = Theta([parameter])
    theta.values = np.array([1.0, 2.0])
    theta.values *= 2
    np.testing.assert_array_equal(parameter.value, [2, 4])
    assert np.shares_memory(parameter.value, theta.values)
    with pytest.raises(ShapeError):
        theta.values = np.zeros(3)


def network(parameters, x):
    w1, b1, w2 = parameters
    return linear(linear(x, w1, b1, activation="tanh"), w2)


def draw_parameters(seed):
    rng = np.random.default_rng(seed)
    return [Parameter(rng.standard_normal(shape)) for shape in ((3, 4), (4,), (4, 2))]


@pytest.mark.ledger("T-1.2-paramspace")
def test_output_and_score_are_functions_of_theta_alone():
    x = np.random.default_rng(0).standard_normal((5, 3))
    here, elsewhere = draw_parameters(1), draw_parameters(2)
    theta, other = Theta(here), Theta(elsewhere)
    first, second = theta.values.copy(), other.values.copy()

    def score(point):
        theta.assign(point)
        y = network([p.value for p in here], x)
        return y, mean_squared_error(y, targets=np.zeros((5, 2)))

    before, after = score(first), score(second)
    assert abs(before[0] - after[0]).max() > 0.1
    np.testing.assert_array_equal(score(first)[0], before[0])
    assert score(first)[1] == before[1]
    np.testing.assert_array_equal(theta.values, first)
    other.assign(first)  # another network of the same shape, the same vector: the same function
    np.testing.assert_array_equal(network([p.value for p in elsewhere], x), before[0])


def test_assign_copies_and_refuses_another_length():
    theta = Theta([Parameter(np.zeros(3, np.float32))])
    vector = np.arange(3.0)
    theta.assign(vector)
    vector[:] = -1
    np.testing.assert_array_equal(theta.parameters[0].value, [0, 1, 2])
    with pytest.raises(ShapeError, match=r"\(3,\).*\(4,\)"):
        theta.assign(np.zeros(4))


def test_a_tied_parameter_has_one_slot():
    tied, other = Parameter(np.ones((2, 2))), Parameter(np.zeros(3))
    theta = Theta([tied, other, tied])
    assert len(theta) == 7
    assert theta.parameters == [tied, other]


@pytest.mark.parametrize(
    ("frozen", "segments"),
    [
        ("", [slice(0, 10)]),
        ("a", [slice(1, 10)]),
        ("b", [slice(0, 1), slice(3, 10)]),
        ("bd", [slice(0, 1), slice(3, 6)]),
        ("abcd", []),
    ],
)
def test_trainable_segments(frozen, segments):
    parameters = {name: Parameter(np.zeros(size)) for size, name in enumerate("abcd", start=1)}
    for name in frozen:
        parameters[name].frozen = True
    theta = Theta([*parameters.values(), Parameter(np.zeros(0))])
    assert theta.trainable() == segments


def test_parameters_of_one_network_share_one_type():
    with pytest.raises(ShapeError, match="share one type"):
        Theta([Parameter(np.ones(2, np.float32)), Parameter(np.ones(2, np.float64))])


def test_a_parameter_belongs_to_one_network():
    w = Parameter(np.ones(2))
    Theta([w])
    with pytest.raises(GraphError, match="another network's theta"):
        Theta([w])
