"""Error functions: their values, their deltas, and what they do with padding and nonsense."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, LabelError, NonFiniteError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import activate, cross_entropy, log_error, logistic_log_error, mean_squared_error, softmax
from tests.operations.calculus import jacobian
from tests.strategies import arrays, generators, labels, loss_weights, probabilities, sizes


def error_of(logits, targets, **options):
    return float(cross_entropy(logits, targets=np.array(targets), **options)[0])


def delta_of(logits, targets, **options):
    leaf = Tensor(logits)
    error, _ = cross_entropy(leaf, targets=np.array(targets), **options)
    return backpropagate(error, [leaf])[0]


@st.composite
def cases(draw):
    """Logits and the options of a cross-entropy: weights with zeros, smoothing, a total from elsewhere."""
    n, v = draw(sizes()), draw(sizes(1, 5))
    options = {"targets": draw(labels(n, v)), "smoothing": draw(st.sampled_from((0.0, 0.1, 0.9)))}
    options["weights"] = draw(st.one_of(st.none(), loss_weights(n)))
    options["total"] = draw(st.sampled_from((None, 7.0)))
    return draw(arrays(n, v, scale=2.0)), options


@pytest.mark.ledger("T-A4.10-outdelta", "T-4.2.4-deltas", "T-6.1-maskeddelta")
@given(cases())
def test_cross_entropy_gradient(case):
    logits, options = case
    gradient_check(cross_entropy, logits, **options).require()


@pytest.mark.ledger("T-4.2.2-CE", "T-4.2.3-logsoftmax", "T-6.1-maskedCE", "N-3.5-CE", "N-3.5-sparse")
@given(cases())
def test_cross_entropy_is_the_weighted_mean_of_the_full_sum(case):
    logits, options = case
    n, v = logits.shape
    s, w = options["smoothing"], np.ones(n) if options["weights"] is None else options["weights"]
    distribution = (1 - s) * np.eye(v)[options["targets"]] + s / v
    full = -(distribution * np.log(softmax(logits))).sum(axis=1)  # every label, not only the target
    expected = (w * full).sum() / (options["total"] or w.sum())
    np.testing.assert_allclose(cross_entropy(logits, **options)[0], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.ledger("T-4.2.3-logsoftmax", "T-4.2.4-deltas", "N-3.5-dCE")
def test_cross_entropy_of_one_position():
    z = np.array([[1.0, 2.0, 3.0]])
    assert error_of(z, [2]) == pytest.approx(0.407605964, abs=1e-9)
    np.testing.assert_allclose(delta_of(z, [2]), [[0.090030573, 0.244728471, -0.334759044]], atol=1e-9)
    truth, probability = np.array([[0, 0, 1]]), softmax(z)
    leaf = Tensor(z)
    (chained,) = backpropagate(softmax(leaf), [leaf], [-truth / probability])  # dL/dP = -A / P, then softmax
    np.testing.assert_allclose(chained, probability - truth, atol=1e-15)
    np.testing.assert_allclose(delta_of(z, [2]), chained, atol=1e-15)


@pytest.mark.ledger("T-4.2.2-CE")
@pytest.mark.parametrize(("vocabulary", "nats"), [(6134, 8.721602345), (8, 2.079441542), (2, 0.693147181)])
def test_a_uniform_guess_costs_the_logarithm_of_the_vocabulary(vocabulary, nats):
    assert error_of(np.full((3, vocabulary), 0.7), [0, 1, vocabulary - 1]) == pytest.approx(nats, abs=1e-9)


@pytest.mark.ledger("T-4.2.4-deltas")
@given(arrays(4, 3), labels(4, 3))
def test_deltas_are_softmax_minus_one_hot_over_the_positions(logits, targets):
    np.testing.assert_allclose(delta_of(logits, targets), (softmax(logits) - np.eye(3)[targets]) / 4, atol=1e-15)


@pytest.mark.ledger("T-4.2.1-H")
@given(probabilities(4), probabilities(4))
def test_cross_entropy_of_two_distributions_is_least_where_they_agree(p, q):
    p, q = p / p.sum(), q / q.sum()

    def h(guess):
        """H(p, guess): one row for each label, weighted by its probability."""
        return error_of(np.tile(np.log(guess), (4, 1)), np.arange(4), weights=p)

    assert h(q) == pytest.approx(-(p * np.log(q)).sum(), rel=1e-12)
    assert h(q) >= h(p) - 1e-15
    slope = delta_of(np.tile(np.log(p), (4, 1)), np.arange(4), weights=p).sum(axis=0)
    np.testing.assert_allclose(slope, 0, atol=1e-15)
    fair = np.array([0.5])
    assert float(log_error(fair, targets=fair)[0]) == pytest.approx(np.log(2), rel=1e-15)


@pytest.mark.ledger("T-4.14-MLE", "N-3.5-MLE", "N-3.5-CE")
@given(arrays(5, 3), labels(5, 3))
def test_low_error_is_high_likelihood(logits, targets):
    likelihood = np.prod(softmax(logits)[np.arange(5), targets])
    assert np.exp(-error_of(logits, targets) * 5) == pytest.approx(likelihood, rel=1e-12)


@pytest.mark.ledger("T-3.2-VI", "T-4.2.3-logsoftmax")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_of_ten_thousand_stay_finite(dtype):
    logits = np.array([[1e4, -1e4], [1e4, -1e4]], dtype)
    assert error_of(logits, [1, 0]) == pytest.approx(1e4)  # the mean of 20 000 and 0
    np.testing.assert_array_equal(delta_of(logits, [1, 0]), [[0.5, -0.5], [0, 0]])
    np.testing.assert_array_equal(softmax(logits), [[1, 0], [1, 0]])


@pytest.mark.ledger("T-6.1-maskedCE", "T-6.1-maskeddelta")
@given(arrays(3, 4), labels(3, 4), arrays(2, 4), labels(2, 4))
def test_padding_counts_for_nothing(logits, targets, pads, pad_targets):
    both, labels_of_both = np.concatenate((logits, pads)), np.concatenate((targets, pad_targets))
    weights = np.array([1.0, 1, 1, 0, 0])
    assert error_of(both, labels_of_both, weights=weights) == pytest.approx(error_of(logits, targets), rel=1e-14)
    delta = delta_of(both, labels_of_both, weights=weights)
    assert not delta[3:].any()
    np.testing.assert_allclose(delta[:3], delta_of(logits, targets), rtol=1e-14)


@pytest.mark.ledger("T-6.1-maskedCE", "T-6.1-maskeddelta")
@pytest.mark.parametrize("rows", [0, 2])
def test_nothing_but_padding_has_no_error(rows):
    logits, targets, weights = np.ones((rows, 3)), np.zeros(rows, int), np.zeros(rows)
    assert cross_entropy(logits, targets=targets, weights=weights) == (0, 0)
    np.testing.assert_array_equal(delta_of(logits, targets, weights=weights), np.zeros((rows, 3)))


@pytest.mark.ledger("T-6.1-accuracy")
def test_accuracy_counts_real_positions_only():
    logits, targets = np.eye(5), np.array([0, 1, 2, 0, 4])
    _, hits = cross_entropy(logits, targets=targets, weights=np.array([1.0, 1, 1, 1, 0]))
    assert hits / 4 == 0.75
    assert cross_entropy(logits, targets=targets)[1] == 4
    assert cross_entropy(logits, targets=targets, weights=np.array([0.5, 1, 0, 1, 0]))[1] == 1.5


@given(arrays(5, 3), labels(5, 3), loss_weights(5), st.integers(0, 5))
def test_shards_divided_by_one_total_add_up(logits, targets, weights, cut):
    total = float(weights.sum())
    parts = [
        error_of(logits[rows], targets[rows], weights=weights[rows], total=total)
        for rows in (slice(0, cut), slice(cut, 5))
    ]
    assert sum(parts) == pytest.approx(error_of(logits, targets, weights=weights), rel=1e-12)


def test_smoothing_stops_short_of_certainty():
    certain, unsure = np.array([[50.0, 0.0]]), np.array([[np.log(19.0), 0.0]])  # 95 %: the smoothed target at 0.1
    assert error_of(unsure, [0], smoothing=0.1) < error_of(certain, [0], smoothing=0.1)
    np.testing.assert_allclose(delta_of(unsure, [0], smoothing=0.1), 0, atol=1e-15)


@pytest.mark.ledger("T-4.1-MSE", "N-3.6-MSE", "N-3.6-dMSE", "T-A4.10-outdelta")
@given(st.lists(sizes(), min_size=1, max_size=3).map(tuple), generators())
def test_mean_squared_error(shape, rng):
    y, targets = rng.standard_normal(shape), rng.standard_normal(shape)
    gradient_check(mean_squared_error, y, targets=targets).require()
    squares = [(a - b) ** 2 for a, b in zip(y.ravel(), targets.ravel(), strict=True)]
    assert float(mean_squared_error(y, targets=targets)) == pytest.approx(sum(squares) / len(squares), rel=1e-12)

    known = np.array([1.0, 2.0])
    assert float(mean_squared_error(known, targets=np.zeros(2))) == 2.5
    np.testing.assert_array_equal(jacobian(lambda y: mean_squared_error(y, targets=np.zeros(2)), known), [1, 2])


@pytest.mark.ledger("T-4.1.1-log", "T-A4.10-outdelta", "T-3.14-logistic")
@given(st.lists(sizes(), min_size=1, max_size=2).map(tuple), generators())
def test_log_error(shape, rng):
    y, targets = rng.uniform(0.05, 0.95, shape), rng.choice((0.0, 1.0, 0.3), shape)
    gradient_check(log_error, y, targets=targets).require()
    slope = jacobian(lambda y: log_error(y, targets=targets)[0], y)
    np.testing.assert_allclose(slope, (y - targets) / (y.size * y * (1 - y)), rtol=1e-12, atol=1e-14)

    def through_logistic(z):
        return log_error(activate(z, activation="logistic"), targets=targets)[0]

    z = np.log(y / (1 - y))
    np.testing.assert_allclose(jacobian(through_logistic, z), (y - targets) / y.size, rtol=1e-10, atol=1e-13)
    assert float(log_error(np.array([0.8]), targets=np.ones(1))[0]) == pytest.approx(0.223143551, abs=1e-9)


@given(st.lists(sizes(), min_size=1, max_size=2).map(tuple), generators())
def test_logistic_log_error_is_the_log_error_of_the_logistic_function(shape, rng):
    z, targets = rng.normal(0, 3, shape), rng.choice((0.0, 1.0, 0.3), shape)
    gradient_check(logistic_log_error, z, targets=targets).require()

    def composed(z):
        return log_error(activate(z, activation="logistic"), targets=targets)[0]

    assert float(logistic_log_error(z, targets=targets)[0]) == pytest.approx(float(composed(z)), rel=1e-10, abs=1e-12)
    fused = jacobian(lambda z: logistic_log_error(z, targets=targets)[0], z)
    np.testing.assert_allclose(fused, jacobian(composed, z), rtol=1e-9, atol=1e-12)


def test_logistic_log_error_stays_finite_where_the_logistic_function_rounds_to_one():
    """In single precision 1 / (1 + exp(-20)) is 1, whose log error against 0 is infinite."""
    z, targets = np.array([20.0, -200.0], np.float32), np.array([0.0, 1.0], np.float32)
    assert (activate(z, activation="logistic") == [1, 0]).all()
    with pytest.raises(NonFiniteError):
        log_error(activate(z, activation="logistic"), targets=targets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(logistic_log_error(z, targets=targets)[0]) == pytest.approx(110)
        z = Tensor(z)
        (dz,) = backpropagate(logistic_log_error(z, targets=targets)[0], [z])
    np.testing.assert_allclose(dz, [0.5, -0.5], rtol=1e-6)
    with pytest.raises(LabelError, match="between 0 and 1"):
        logistic_log_error(np.zeros(1), targets=np.array([2.0]))


def value_alone(outcome):
    """The error; some count hits too."""
    return float(outcome[0] if isinstance(outcome, tuple) else outcome)


@given(sizes(1, 4), sizes(1, 3), generators())
def test_weighted_errors_have_their_derivatives(rows, columns, rng):
    """Also of a shard, whose total is that of the whole batch"""
    y, targets = rng.uniform(0.05, 0.95, (rows, columns)), rng.choice((0.0, 1.0), (rows, columns))
    weights = rng.uniform(0, 2, rows)
    for error in (mean_squared_error, log_error, logistic_log_error):
        gradient_check(error, y, targets=targets, weights=weights, total=5.0).require()
        whole = value_alone(error(y, targets=targets, weights=weights))
        each = [value_alone(error(y[i : i + 1], targets=targets[i : i + 1])) for i in range(rows)]
        assert whole == pytest.approx(weights @ each / weights.sum(), rel=1e-10)


def test_log_error_of_a_certain_and_right_answer_is_zero():
    y = Tensor(np.array([1.0, 0.0]))
    error, _ = log_error(y, targets=np.array([1.0, 0.0]))
    assert float(error) == 0
    np.testing.assert_array_equal(backpropagate(error, [y])[0], [-0.5, 0.5])


@pytest.mark.parametrize(("y", "targets"), [([1.1], [1.0]), ([-0.1], [0.0]), ([0.5], [2.0]), ([0.5], [-1.0])], ids=str)
def test_log_error_compares_probabilities(y, targets):
    with pytest.raises(LabelError, match="between 0 and 1"):
        log_error(np.array(y), targets=np.array(targets))


@pytest.mark.parametrize(
    "call",
    [
        lambda: cross_entropy(np.array([[np.nan, 0.0]]), targets=np.array([0])),
        lambda: cross_entropy(np.array([[np.inf, 0.0]]), targets=np.array([0])),
        lambda: cross_entropy(np.ones((1, 2)), targets=np.array([0]), weights=np.array([np.nan])),
        lambda: mean_squared_error(np.array([np.inf]), targets=np.zeros(1)),
        lambda: log_error(np.array([np.nan]), targets=np.ones(1)),
        lambda: log_error(np.array([0.0]), targets=np.ones(1)),
    ],
)
def test_an_error_that_is_no_number_stops_the_training(call):
    with pytest.raises(NonFiniteError, match="lower the learning rate"):
        call()


@pytest.mark.parametrize("target", [2, -1])
def test_a_target_outside_the_vocabulary_is_refused(target):
    with pytest.raises(LabelError, match=f"cross_entropy: label {target} .* 1 is not in the vocabulary"):
        cross_entropy(np.ones((2, 2)), targets=np.array([0, target]))


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, np.nan])
def test_smoothing_has_its_range(smoothing):
    with pytest.raises(ConfigurationError, match="at least 0 and below 1"):
        cross_entropy(np.ones((1, 2)), targets=np.array([0]), smoothing=smoothing)


@pytest.mark.ledger("T-4.1-error")
@given(probabilities(3), probabilities(3))
def test_errors_are_never_negative_and_zero_only_at_a_certain_truth(p, q):
    assert (float(mean_squared_error(p, targets=q)) > 0) == (p != q).any()
    assert float(mean_squared_error(p, targets=p)) == 0
    assert float(log_error(q, targets=p)[0]) >= float(log_error(p, targets=p)[0]) > 0.1  # the entropy of p is left
    assert error_of(np.log(p)[None], [1]) > 0
    assert error_of(np.array([[0.0, 800.0, 0.0]]), [1]) == 0
