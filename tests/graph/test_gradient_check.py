"""The prover must itself be proved: it accepts what is right and names what is wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import GradientError
from dragoman.graph import Parameter, Tensor, Theta, gradient_check, operation, value_of
from dragoman.graph.gradient_check import COMPLEX_TOLERANCE, central_differences, compare, complex_step
from dragoman.layers import ForwardContext, Initializer, Perceptron, SelfAttention
from dragoman.operations import activate, attend, embed, linear
from tests.strategies import generators


def flawed(change):
    """y = x W with a derivative by W that `change` spoils."""

    @operation
    def product(x, weights):
        return x @ weights, lambda dy: (dy @ weights.T, change(x.T @ dy))

    return product


def off_at(index, amount):
    def change(derivative):
        derivative = derivative.copy()
        derivative[index] += amount
        return derivative

    return change


@pytest.mark.parametrize(
    ("amount", "analytic", "method"), [(1e-4, False, "central differences"), (1e-8, True, "complex step")]
)
@given(generators(), st.tuples(st.integers(0, 1), st.integers(0, 2)))
def test_one_wrong_element_is_found_and_named(amount, analytic, method, rng, index):
    x, weights = rng.uniform(1, 2, (4, 2)), rng.uniform(1, 2, (2, 3))
    report = gradient_check(flawed(off_at(index, amount)), x, weights, analytic=analytic)
    worst = report.worst
    assert (report.passed, worst.name, worst.method, worst.index) == (False, "weights", method, index)
    assert worst.found - worst.reference == pytest.approx(amount, rel=1e-3)
    with pytest.raises(GradientError) as raised:
        report.require()
    for part in ("weights", method, str(index), f"{worst.found:.12g}", f"{worst.reference:.12g}"):
        assert part in str(raised.value)
    assert gradient_check(flawed(lambda derivative: derivative), x, weights).require().passed


@pytest.mark.parametrize(
    "change",
    [lambda d: -d, lambda d: 2 * d, lambda d: d[::-1], lambda d: 0 * d, lambda d: d * np.nan],
    ids=["sign", "factor", "order", "dropped", "not a number"],
)
def test_usual_mistakes_are_found(change):
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((4, 2)), rng.standard_normal((2, 3))
    report = gradient_check(flawed(change), x, weights)
    assert {c.name for c in report.comparisons if not c.passed} == {"weights"}  # and x is not accused
    assert len([c for c in report.comparisons if not c.passed]) == 2  # both references see it


def test_a_silent_cast_to_real_is_an_error_that_says_what_to_do():
    @operation
    def cast(x):
        y = np.empty(x.shape)
        y[...] = x
        return y, lambda dy: dy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the check must raise by itself, not because the tests do
        with pytest.raises(GradientError, match=r"imaginary part .* silently .*np\.empty_like.*analytic=False"):
            gradient_check(cast, np.ones(2))
    gradient_check(cast, np.ones(2), analytic=False).require()


def function_of(value, derivative):
    """An operation from an elementwise function and what is claimed to be its derivative."""

    @operation
    def pointwise(x):
        return value(x), lambda dy: dy * derivative(x)

    return pointwise


NOT_ANALYTIC = {
    "abs": (np.abs, np.sign),
    "real": (lambda x: 3 * x.real, lambda x: 3.0),
    "conj": (lambda x: np.conj(x) ** 3, lambda x: 3 * x**2),
    "square of the modulus": (lambda x: x * np.conj(x), lambda x: 2 * x),
    "sign": (np.sign, np.zeros_like),
    "partly": (lambda x: np.tanh(x) + 1e-3 * np.abs(x), lambda x: 1 - np.tanh(x) ** 2 + 1e-3 * np.sign(x)),
    "of every size": (lambda x: np.exp(20 * x) * np.abs(x), lambda x: np.exp(20 * x) * np.sign(x) * (1 + 20 * x)),
}


@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_the_right_derivative_of_a_function_that_is_not_analytic_passes_with_a_notice(name):
    x = np.random.default_rng(2).standard_normal((3, 4))
    report = gradient_check(function_of(*NOT_ANALYTIC[name]), x).require()
    differences, step = report.comparisons
    assert (differences.method, differences.not_applicable, report.worst) == ("central differences", "", differences)
    assert "the function is not analytic here (abs, conj, real...)" in step.not_applicable
    assert "x, complex step: not applicable: the function is not analytic" in str(report).splitlines()[1]
    assert "judged by central differences alone" in str(report).splitlines()[1]
    assert np.isnan(report.error("complex step"))


@pytest.mark.parametrize("spoil", [lambda d: -d, lambda d: 0 * d, lambda d: d * (1 + 1e-5), lambda d: d + 1e-4])
@pytest.mark.parametrize("name", ["abs", "real", "conj", "partly"])
def test_a_wrong_derivative_of_a_function_that_is_not_analytic_fails(name, spoil):
    value, derivative = NOT_ANALYTIC[name]
    x = np.random.default_rng(3).standard_normal((3, 4))
    with pytest.raises(GradientError, match="FAIL: wrong derivative of x"):
        gradient_check(function_of(value, lambda x: spoil(derivative(x))), x).require()


def test_inaccurate_central_differences_do_not_excuse_a_derivative():
    """A difference quotient given as the derivative agrees with central differences, wherever those are wrong."""
    for frequency in (1e4, 1e5, 1e6, 1e7):

        def wave(x, frequency=frequency):
            return np.sin(frequency * x)

        def quotient(x, wave=wave):
            return (wave(x + 1e-6) - wave(x - 1e-6)) / 2e-6

        report = gradient_check(function_of(wave, quotient), np.array([0.3, 0.7, 1.1]))
        assert [(c.method, c.passed, c.not_applicable) for c in report.comparisons] == [
            ("central differences", True, ""),
            ("complex step", False, ""),
        ], frequency
        with pytest.raises(GradientError, match=r"x, complex step.*central differences agree.*analytic=False"):
            report.require()


def test_a_function_that_takes_no_complex_numbers_is_judged_by_differences():
    good, bad = function_of(np.cbrt, lambda x: np.cbrt(x) / (3 * x)), function_of(np.cbrt, lambda x: x)
    report = gradient_check(good, np.array([0.5, 2.0])).require()
    assert "does not take complex numbers (ufunc 'cbrt'" in str(report)
    assert not gradient_check(bad, np.array([0.5, 2.0])).passed


def test_what_is_printed_says_pass_or_fail():
    x = np.array([[0.5, -0.5]])
    good = str(gradient_check(activate, x, activation="tanh").require()).splitlines()
    assert [line[:5] for line in good] == ["PASS ", "PASS ", "PASS:"]
    bad = str(gradient_check(function_of(np.tanh, np.cos), x)).splitlines()
    assert [line[:5] for line in bad] == ["FAIL ", "FAIL ", "FAIL:"]
    assert bad[-1] == "FAIL: 0 of 2 comparisons passed"
    strict = str(gradient_check(function_of(np.tanh, lambda x: 1 - np.tanh(x) ** 2 + 1e-8), x)).splitlines()
    assert [line[:5] for line in strict] == ["PASS ", "FAIL ", "FAIL:"]


@pytest.mark.ledger("T-4.3.17-bK")
def test_a_gradient_that_is_zero_passes():
    rng = np.random.default_rng(1)
    x, wq, wk = (rng.standard_normal(shape) for shape in ((5, 4), (4, 4), (4, 4)))

    def scores_with_key_bias(biases):
        return attend(x @ wq, linear(x, wk, biases), x, offsets=np.array([0, 2, 5]), heads=2)

    report = gradient_check(scores_with_key_bias, rng.standard_normal(4)).require()
    assert all(abs(c.found) < 1e-12 for c in report.comparisons)


def test_both_references_agree_with_a_known_derivative():
    x = Tensor(np.array([[0.3, -1.2], [2.0, 0.0]]))
    known = np.cos(x.value)

    def scalar():
        return np.sin(x.value).sum()

    np.testing.assert_allclose(central_differences(scalar, x), known, atol=1e-9)
    np.testing.assert_allclose(complex_step(scalar, x), known, rtol=1e-15)


def test_compare_measures_against_the_largest_reference():
    reference = np.array([0.0, 1000.0])
    comparison = compare("x", "by hand", np.array([0.9e-3, 1000.0]), reference, 1e-6)
    assert (comparison.error, comparison.index, comparison.passed) == (pytest.approx(0.9e-6), (0,), True)
    assert not compare("x", "by hand", np.array([1.1e-3, 1000.0]), reference, 1e-6).passed
    tiny = np.array([1e-13])
    assert compare("x", "by hand", tiny, np.zeros(1), COMPLEX_TOLERANCE).passed  # rounding beside an exact zero
    assert not compare("x", "by hand", 100 * tiny, np.zeros(1), COMPLEX_TOLERANCE).passed
    assert compare("x", "by hand", np.zeros((0, 2)), np.zeros((0, 2)), 1e-6).passed
    with pytest.raises(GradientError, match=r"\(2,\).*\(3,\)"):
        compare("x", "by hand", np.zeros(2), np.zeros(3), 1e-6)


def test_a_kink_needs_analytic_off_and_then_has_one_method():
    x = np.array([[0.5, -0.5]])
    report = gradient_check(activate, x, analytic=False, activation="relu").require()
    assert [c.method for c in report.comparisons] == ["central differences"]
    assert np.isnan(report.error("complex step"))
    assert report.error("central differences") < 1e-9


def test_inputs_are_not_touched_and_only_real_ones_are_differentiated():
    table, labels = np.ones((3, 2)), np.array([2, 0])
    table.setflags(write=False)
    report = gradient_check(lambda table, labels: embed(table, labels=labels), table, labels).require()
    assert {c.name for c in report.comparisons} == {"table"}
    with pytest.raises(GradientError, match="nothing to check"):
        gradient_check(lambda labels: labels, labels)


def changing(forward=lambda x: None, backward=lambda x: None):
    """An operation that changes its inputs in place, forward or backward."""

    @operation
    def doubled(x, weights, *, scale):
        forward((x, weights, scale))

        def derivatives(dy):
            backward((x, weights, scale))
            return 2 * dy * weights * scale, 2 * dy * x * scale

        return 2 * x * weights * scale, derivatives

    return doubled


def times_two(array):
    array *= 2


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize(("index", "name"), list(enumerate(["x", "weights", "scale"])))
def test_an_operation_that_changes_its_inputs_is_refused(where, index, name):
    inputs = [np.random.default_rng(i).standard_normal(3) for i in range(3)]
    gradient_check(changing(), *inputs[:2], scale=inputs[2]).require()
    spoilt = changing(**{where: lambda arrays: times_two(arrays[index])})
    with pytest.raises(GradientError, match=f"^{name} was changed in place"):
        gradient_check(spoilt, *inputs[:2], scale=inputs[2])


def test_a_layer_that_changes_its_parameters_is_refused():
    class Shrinking(Perceptron):
        def __call__(self, x):
            times_two(value_of(self.weights))
            return super().__call__(x)

    with pytest.raises(GradientError, match=r"^weights was changed in place"):
        gradient_check(Shrinking(2, 3, Initializer(0)), np.ones((1, 2)))


class Interrupted(Perceptron):
    """Fails in the middle of a check."""

    calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == 5:
            raise InterruptedError
        return super().__call__(x)


def test_layers_in_float32_are_checked_in_float64_and_restored():
    attention = SelfAttention(4, 2, Initializer(3), causal=True, reach=1)
    interrupted = Interrupted(4, 4, Initializer(4))
    theta = Theta([*attention.parameters(), *interrupted.parameters()])
    before = theta.values.copy()
    x = np.random.default_rng(5).standard_normal((5, 4))

    report = gradient_check(attention, x, offsets=np.array([0, 2, 5]), run=ForwardContext()).require()
    assert {c.name for c in report.comparisons} == {"x", *(name for name, _ in attention.named_parameters())}
    with pytest.raises(InterruptedError):
        gradient_check(interrupted, x)
    assert theta.dtype == np.float32
    assert theta.values.tobytes() == before.tobytes()
    for parameter in theta.parameters:
        assert np.shares_memory(parameter.value, theta.values)


def test_frozen_parameters_are_left_out():
    layer = Perceptron(2, 3, Initializer(0))
    layer.weights.frozen = True
    report = gradient_check(layer, np.ones((1, 2))).require()
    assert {c.name for c in report.comparisons} == {"x", "biases"}
    assert isinstance(layer.weights, Parameter)


def test_a_small_derivative_beside_a_large_value_is_still_judged():
    """Five per cent wrong, hidden behind outputs of size 100 that do not depend on most inputs."""

    @operation
    def nearly_constant(x):
        return np.maximum(x, 0) * 1e-4 + 100, lambda dy: dy * (x > 0) * 1.05e-4

    x = np.random.default_rng(0).standard_normal((20, 20))
    assert not gradient_check(nearly_constant, x, analytic=False).passed
