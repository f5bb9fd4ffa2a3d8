"""@operation: recording follows the inputs; engines replace a definition under the same contract."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, DragomanWarning, GraphError
from dragoman.graph import (
    Parameter,
    Tensor,
    backpropagate,
    current_engine,
    dispatched,
    gradient_check,
    operation,
    use_engine,
)
from dragoman.graph.kernel_comparison import Compared
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
    assert toy.ran == [3.0, 3.0]  # compared with the definition, then used
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


X = np.linspace(-1, 2, 7)


@operation
def softcap(x, bias, *, cap=2.0):
    """y = cap tanh((x + bias) / cap)"""
    y = cap * np.tanh((x + bias) / cap)
    return y, lambda dy: (dy * (1 - (y / cap) ** 2),) * 2


def softcap_by(value=lambda y: y, derivative=lambda d: d, results=lambda *r: r, covers=lambda x: True):
    """A kernel for softcap, with its value and its derivative by x changed."""

    def kernel(x, bias, *, cap=2.0):
        if not covers(x):
            return NotImplemented
        y, backward = softcap.definition(x, bias, cap=cap)
        return results(value(y), lambda dy: (derivative(backward(dy)[0]), backward(dy)[1]))

    return kernel


def fail(*_):
    raise IndexError("out of its buffer")


WRONG = {
    "value": (softcap_by(value=lambda y: y * 1.01), r"an array of shape \(7,\) and type float64 differs by 1.00%"),
    "sign of one": (softcap_by(value=lambda y: np.where(X[0] == X, -y, y)), "differs by"),
    "derivative": (softcap_by(derivative=lambda d: d * 0.99), "differs by 1.00%"),
    "no derivative": (softcap_by(derivative=lambda d: None), "returns NoneType for an array"),
    "shape": (softcap_by(value=lambda y: y[:-1]), r"an array of shape \(6,\) .* for an array of shape \(7,\)"),
    "type": (softcap_by(value=np.float32), "type float32 for an array of shape .* type float64"),
    "not finite": (softcap_by(value=lambda y: np.where(X[0] == X, np.nan, y)), "differs by"),
    "no backward": (lambda x, bias: softcap.definition(x, bias)[0], "it returns no value with its backward"),
    "fails": (fail, r"fails where the definition does not \(IndexError: out of its buffer"),
    "too many": (
        softcap_by(results=lambda y, backward: ((y, y), lambda *dys: backward(dys[0]))),
        "it returns 2 results, not 1",
    ),
}


@pytest.fixture
def softcap_kernel(monkeypatch):
    """Registers a kernel for softcap and chooses its engine; yields the function that does so."""
    module = sys.modules["dragoman.graph.operation"]
    monkeypatch.setattr(module, "_engines", set(module._engines))
    monkeypatch.setattr(module, "_engine", "numpy")
    monkeypatch.setattr(softcap, "_faster", {})

    def register(kernel):
        softcap.register("toy")(kernel)
        module.switch_engine("toy")

    return register


@pytest.mark.parametrize("wrong", WRONG)
def test_a_kernel_that_disagrees_with_the_definition_is_not_believed(softcap_kernel, wrong):
    kernel, message = WRONG[wrong]
    softcap_kernel(kernel)
    expected, backward = softcap.definition(X, X)
    x = Tensor(X)
    with pytest.warns(DragomanWarning, match=f"^the kernel of softcap that is registered for 'toy' .*{message}"):
        y = softcap(x, X)
    np.testing.assert_array_equal(y.value, expected)
    np.testing.assert_array_equal(backpropagate(y, [x], [np.ones(7)])[0], backward(np.ones(7))[0])
    np.testing.assert_array_equal(softcap(X, X), expected)  # said once


def test_a_kernel_is_compared_once_for_each_kind_of_call(softcap_kernel):
    calls = []
    softcap_kernel(softcap_by(value=lambda y: calls.append(y.dtype) or y, covers=lambda x: x.ndim == 1))
    softcap(X, X)
    assert len(calls) == 2
    softcap(X[:4], X[:4])
    assert len(calls) == 3
    softcap(X[None], X[None])  # not covered
    assert len(calls) == 3
    for more in (
        lambda: softcap(X.astype(np.float32), X.astype(np.float32)),
        lambda: softcap(X, X, cap=3.0),
        lambda: softcap(X[:3], X[:3]),  # half as many rows
        lambda: softcap(X[::2], X[::2]),
    ):
        before = len(calls)
        more()
        more()
        assert len(calls) == before + 3


def test_an_error_in_one_kind_of_call_is_found_after_others_agreed(softcap_kernel):
    def only_two(x, bias, *, cap=2.0):
        return softcap.definition(x, bias, cap=2.0)  # forgets the option

    softcap_kernel(only_two)
    softcap(X, X, cap=2.0)
    with pytest.warns(DragomanWarning, match="differs by"):
        np.testing.assert_array_equal(softcap(X, X, cap=1.0), softcap.definition(X, X, cap=1.0)[0])


@pytest.mark.parametrize("shape", [(40, 3), (2, 33)], ids=["rows", "columns"])
def test_an_error_for_some_shapes_is_found(softcap_kernel, shape):
    def blocked(x, bias, *, cap=2.0):
        y, backward = softcap.definition(x, bias, cap=cap)
        y[32:], y[:, 32:] = 0, 0
        return y, backward

    softcap_kernel(blocked)
    softcap(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.warns(DragomanWarning, match="differs by"):
        softcap(np.ones(shape), np.ones(shape))


def test_an_error_for_arrays_that_are_not_contiguous_is_found(softcap_kernel):
    def contiguous(x, bias, *, cap=2.0):
        side_by_side = np.lib.stride_tricks.as_strided(x, strides=(*x.strides[:-1], x.itemsize))
        return softcap.definition(side_by_side, bias, cap=cap)

    softcap_kernel(contiguous)
    softcap(X, X)
    with pytest.warns(DragomanWarning, match="differs by"):
        softcap(X[::2], X[:4])


def test_empty_arrays_verify_nothing(softcap_kernel):
    softcap_kernel(softcap_by(value=lambda y: 2 * y))
    softcap(X[:0], X[:0])
    with pytest.warns(DragomanWarning, match="differs by"):
        softcap(X, X)


def test_errors_of_the_definition_come_first(softcap_kernel):
    softcap_kernel(fail)
    with pytest.raises(ValueError, match="could not be broadcast"):
        softcap(X, X[:2])


def test_rounding_is_no_disagreement(softcap_kernel):
    """Neither of single precision nor of arrays that are 0 by the definition."""
    single = X.astype(np.float32)
    softcap_kernel(softcap_by(value=lambda y: y + np.float32(1e-7)))
    np.testing.assert_allclose(softcap(single, single), softcap.definition(single, single)[0] + 1e-7, rtol=1e-6)
    softcap(0 * single, 0 * single, cap=1.0)
    softcap_kernel(softcap_by(value=lambda y: y * np.float32(1.00001)))
    softcap(1e5 * single, 1e5 * single, cap=1e6)


def test_what_is_not_a_number_must_be_so_in_both(softcap_kernel):
    x = X.copy()
    x[2] = np.nan
    softcap_kernel(softcap_by())
    assert np.isnan(softcap(x, X)[2])
    softcap_kernel(softcap_by(value=np.nan_to_num))
    with pytest.warns(DragomanWarning, match=r"type float64 differs by inf% of its norm"):
        assert np.isnan(softcap(x, X)[2])


def test_a_comparison_without_memory_says_so(softcap_kernel):
    def greedy(*_, **__):
        raise MemoryError

    softcap_kernel(greedy)
    with pytest.raises(MemoryError):
        softcap(X, X)


def test_functions_that_write_to_their_arguments_are_compared_by_what_they_write(monkeypatch):
    @dispatched
    def descend(values, gradient, *, rate):
        values -= rate * gradient

    def ascend(values, gradient, *, rate):
        values += rate * gradient

    module = sys.modules["dragoman.graph.operation"]
    monkeypatch.setattr(module, "_engines", set(module._engines))
    monkeypatch.setattr(module, "_engine", "numpy")
    for kernel, disagrees in ((ascend, True), (descend.definition, False)):
        descend.register("toy")(kernel)
        module.switch_engine("toy")
        values, gradient = X.copy(), X**2
        with pytest.warns(DragomanWarning, match="kernel of descend") if disagrees else nullcontext():
            descend(values, gradient, rate=0.5)
        np.testing.assert_array_equal(values, X - 0.5 * X**2)


def test_kernels_of_the_package_are_not_compared_again():
    importlib.import_module("dragoman.engines.numba")
    assert not isinstance(linear._faster["numba"], Compared)
