"""What the gates of an LSTM and a GRU promise: open, closed, and how far a state can go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.graph import backpropagate
from dragoman.operations import gru, lstm, rnn
from tests.operations.recurrences import derivatives, every_kind, normal, recorded, sigmoid
from tests.strategies import generators, sizes

OPEN, CLOSED = 1000.0, -1000.0  # what makes a gate exactly 1 or 0
TWO, EACH = np.array([0, 3, 5]), np.arange(6)  # five rows: two sequences, or every row by itself
scales = st.sampled_from((0.1, 1.0, 10.0))


def block(number, m):
    return slice(number * m, (number + 1) * m)


def gated(rng, m, *gates, scale=1.0):
    """x and weights of five rows; a gate is held at the number given for it, None leaves it free."""
    width = (len(gates) + 1) * m
    x, weights = (scale * y for y in normal(rng, [(5, width), (m, width)]))
    for number, value in enumerate(gates):
        if value is not None:
            x[:, block(number, m)], weights[:, block(number, m)] = value, 0
    return x, weights


def before(states, initial):
    """The state each row of TWO starts from."""
    return np.concatenate((initial[:1], states[:2], initial[1:], states[3:4]))


@pytest.mark.ledger("B-7.16eq", "B-7.3-gates")
@given(generators(), sizes())
def test_an_lstm_that_forgets_nothing_and_takes_nothing_keeps_its_memory_exactly(rng, m):
    x, weights = gated(rng, m, OPEN, CLOSED, None)
    initial, memory, delta = normal(rng, [(2, m)] * 3)
    leaves = recorded([x, weights, initial, 10 * memory])
    outputs = lstm(*leaves, offsets=TWO)
    np.testing.assert_array_equal(outputs[1].value, np.repeat(10 * memory, [3, 2], axis=0))
    np.testing.assert_array_equal(outputs[3].value, 10 * memory)
    _, _, dinitial, dmemory = backpropagate(outputs, leaves, [None, None, None, delta])
    np.testing.assert_array_equal(dmemory, delta)  # neither vanishes nor explodes
    assert not dinitial.any()


@pytest.mark.ledger("B-7.16eq", "B-7.3-gates")
@given(generators(), sizes())
def test_an_lstm_that_forgets_everything_has_no_past_memory(rng, m):
    x, weights = gated(rng, m, CLOSED, OPEN, None)
    initial, memory = normal(rng, [(2, m)] * 2)
    h, c, *_ = lstm(x, weights, initial, 10 * memory, offsets=TWO)
    new = block(3, m)
    np.testing.assert_allclose(c, np.tanh(x[:, new] + before(h, initial) @ weights[:, new]), rtol=1e-11, atol=1e-14)


@pytest.mark.ledger("B-7.16eq", "B-7.3-gates")
@given(generators(), sizes(), st.booleans())
def test_an_lstm_shows_its_memory_through_the_output_gate(rng, m, closed):
    x, weights = gated(rng, m, None, None, CLOSED if closed else OPEN)
    h, c, *_ = lstm(x, weights, offsets=TWO)
    assert c.all()
    np.testing.assert_array_equal(h, 0 * c if closed else np.tanh(c))


@pytest.mark.ledger("B-7.17eq", "B-7.3-gates")
@given(generators(), sizes(), st.sampled_from((0.1, 1.0, 3.0)))
def test_the_gates_of_an_lstm_lie_between_0_and_1(rng, m, scale):
    """One step shows them: an old memory of 1 and nothing new leaves g_f, none and tanh(20) = 1 leaves g_i."""
    x, weights = gated(rng, m, None, None, None, scale=scale)
    initial, new = rng.standard_normal((5, m)), block(3, m)
    x[:, new], weights[:, new] = 0, 0
    _, forget, *_ = lstm(x, weights, initial, np.ones((5, m)), offsets=EACH)
    x[:, new] = 20
    h, take, *_ = lstm(x, weights, initial, offsets=EACH)
    for number, gate in enumerate((forget, take, h / np.tanh(take))):
        assert ((gate > 0) & (gate < 1)).all()
        sums = x[:, block(number, m)] + initial @ weights[:, block(number, m)]
        np.testing.assert_allclose(gate, sigmoid(sums), rtol=1e-11)


@pytest.mark.ledger("B-7.3-lstm1")
@given(generators(), sizes(), scales)
def test_what_an_lstm_newly_writes_is_at_most_1(rng, m, scale):
    x, weights = gated(rng, m, None, None, None, scale=scale)
    initial, memory = normal(rng, [(2, m)] * 2)
    h, c, *_ = lstm(x, weights, initial, 50 * memory, offsets=TWO)
    forget = sigmoid(x[:, :m] + before(h, initial) @ weights[:, :m])
    assert np.abs(c - forget * before(c, 50 * memory)).max() <= 1 + 1e-13


@pytest.mark.ledger("B-7.3-lstm1")
def test_what_an_lstm_forgets_can_be_more_than_1():
    """In the book the memory moves by at most 1 (E-B14); from 50, with a forget gate of 0.001, it falls to below 1."""
    x = np.array([[np.log(0.001 / 0.999), 0.0, 0.0, 0.5]])
    _, c, *_ = lstm(x, np.zeros((1, 4)), None, np.array([[50.0]]), offsets=np.array([0, 1]))
    assert c[0, 0] == pytest.approx(0.05 + np.tanh(0.5) / 2, rel=1e-12)


@pytest.mark.ledger("B-7.18eq", "B-7.3-gates")
@given(generators(), sizes(), st.booleans())
def test_a_gru_that_updates_nothing_keeps_its_state_exactly(rng, m, after):
    x, weights = gated(rng, m, None, CLOSED)
    initial, delta, biases = normal(rng, [(2, m), (2, m), (m,)])
    leaves = recorded([x, weights, 10 * initial, *([biases] if after else [])])
    outputs = gru(*leaves, offsets=TWO)
    np.testing.assert_array_equal(outputs[0].value, np.repeat(10 * initial, [3, 2], axis=0))
    np.testing.assert_array_equal(outputs[1].value, 10 * initial)
    _, dweights, dinitial, *_ = backpropagate(outputs, leaves, [None, delta])
    np.testing.assert_array_equal(dinitial, delta)
    assert not dweights.any()


@pytest.mark.ledger("B-7.18eq", "B-7.3-gates")
@given(generators(), sizes(), st.booleans())
def test_a_gru_that_updates_everything_and_resets_is_without_past(rng, m, after):
    x, weights = gated(rng, m, CLOSED, OPEN)
    initial, biases = normal(rng, [(2, m), (m,)])
    h, _ = gru(x, weights, initial, *([biases] if after else []), offsets=TWO)
    np.testing.assert_allclose(h, np.tanh(x[:, block(2, m)]), rtol=1e-12)


@pytest.mark.ledger("B-7.18eq", "B-7.3-gates")
@pytest.mark.parametrize("after", [False, True])
@given(generators(), sizes())
def test_a_gru_with_both_gates_open_is_a_simple_recurrence(after, rng, m):
    x, weights = gated(rng, m, OPEN, OPEN)
    initial, biases = normal(rng, [(2, m), (m,)])
    new, shift = block(2, m), biases if after else 0
    expected = rnn(x[:, new] + shift, weights[:, new], initial, offsets=TWO)
    found = gru(x, weights, initial, *([biases] if after else []), offsets=TWO)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.ledger("B-7.19eq", "B-7.3-gates")
@given(generators(), sizes(), st.sampled_from((0.1, 1.0, 3.0)))
def test_the_gates_of_a_gru_lie_between_0_and_1(rng, m, scale):
    """One step shows them: with nothing new 1 - g_u is left of the old state; g_r stands inside the tanh."""
    x, weights = gated(rng, m, None, None, scale=scale)
    initial, new = rng.uniform(0.5, 1, (5, m)), block(2, m)
    reset, update = (sigmoid(x[:, block(i, m)] + initial @ weights[:, block(i, m)]) for i in range(2))
    x[:, new], weights[:, new] = 0, 0
    kept = gru(x, weights, initial, offsets=EACH)[0] / initial
    x[:, block(1, m)], weights[:, block(1, m)], weights[:, new] = OPEN, 0, np.eye(m)
    inside = np.arctanh(gru(x, weights, initial, offsets=EACH)[0]) / initial
    for found, expected in ((kept, 1 - update), (inside, reset)):
        assert ((found > 0) & (found < 1)).all()
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.ledger("B-7.18eq")
@given(generators(), sizes(), scales, st.booleans())
def test_a_gru_that_starts_within_1_stays_there(rng, m, scale, after):
    x, weights = gated(rng, m, None, None, scale=scale)
    biases = [scale * rng.standard_normal(m)] if after else []
    for limit in (1.0, 3.0):  # what it starts from beyond 1 it does not exceed either
        h, _ = gru(x, weights, rng.uniform(-limit, limit, (2, m)), *biases, offsets=TWO)
        assert np.abs(h).max() <= limit + 1e-14


@every_kind
def test_saturated_sums_stay_finite(kind):
    """Sums of 10^4 and more; activations without bounds get weights that do not let them grow."""
    inputs = [1e4 * x for x in normal(np.random.default_rng(0), kind.shapes(3, [4, 2]))]
    if kind.options.get("activation") in ("identity", "relu", "gelu"):
        inputs[1] /= 1e4
    leaves = recorded(inputs)
    outputs = kind(*leaves, offsets=np.array([0, 4, 6]))
    assert all(np.isfinite(y.value).all() for y in outputs)
    assert all(np.isfinite(d).all() for d in derivatives(outputs, leaves))
