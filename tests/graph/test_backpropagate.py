"""Algorithm 4.10: the right sum of deltas, in the right order, on any acyclic graph."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import GraphError, ShapeError
from dragoman.graph import Parameter, Tensor, Theta, backpropagate, gradient_check, operation
from dragoman.operations import activate, add, attend, cross_entropy, embed, linear, mean_squared_error
from tests.strategies import arrays, generators, sizes
from tests.waiting import LONGEST


@operation
def multiply(x1, x2):
    return x1 * x2, lambda dy: (dy * x2, dy * x1)


@operation
def waves(x):
    """Two outputs of one input; either may stay unused."""

    def backward(dsine, dcosine):
        dx = np.zeros_like(x)
        if dsine is not None:
            dx += np.cos(x) * dsine
        if dcosine is not None:
            dx -= np.sin(x) * dcosine
        return dx

    return (np.sin(x), np.cos(x)), backward


@operation
def traced_sum(*inputs, name, log):
    def backward(dy):
        log.append(name)
        return tuple(dy for _ in inputs)

    return sum(inputs), backward


@st.composite
def programs(draw):
    """A random graph on two inputs: steps (operation, first argument, second argument), and which values come out."""
    steps, count = [], 2
    for _ in range(draw(sizes(1, 7))):
        name = draw(st.sampled_from(("add", "multiply", "tanh", "waves")))
        steps.append((name, draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))))
        count += 2 if name == "waves" else 1
    return steps, sorted(draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3)))


def run(program, *inputs):
    steps, outputs = program
    values = list(inputs)
    for name, i, j in steps:
        if name == "waves":
            values.extend(waves(values[i]))
        elif name == "tanh":
            values.append(activate(values[i], activation="tanh"))
        else:
            values.append({"add": add, "multiply": multiply}[name](values[i], values[j]))
    return tuple(values[i] for i in outputs)


@pytest.mark.ledger("T-3.1-compose", "T-A4.10-step1", "T-A4.10-step3", "N-2-backprop")
@settings(max_examples=100)
@given(programs(), arrays(2, 2), arrays(2, 2))
def test_gradient_of_any_graph(program, x1, x2):
    gradient_check(lambda a, b: run(program, a, b), x1, x2).require()


def chain(x, w1, b1, w2, b2):
    return linear(linear(x, w1, b1, activation="tanh"), w2, b2)


def tangled(x1, x2, w, v):
    """Two inputs; `hidden` and the weights w feed two consumers each."""
    hidden = linear(x1, w, activation="tanh")
    other = linear(x2, v)
    left = multiply(hidden, other)
    return add(linear(left, w), activate(hidden, activation="logistic"))


@pytest.mark.ledger("T-F1", "T-3.1-compose", "N-3.1-chain", "T-A4.10-step2", "T-A4.10-step3", "N-2-backprop")
@given(generators())
def test_chain_and_tangled_graph(rng):
    x, w1, b1, w2, b2 = (rng.standard_normal(shape) for shape in ((3, 2), (2, 4), (4,), (4, 2), (2,)))
    np.testing.assert_allclose(chain(x, w1, b1, w2, b2), np.tanh(x @ w1 + b1) @ w2 + b2, rtol=1e-13)
    gradient_check(chain, x, w1, b1, w2, b2).require()

    x1, x2, w, v = (rng.standard_normal(shape) for shape in ((3, 2), (3, 2), (2, 2), (2, 2)))
    hidden = np.tanh(x1 @ w)
    by_hand = (hidden * (x2 @ v)) @ w + 1 / (1 + np.exp(-hidden))
    np.testing.assert_allclose(tangled(x1, x2, w, v), by_hand, rtol=1e-12, atol=1e-14)
    gradient_check(tangled, x1, x2, w, v).require()


def attention_block(as_queries, as_context, as_residual, weights):
    wq, wk, wv = weights
    options = {"offsets": np.array([0, 4]), "heads": 2}
    mixed = attend(linear(as_queries, wq), linear(as_context, wk), linear(as_context, wv), **options)
    return add(mixed, as_residual)


@pytest.mark.ledger("T-A4.10-step1")
def test_consumers_add_up_and_none_may_be_dropped():
    rng = np.random.default_rng(1)
    x, *weights = (rng.standard_normal(shape) for shape in ((4, 4), (4, 4), (4, 4), (4, 4)))
    gradient_check(lambda x: attention_block(x, x, x, weights), x).require()

    delta = rng.standard_normal((4, 4))
    shared = Tensor(x)
    (whole,) = backpropagate(attention_block(shared, shared, shared, weights), [shared], [delta])
    paths = []
    for consumer in range(3):
        roles = [Tensor(x) if role == consumer else x for role in range(3)]
        paths += backpropagate(attention_block(*roles, weights), [roles[consumer]], [delta])
    np.testing.assert_allclose(whole, sum(paths), rtol=1e-12)
    for path in paths:
        assert abs(path).max() > 0.1 * abs(whole).max()  # leaving any one out would show


@st.composite
def wirings(draw):
    """Nodes 1, 2, ... with the earlier nodes each one takes; 0 is the input."""
    count = draw(sizes(1, 8))
    return {n: draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3)) for n in range(1, count + 1)}


@pytest.mark.ledger("T-A4.10-order")
@given(wirings())
def test_every_node_once_and_after_all_its_consumers(wiring):
    log, values = [], {0: Tensor(np.ones(1))}
    for name, producers in wiring.items():
        values[name] = traced_sum(*(values[p] for p in producers), name=name, log=log)
    last = max(wiring)
    (derivative,) = backpropagate(values[last], [values[0]])

    reached, ways = {last}, {last: 1}
    for name in range(last, 0, -1):  # count the paths from the output to each node by hand
        for producer in wiring[name] if name in reached else ():
            reached.add(producer)
            ways[producer] = ways.get(producer, 0) + ways[name]
    assert sorted(log) == sorted(reached - {0})
    for consumer in log:
        for producer in set(wiring[consumer]) - {0}:
            assert log.index(consumer) < log.index(producer)
    assert derivative == ways[0]


def test_a_long_chain_needs_no_recursion():
    x = Tensor(np.ones(1))
    y = x
    for _ in range(5000):
        y = add(y, np.ones(1))
    assert backpropagate(y, [x]) == [1.0]


def test_an_unused_output_gets_none():
    received = []

    @operation
    def pair(x):
        def backward(*deltas):
            received.extend(deltas)
            return 2 * deltas[1]

        return (x + 1, 2 * x), backward

    x = Tensor(np.ones(2))
    _, doubled = pair(x)
    (dx,) = backpropagate(doubled, [x], [np.array([3.0, 5.0])])
    assert received[0] is None
    np.testing.assert_array_equal(received[1], [3, 5])
    np.testing.assert_array_equal(dx, [6, 10])


def test_several_outputs_are_weighted_by_their_deltas():
    x = Tensor(np.array([0.3, -0.7]))
    sine, cosine = waves(x)
    outputs = {sine: np.array([2.0, 3.0]), multiply(x, x): np.array([5.0, 7.0]), cosine: None, add(x, x): None}
    (dx,) = backpropagate(list(outputs), [x], list(outputs.values()))
    np.testing.assert_allclose(dx, [2, 3] * np.cos(x.value) + [5, 7] * (2 * x.value))


@pytest.mark.ledger("T-A4.10-outdelta")
@pytest.mark.parametrize(
    ("outputs", "deltas", "message"),
    [
        (lambda y: y, None, r"scalar.*\(2, 2\).*error function"),
        (lambda y: [y, y], [np.ones((2, 2))], "2 outputs but 1 deltas"),
    ],
)
def test_where_back_propagation_may_start(outputs, deltas, message):
    x = Tensor(np.ones((2, 2)))
    with pytest.raises(GraphError, match=message):
        backpropagate(outputs(multiply(x, x)), [x], deltas)
    error = mean_squared_error(multiply(x, x), targets=np.zeros((2, 2)))
    np.testing.assert_allclose(backpropagate(error, [x])[0], np.ones((2, 2)))  # 4 x^3 / n: it starts from 1


def test_intermediate_values_have_derivatives_too():
    rng = np.random.default_rng(2)
    x, w, v = Tensor(rng.standard_normal((3, 2))), rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
    hidden = activate(linear(x, w), activation="tanh")
    left, right = linear(hidden, v), multiply(hidden, hidden)
    y = add(left, right)
    delta = rng.standard_normal((3, 2))
    dy, dhidden, dx, nothing = backpropagate(y, [y, hidden, x, Tensor(np.ones(4))], [delta])
    np.testing.assert_array_equal(dy, delta)
    np.testing.assert_allclose(dhidden, delta @ v.T + 2 * hidden.value * delta)
    np.testing.assert_allclose(dx, (dhidden * (1 - hidden.value**2)) @ w.T)
    np.testing.assert_array_equal(nothing, np.zeros(4))  # nothing depends on it


@pytest.mark.ledger("T-A4.10-step3")
def test_data_and_frozen_parameters_get_no_derivative():
    x, w = np.ones((2, 2)), Parameter(np.eye(2))
    frozen, b = Parameter(np.full((2, 2), 0.5)), Parameter(np.zeros(2))
    frozen.frozen = True
    theta = Theta([w, frozen, b])
    gradient = backpropagate(linear(linear(x, w), frozen, b), theta, [np.ones((2, 2))])
    np.testing.assert_array_equal(theta.view(gradient, frozen), 0)
    np.testing.assert_array_equal(theta.view(gradient, w), np.full((2, 2), 2.0))  # still flows through frozen weights
    np.testing.assert_array_equal(theta.view(gradient, b), [2, 2])


@pytest.mark.ledger("T-4.27", "T-A4.10-step3")
def test_an_embedding_is_where_back_propagation_ends():
    table, labels = Parameter(np.eye(3)), np.array([2, 0])
    hidden = embed(table, labels=labels)
    error, _ = cross_entropy(hidden, targets=labels)
    assert [x for x in hidden.node.inputs if x is not None] == [table]  # labels are no input to differentiate by
    (dtable,) = backpropagate(error, [table])
    assert dtable[[0, 2]].all()
    assert not dtable[1].any()


@pytest.mark.ledger("T-A4.10-step2", "T-A4.10-step1")
def test_gradient_is_laid_out_like_theta_with_shared_parameters_summed():
    rng = np.random.default_rng(3)
    w, b, unused = (Parameter(rng.standard_normal(shape)) for shape in ((3, 3), (3,), (2,)))
    theta = Theta([unused, w, b])
    x, delta = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))

    def network():
        return linear(linear(x, w, b, activation="tanh"), w, b)

    one_by_one = backpropagate(network(), [unused, w, b], [delta])
    buffer = np.full(len(theta), np.nan)
    gradient = backpropagate(network(), theta, [delta], into=buffer)
    assert gradient is buffer
    np.testing.assert_array_equal(gradient, np.concatenate([part.ravel() for part in one_by_one]))
    np.testing.assert_array_equal(gradient, backpropagate(network(), theta, [delta]))
    hidden = np.tanh(x @ w.value + b.value)
    np.testing.assert_allclose(
        theta.view(gradient, b), delta.sum(0) + ((delta @ w.value.T) * (1 - hidden**2)).sum(0), rtol=1e-12
    )


def test_gradient_has_the_precision_of_theta():
    w = Parameter(np.ones((2, 2), np.float32))
    theta = Theta([w])
    gradient = backpropagate(linear(np.ones((1, 2), np.float32), w), theta, [np.ones((1, 2))])
    assert gradient.dtype == np.float32


def test_precisions_that_were_mixed_are_noticed():
    w = Parameter(np.ones((2, 2), np.float32))
    with pytest.raises(GraphError, match="float32 and float64 were mixed"):
        backpropagate(linear(np.ones((1, 2)), w), Theta([w]), [np.ones((1, 2))])


def test_inputs_of_a_node_are_released_with_it():
    x = Tensor(np.ones(3))
    hidden = activate(x, activation="tanh")
    value = weakref.ref(hidden.value)
    y = activate(hidden, activation="relu")
    del hidden
    assert value() is not None
    backpropagate(y, [x], [np.ones(3)])
    assert value() is None


def test_a_recorded_pass_is_consumed_once():
    x = Tensor(np.ones(1))
    hidden = activate(x, activation="tanh")
    y = multiply(hidden, hidden)
    backpropagate(y, [x])
    with pytest.raises(GraphError, match=r"multiply was already back-propagated.*run the forward pass again"):
        backpropagate(y, [x])
    with pytest.raises(GraphError, match="activate was already back-propagated"):
        backpropagate(multiply(hidden, np.ones(1)), [x])


def test_what_a_closure_saved_is_released_as_soon_as_it_is_used():
    saved, alive = [], []

    @operation
    def remember(x):
        kept = x + 1
        saved.append(weakref.ref(kept))

        def backward(dy):
            alive.append([reference() is not None for reference in saved])
            return dy * kept

        return x * 1, backward

    x = Tensor(np.ones(3))
    y = remember(remember(x))
    backpropagate(y, [x], [np.ones(3)])
    assert alive == [[True, True], [True, False]]  # the later one is gone before the earlier one runs
    assert [reference() for reference in saved] == [None, None]


@pytest.mark.ledger("T-1.2-jacnotation")
def test_a_derivative_of_the_wrong_shape_is_refused():
    @operation
    def careless(x):
        return x * 1, lambda dy: dy.sum(axis=0)

    x = Tensor(np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2, 3\)"):
        backpropagate(careless(x), [x], [np.ones((2, 3))])


def test_passes_are_recorded_in_pool_threads():
    rng = np.random.default_rng(4)
    w = Parameter(rng.standard_normal((3, 3)))
    theta, x, together = Theta([w]), rng.standard_normal((8, 3)), threading.Barrier(4)

    def one_pass(rows):
        hidden = linear(rows, w, activation="tanh")
        together.wait(timeout=LONGEST)  # all four are recorded before any is back-propagated
        return backpropagate(linear(hidden, w), theta, [np.ones_like(rows)])

    with ThreadPoolExecutor(4) as pool:
        shards = list(pool.map(one_pass, np.split(x, 4)))
    together = threading.Barrier(1)
    np.testing.assert_allclose(sum(shards), one_pass(x), rtol=1e-12)


def test_a_plain_array_has_nothing_to_go_back_through():
    with pytest.raises(GraphError, match="nothing was recorded"):
        backpropagate(linear(np.ones((1, 2)), np.ones((2, 1))), [])


def test_a_gradient_goes_into_a_vector_of_its_own_length():
    x = Parameter(np.ones(2))
    theta = Theta([x])
    with pytest.raises(ShapeError, match=r"into has shape \(3,\), theta has shape \(2,\)"):
        backpropagate(mean_squared_error(x, targets=np.zeros(2)), theta, into=np.zeros(3))
