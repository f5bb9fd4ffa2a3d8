"""@operation: recording follows the inputs; engines replace a definition under the same contract."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, GraphError
from dragoman.graph import Parameter, Tensor, backpropagate, current_engine, gradient_check, operation, use_engine
from dragoman.operations import cross_entropy, linear


@operation
def double(x, shift=None, *, note=None):
    """y = 2 x + shift"""
    y = 2 * x if shift is None else 2 * x + shift
    return y, lambda dy: (2 * dy, None if shift is None else dy)


def frozen(value):
    parameter = Parameter(value)
    parameter.frozen = True
    return parameter


@pytest.mark.parametrize("wrap", [np.asarray, frozen])
def test_nothing_is_recorded_where_nothing_wants_a_gradient(wrap):
    y = double(wrap(np.ones(2)))
    assert isinstance(y, np.ndarray)
    error, hits = cross_entropy(wrap(np.eye(2)), targets=np.array([0, 1]))
    assert isinstance(error, np.ndarray)
    assert isinstance(hits, float)


@pytest.mark.parametrize("wrap", [Tensor, Parameter])
def test_a_call_is_recorded_where_an_input_wants_a_gradient(wrap):
    x = wrap(np.ones(2))
    y = double(np.ones(2), x)
    assert isinstance(y, Tensor)
    np.testing.assert_array_equal(y.value, [3, 3])
    np.testing.assert_array_equal(backpropagate(y, [x], [np.array([4.0, 5.0])])[0], [4, 5])
    error, hits = cross_entropy(wrap(np.eye(2)), targets=np.array([0, 1]))
    assert isinstance(error, Tensor)
    assert hits == 2.0  # a count carries no gradient


def test_an_optional_input_may_be_left_out():
    gradient_check(double, np.ones(2)).require()
    gradient_check(double, np.ones(2), np.ones(2)).require()


def test_a_tensor_among_the_options_is_refused():
    with pytest.raises(GraphError, match="double: 'note' is a tensor"):
        double(Tensor(np.ones(2)), note=Tensor(np.ones(1)))


FORGETFUL = {
    "value alone": (lambda x: x * 2, r"returned an array of shape \(2, 3\) without a backward"),
    "nothing": (lambda x: None, "returned None without a backward"),
    "a number": (lambda x: float(x.sum()), "returned a value of type float without a backward"),
    "two values": (lambda x: (x, x + 1), r"returned a value and an array of shape \(2, 3\), which is not a function"),
    "no function": (lambda x: (x, None), "returned a value and None, which is not a function"),
    "not nested": (lambda x: (x, x, lambda dy: dy), "returned a tuple of 3"),
}


@pytest.mark.parametrize("wrap", [np.asarray, Tensor])
@pytest.mark.parametrize("case", FORGETFUL)
def test_an_operation_without_a_backward_is_told_what_to_return(case, wrap):
    function, message = FORGETFUL[case]

    @operation
    def forgetful(x):
        return function(x)

    with pytest.raises(GraphError, match=rf"^forgetful {message}, but an operation returns .*`return y, backward`"):
        forgetful(wrap(np.ones((2, 3))))


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (lambda dy: None, r"None: is its `return` missing\?"),
        (lambda dy: dy, r"1 derivatives\."),
        (lambda dy: (dy, dy, dy), r"3 derivatives\."),
        (lambda dy: [dy, dy], r"1 derivatives \(a list\)\."),
    ],
)
def test_a_backward_with_the_wrong_number_of_derivatives_is_told_what_to_return(returned, found):
    @operation
    def sum_of_two(x, y):
        return x + y, returned

    x = Tensor(np.ones(2))
    match = rf"^sum_of_two was called with 2 inputs, but its backward returned {found} .*`return dx, dweights`"
    with pytest.raises(GraphError, match=match):
        backpropagate(sum_of_two(x, np.ones(2)), [x], [np.ones(2)])


def test_a_backward_that_forgets_return_is_not_taken_for_a_zero_gradient():
    @operation
    def forgetful(x):
        def backward(dy):
            2 * dy

        return 2 * x, backward

    with pytest.raises(GraphError, match=r"forgetful was called with 1 input, .*is its `return` missing"):
        gradient_check(forgetful, np.ones(2))


def test_an_operation_keeps_the_name_and_equation_of_its_definition():
    assert (double.name, double.__name__, double.__doc__) == ("double", "double", "y = 2 x + shift")
    assert "Definition 3.12" in linear.__doc__


@pytest.fixture
def toy(monkeypatch):
    """An operation with a definition and a `toy` engine that covers vectors only; the registry is restored."""
    module = sys.modules["dragoman.graph.operation"]  # the package's name for it is the decorator
    monkeypatch.setattr(module, "_engines", set(module._engines))
    monkeypatch.setattr(module, "_engine", "numpy")

    @operation
    def square(x, *, scale=1.0):
        return scale * x * x, lambda dy: 2 * scale * x * dy

    ran = []

    @square.register("toy")
    def faster(x, *, scale=1.0):
        if x.ndim != 1:
            return NotImplemented
        ran.append(scale)
        return scale * x**2, lambda dy: 2 * scale * x * dy

    square.ran = ran
    return square


def test_an_engine_computes_what_it_covers(toy):
    toy(np.ones(2))
    assert (current_engine(), toy.ran) == ("numpy", [])
    use_engine("toy")
    assert current_engine() == "toy"
    x = Tensor(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(backpropagate(toy(x, scale=3.0), [x], [np.ones(2)])[0], [6, 12])
    assert toy.ran == [3.0]
    gradient_check(toy, x.value).require()  # the same tests hold for every engine


def test_an_engine_may_decline(toy):
    use_engine("toy")
    np.testing.assert_array_equal(toy(np.full((1, 2), 3.0)), [[9, 9]])
    assert toy.ran == []
    np.testing.assert_array_equal(double(np.ones(2)), [2, 2])  # never registered: its definition runs


def test_an_unknown_engine_is_refused(toy):
    with pytest.raises(ConfigurationError, match=r"unknown engine 'abacus'; available: .*numpy.*toy"):
        use_engine("abacus")
    assert current_engine() == "numpy"
