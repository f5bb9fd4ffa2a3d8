"""Recurrences against the book's equations one step at a time, their derivatives, and how these are truncated."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check, value_of
from dragoman.operations import ACTIVATIONS, gru, linear, lstm, rnn, softmax, take_rows
from dragoman.operations.teaching.jacobians import numerical_jacobian
from tests.operations import recurrences
from tests.operations.recurrences import (
    by_the_book,
    cases,
    derivatives,
    every_kind,
    every_kind_by_its_equations,
    normal,
    one_of_each,
    random_deltas,
    recorded,
)
from tests.strategies import generators, sizes, to_offsets

# --- values ---


def test_every_activation_is_written_out():
    assert set(recurrences.ACTIVATIONS) == set(ACTIVATIONS)


@every_kind_by_its_equations
@given(data=st.data())
def test_values_are_those_of_the_books_equations(kind, data):
    inputs, options = data.draw(cases(kind))
    for found, expected in zip(kind(*inputs, **options), by_the_book(kind, *inputs, **options), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.ledger("B-7.2eq", "B-7.2-out", "B-7.2-state")
@given(generators(), sizes(1, 3), sizes(1, 3), sizes(1, 3), sizes(1, 5))
def test_the_whole_cell_with_inputs_and_outputs(rng, m, p, q, T):
    """(7.2): W_hh [m, m], W_hx [m, p] and W_yh [q, m] act on columns, from the state 0."""
    W_hh, W_hx, W_yh, b_h, b_y, x = normal(rng, [(m, m), (m, p), (q, m), (m,), (q,), (T, p)])
    h, expected = np.zeros(m), []
    for t in range(T):
        h = np.tanh(W_hh @ h + W_hx @ x[t] + b_h)
        e = np.exp(W_yh @ h + b_y)
        expected.append(e / e.sum())
    states, _ = rnn(linear(x, W_hx.T, b_h), W_hh.T, offsets=np.array([0, T]))
    np.testing.assert_allclose(softmax(linear(states, W_yh.T, b_y)), expected, rtol=1e-11)


@pytest.mark.ledger("B-7.2-state")
@one_of_each
@given(data=st.data())
def test_a_state_that_is_not_given_is_zero(kind, data):
    inputs, options = data.draw(cases(kind))
    zero = np.zeros((len(options["offsets"]) - 1, len(inputs[1])))
    filled = [zero if x is None else x for x in inputs]
    for found, expected in zip(kind(*inputs, **options), kind(*filled, **options), strict=True):
        np.testing.assert_array_equal(found, expected)


@one_of_each
@given(data=st.data())
def test_the_final_state_is_that_of_the_last_step(kind, data):
    inputs, options = data.draw(cases(kind))
    _, weights, *others = inputs
    outputs = kind(*inputs, **options)
    for at_rows, final, initial in zip(
        outputs[: kind.states], outputs[kind.states :], others[: kind.states], strict=True
    ):
        for b, (start, stop) in enumerate(pairwise(options["offsets"])):
            before = np.zeros(len(weights)) if initial is None else initial[b]
            last = start if options["reverse"] else stop - 1
            np.testing.assert_array_equal(final[b], before if start == stop else at_rows[last])


@one_of_each
@pytest.mark.parametrize("offsets", [[0], [0, 0, 0]], ids=["no sequences", "empty ones"])
def test_no_rows_at_all(kind, offsets):
    inputs = normal(np.random.default_rng(0), kind.shapes(2, [0] * (len(offsets) - 1)))
    leaves = recorded(inputs)
    outputs = kind(*leaves, offsets=np.array(offsets))
    dx, dweights, *dothers = derivatives(outputs, leaves)
    assert dx.shape == inputs[0].shape
    assert not dweights.any()
    for i, delta in enumerate(random_deltas(outputs)[kind.states :]):  # from the last to the first, untouched
        np.testing.assert_array_equal(outputs[kind.states + i].value, inputs[2 + i])
        np.testing.assert_array_equal(dothers[i], delta)


@one_of_each
@given(data=st.data())
def test_alone_or_together(kind, data):
    """A sequence does not notice which others it is packed with."""
    inputs, options = data.draw(cases(kind))
    x, weights, *others = inputs
    together = kind(*inputs, **options)
    for b, (start, stop) in enumerate(pairwise(options["offsets"])):
        states = [None if state is None else state[b : b + 1] for state in others[: kind.states]]
        own = options | {"offsets": np.array([0, stop - start])}
        alone = kind(x[start:stop], weights, *states, *others[kind.states :], **own)
        parts = [y[start:stop] for y in together[: kind.states]] + [y[b : b + 1] for y in together[kind.states :]]
        for found, expected in zip(alone, parts, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@one_of_each
@given(data=st.data())
def test_in_reverse_is_the_reversed_sequence(kind, data):
    """The second line of (7.14): from the last row to the first, each state at the row it belongs to."""
    (x, *others), options = data.draw(cases(kind))
    starts = options["offsets"]
    flip = np.concatenate([np.arange(start, stop)[::-1] for start, stop in pairwise(starts)])
    backwards = kind(x, *others, offsets=starts, reverse=True)
    forwards = kind(x[flip], *others, offsets=starts)
    for i, (found, expected) in enumerate(zip(backwards, forwards, strict=True)):
        np.testing.assert_array_equal(found, expected[flip] if i < kind.states else expected)


@pytest.mark.ledger("B-7.1eq")
@one_of_each
@given(generators(), sizes(0, 3), st.booleans())
def test_a_state_knows_nothing_of_later_inputs(kind, rng, t, reverse):
    x, *others = normal(rng, kind.shapes(2, [5]))
    changed, later = x.copy(), slice(0, 4 - t) if reverse else slice(t + 1, 5)
    changed[later] += 1 + rng.random(changed[later].shape)
    first, second = (kind(z, *others, offsets=np.array([0, 5]), reverse=reverse)[0] for z in (x, changed))
    moved = (first != second).any(axis=1)
    assert moved[later].all()
    assert moved.sum() == 4 - t


@pytest.mark.ledger("B-7.2-goals")
@one_of_each
def test_the_same_weights_take_any_length_and_notice_the_order(kind):
    x, *others = normal(np.random.default_rng(3), kind.shapes(3, [7]))
    whole, *_ = kind(x, *others, offsets=np.array([0, 7]))
    for T in range(1, 8):
        states, *_ = kind(x[:T], *others, offsets=np.array([0, T]))
        np.testing.assert_allclose(states, whole[:T], rtol=1e-13)
        if T > 1:
            turned, *_ = kind(x[:T][::-1], *others, offsets=np.array([0, T]))
            assert np.abs(turned[-1] - states[-1]).max() > 1e-2


# --- derivatives ---

LENGTHS = {"ragged, one of them empty": [2, 1, 0, 3], "of one step": [1, 1], "one": [4]}


@every_kind_by_its_equations
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_gradient(kind, lengths, reverse):
    for number, given_states in enumerate(product((True, False), repeat=kind.states)):
        inputs = normal(np.random.default_rng(number), kind.shapes(2, lengths, given_states))
        options = {"offsets": to_offsets(lengths), "reverse": reverse, **kind.options}
        report = gradient_check(kind.operation, *inputs, analytic=kind.analytic, **options).require()
        assert len({c.name for c in report.comparisons}) == sum(x is not None for x in inputs)


@every_kind
def test_gradient_of_each_output_alone(kind):
    lengths = [1, 2]
    inputs = normal(np.random.default_rng(0), kind.shapes(2, lengths))
    for i in range(2 * kind.states):

        def one(*inputs, i=i):
            return kind(*inputs, offsets=to_offsets(lengths))[i]

        gradient_check(one, *inputs, analytic=kind.analytic).require()


@pytest.mark.ledger("B-7.2-ffanalogy", "B-F7.3-7.4")
@one_of_each
@given(data=st.data())
def test_a_recurrence_is_a_chain_of_its_steps(kind, data):
    """Unrolled: one operation for each step, all with the same weights. Sequences that have ended wait, empty."""
    inputs, options = data.draw(cases(kind))
    leaves, tied = recorded(inputs), recorded(inputs)
    outputs, steps = kind(*leaves, **options), chain(kind, *tied, **options)
    last, deltas = steps[-1][1][kind.states :], random_deltas(outputs)
    at_steps = [y for _, ys in steps for y in ys[: kind.states]]
    dealt = [delta[rows] for rows, _ in steps for delta in deltas[: kind.states]]
    values = [y.value[rows] for rows, _ in steps for y in outputs[: kind.states]]
    values += [y.value for y in outputs[kind.states :]]
    for found, expected in zip([*at_steps, *last], values, strict=True):
        np.testing.assert_allclose(found.value, expected, rtol=1e-12, atol=1e-14)
    unrolled = derivatives([*at_steps, *last], tied, [*dealt, *deltas[kind.states :]])
    for found, expected in zip(derivatives(outputs, leaves, deltas), unrolled, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def chain(kind, x, weights, *others, offsets, reverse=False):
    """[(the rows of a step, what its operation returned)], each step given the states that the one before left."""
    states, biases = others[: kind.states], others[kind.states :]
    lengths, steps = np.diff(offsets), []
    for t in range(lengths.max()):
        going = lengths > t
        rows = (offsets[1:] - 1 - t if reverse else offsets[:-1] + t)[going]
        outputs = kind(take_rows(x, rows=rows), weights, *states, *biases, offsets=to_offsets(going.tolist()))
        states = outputs[kind.states :]
        steps.append((rows, outputs))
    return steps


@pytest.mark.ledger("B-7.2-adjoint")
@every_kind
def test_adjoints_are_the_derivatives_by_the_states(kind):
    """zeta<t> = dC/dh<t>: what comes back to a state of the chain, against the complex step of all that follows it."""
    T, rng = 5, np.random.default_rng(1)
    x, weights, *others = normal(rng, kind.shapes(2, [T]))
    steps = chain(kind, Tensor(x), Tensor(weights), *others, offsets=np.array([0, T]))
    slopes = rng.standard_normal((T, kind.states, 1, 2))  # of C<t>, by each state of step t
    own = [y for _, outputs in steps for y in outputs[: kind.states]]
    carried = [y for _, outputs in steps for y in outputs[kind.states :]]
    passed = np.reshape(backpropagate(own, carried, slopes.reshape(-1, 1, 2)), slopes.shape)
    states = np.reshape([y.value for y in carried], slopes.shape)

    def loss(state, t):
        """The loss of step t and all later ones, as a function of what step t leaves."""
        total = (slopes[t] * state).sum()
        if t < T - 1:
            later = kind(x[t + 1 :], weights, *state, *others[kind.states :], offsets=np.array([0, T - 1 - t]))
            total += sum((slopes[t + 1 :, i, 0] * later[i]).sum() for i in range(kind.states))
        return total

    for t in range(T):
        exact = numerical_jacobian(lambda state, t=t: loss(state, t), states[t])
        np.testing.assert_allclose(slopes[t] + passed[t], exact, rtol=1e-11, atol=1e-14)


# --- truncated back-propagation ---


@pytest.mark.ledger("B-7.2-tbptt")
@one_of_each
@given(data=st.data())
def test_cut_no_sooner_than_the_end_changes_nothing(kind, data):
    inputs, options = data.draw(cases(kind))
    T, found = int(np.diff(options["offsets"]).max()), []
    for cut in (None, T, T + 2):
        leaves = recorded(inputs)
        found.append(derivatives(kind(*leaves, **options, cut=cut), leaves))
    for full, at_the_end, beyond in zip(*found, strict=True):
        np.testing.assert_array_equal(at_the_end, full)
        np.testing.assert_array_equal(beyond, full)


@pytest.mark.ledger("B-7.2-tbptt", "B-7.9eq")
@given(generators(), st.booleans())
def test_cut_at_every_step_only_immediate_terms_are_left(rng, reverse):
    """(7.9) with the slope of each step's own loss alone."""
    starts, m = np.array([0, 3, 3, 7]), 3
    x, weights, initial, dh, dfinal = normal(rng, [(7, m), (m, m), (3, m), (7, m), (3, m)])
    leaves = recorded([x, weights, initial])
    outputs = rnn(*leaves, offsets=starts, reverse=reverse, cut=1)
    dx, dweights, dinitial = backpropagate(outputs, leaves, [dh, dfinal])

    h, slopes, full = outputs[0].value, dh.copy(), [0, 2]
    first, last = ([2, 6], [0, 3]) if reverse else ([0, 3], [2, 6])
    slopes[last] += dfinal[full]
    before = np.roll(h, -1 if reverse else 1, axis=0)
    before[first] = initial[full]
    immediate = (1 - h * h) * slopes
    np.testing.assert_allclose(dx, immediate, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(dweights, sum(map(np.outer, before, immediate)), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(dinitial[full], immediate[first] @ weights.T, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(dinitial[1], dfinal[1])  # no step stands between them


@pytest.mark.ledger("B-7.2-tbptt")
@one_of_each
@pytest.mark.parametrize("cut", [1, 2, 3])
@settings(max_examples=15)
@given(data=st.data())
def test_cut_is_running_pieces_with_the_state_carried_as_a_plain_array(kind, cut, data):
    inputs, options = data.draw(cases(kind, longest=6))
    leaves = recorded(inputs)
    outputs = kind(*leaves, **options, cut=cut)
    states, expected = in_pieces(kind, inputs, random_deltas(outputs), cut, **options)
    for y, state in zip(outputs[kind.states :], states, strict=True):
        np.testing.assert_allclose(y.value, state, rtol=1e-12, atol=1e-14)
    for ours, theirs in zip(derivatives(outputs, leaves), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def in_pieces(kind, inputs, deltas, size, *, offsets, reverse):
    """The final states and the derivatives by all that is given, every `size` steps an operation of its own."""
    x, weights, *others = inputs
    states, biases = recorded(others[: kind.states]), others[kind.states :]
    lengths, totals = np.diff(offsets), [None if x is None else np.zeros_like(x) for x in inputs]
    for start in range(0, int(lengths.max()), size):
        taken = np.clip(lengths - start, 0, size)
        first = offsets[1:] - start - taken if reverse else offsets[:-1] + start
        rows = np.concatenate([np.arange(row, row + n) for row, n in zip(first, taken, strict=True)])
        ends = np.maximum(lengths - 1, 0) // size == start // size  # here the delta of a final state arrives
        leaves = [Tensor(x[rows]), Tensor(weights), *states, *recorded(biases)]
        outputs = kind(*leaves, offsets=to_offsets(taken.tolist()), reverse=reverse)
        given = [delta[rows] for delta in deltas[: kind.states]] + [d * ends[:, None] for d in deltas[kind.states :]]
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        for i, derivative in zip(places, backpropagate(outputs, [leaves[i] for i in places], given), strict=True):
            totals[i][rows if i == 0 else ...] += derivative
        states = [value_of(y) for y in outputs[kind.states :]]
    return states, [total for total in totals if total is not None]


@pytest.mark.ledger("B-7.2-tbptt")
@one_of_each
def test_a_cut_keeps_values_and_loses_what_is_far(kind):
    inputs, found = normal(np.random.default_rng(0), kind.shapes(3, [6])), []
    for cut in (None, 2):
        leaves = recorded(inputs)
        outputs = kind(*leaves, offsets=np.array([0, 6]), cut=cut)
        found.append(([y.value for y in outputs], derivatives(outputs, leaves)))
    (values, full), (same, short) = found
    for y, cut_y in zip(values, same, strict=True):
        np.testing.assert_array_equal(cut_y, y)
    np.testing.assert_array_equal(short[0][4:], full[0][4:])  # the last piece is whole
    assert (np.abs(short[0][:4] - full[0][:4]).max(axis=1) > 1e-6).all()
    assert np.abs(short[1] - full[1]).max() > 1e-2


# --- errors ---

X, SQUARE = np.ones((5, 2)), np.ones((2, 2))
X3, THREE, X4, FOUR = np.ones((5, 6)), np.ones((2, 6)), np.ones((5, 8)), np.ones((2, 8))
STATES = np.ones((3, 2))


@pytest.mark.parametrize(
    ("operation", "inputs", "message"),
    [
        (rnn, [X, np.ones((2, 3))], r"rnn: x \[N, m\] has shape \(5, 2\), but weights .* differ in m \(2 and 3\)"),
        (rnn, [X[0], SQUARE], r"rnn: x has shape \(2,\), expected \[N, m\]"),
        (rnn, [X, SQUARE, np.ones((3, 1))], r"rnn: .* initial \[B, m\] has shape \(3, 1\): they differ in m"),
        (rnn, [X, SQUARE, STATES[:2]], "2 initial states for 3 sequences"),
        (lstm, [X3, FOUR], r"lstm: weights \[m, k\] has shape \(2, 8\), but x .* differ in k \(8 and 6\)"),
        (lstm, [X3, THREE], r"lstm: weights has shape \(2, 6\), expected \[m, 4 m\]"),
        (lstm, [X4, FOUR, STATES, STATES[:2]], r"lstm: initial .* initial_cell .* differ in B \(3 and 2\)"),
        (lstm, [X4, FOUR, STATES, np.ones((3, 8))], r"lstm: .* initial_cell .* differ in m \(2 and 8\)"),
        (lstm, [X4, FOUR, None, STATES[:2]], "2 initial states for 3 sequences"),
        (gru, [X4, FOUR], r"gru: weights has shape \(2, 8\), expected \[m, 3 m\]"),
        (gru, [X3, THREE, np.ones((4, 2))], "gru: 4 initial states for 3 sequences"),
        (gru, [X3, THREE, None, np.ones(6)], r"gru: .* biases \[m\] has shape \(6,\): they differ in m \(2 and 6\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(operation, inputs, message):
    with pytest.raises(ShapeError, match=message):
        operation(*inputs, offsets=np.array([0, 2, 2, 5]))


@one_of_each
@pytest.mark.parametrize("cut", [0, -1])
def test_a_cut_must_leave_a_step(kind, cut):
    inputs = normal(np.random.default_rng(0), kind.shapes(2, [3]))
    with pytest.raises(ConfigurationError, match=rf"{kind.operation.name}: .* every 1 or more steps, got {cut}"):
        kind(*inputs, offsets=np.array([0, 3]), cut=cut)


@one_of_each
@pytest.mark.parametrize(
    ("offsets", "message"),
    [([0, 2], r"x has shape \(3, \d\), but the offsets end at 2"), ([0, 4, 3], r"rise from 0, got \[0 4 3\]")],
)
def test_sequences_must_cover_the_rows(kind, offsets, message):
    x, weights, *_ = normal(np.random.default_rng(0), kind.shapes(2, [3]))
    with pytest.raises(ShapeError, match=f"{kind.operation.name}: .*{message}"):
        kind(x, weights, offsets=np.array(offsets))


def test_an_unknown_activation_is_refused():
    with pytest.raises(ConfigurationError, match="unknown activation 'swish'"):
        rnn(X, SQUARE, offsets=np.array([0, 5]), activation="swish")
