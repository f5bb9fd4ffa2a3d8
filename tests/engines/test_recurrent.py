"""The recurrences on kernels: what the definitions compute, forward and backward, for every option."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import operations
from dragoman.errors import DragomanError
from dragoman.graph import Array, Parameter, Tensor, Theta, backpropagate, use_engine
from tests.strategies import generators, lengths, offsets, to_offsets

pytest.importorskip("numba")
import dragoman.engines.numba  # noqa: F401
from dragoman.engines.numba.gemm import blas
from tests.engines.test_numba_operations import KINDS, assert_same, both, drawn

BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}
ACTIVATIONS = ["tanh", "logistic", "relu", "gelu", "identity"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_name = pytest.mark.parametrize("name", BLOCKS)
some = settings(max_examples=40)


def inputs_of(name: str, rng: np.random.Generator, kind: Any, ends: Array, m: int, given_: tuple[bool, bool]) -> Any:
    """x, weights, and what may be left out: the initial state, then the initial cell or the biases."""
    width, samples = BLOCKS[name] * m, len(ends) - 1
    weights = (drawn(rng, kind, m, width) / np.sqrt(m)).astype(kind)
    inputs = [drawn(rng, kind, int(ends[-1]), width), weights]
    shapes = {"rnn": [(samples, m)], "lstm": [(samples, m)] * 2, "gru": [(samples, m), (m,)]}[name]
    return inputs + [drawn(rng, kind, *shape) if g else None for shape, g in zip(shapes, given_, strict=False)]


def compared(name: str, inputs: Any, used: list[bool], rng: np.random.Generator, **options: Any) -> None:
    """Both with the same deltas, those of unused outputs missing."""
    operation, kind = getattr(operations, name), inputs[1].dtype.type
    values, _ = operation.definition(*inputs, **options)
    deltas = tuple(drawn(rng, kind, *v.shape) if u else None for v, u in zip(values, used, strict=False))
    assert_same(both(operation, *inputs, deltas=deltas, **options), kind)


@every_kind
@every_name
@some
@given(
    rng=generators(),
    ends=st.one_of(offsets(high=6), offsets(count=9, high=4), offsets(count=3, high=1)),
    m=st.sampled_from([1, 3, 8, 16, 21]),
    given_=st.tuples(st.booleans(), st.booleans()),
    used=st.lists(st.booleans(), min_size=4, max_size=4),
    reverse=st.booleans(),
    cut=st.sampled_from([None, 1, 2, 3]),
)
def test_values_and_derivatives(name, kind, rng, ends, m, given_, used, reverse, cut):
    compared(name, inputs_of(name, rng, kind, ends, m, given_), used, rng, offsets=ends, reverse=reverse, cut=cut)


@every_kind
@pytest.mark.parametrize("activation", ACTIVATIONS)
@settings(max_examples=12)
@given(rng=generators(), ends=offsets(count=4, high=5), m=st.sampled_from([2, 11, 16]), reverse=st.booleans())
def test_activations(activation, kind, rng, ends, m, reverse):
    inputs = inputs_of("rnn", rng, kind, ends, m, (True, False))
    compared("rnn", inputs, [True, True], rng, offsets=ends, reverse=reverse, activation=activation)


@every_name
@pytest.mark.parametrize("samples", [*range(1, 14), 96, 97, 200])
def test_any_number_of_sequences_at_a_step(name, samples):
    """Tiles of 1 to 6 rows, and blocks of them."""
    rng = np.random.default_rng(samples)
    ends = to_offsets([3] * samples)
    inputs = inputs_of(name, rng, np.float32, ends, 24, (False, True))
    compared(name, inputs, [True] * 4, rng, offsets=ends)


@every_kind
@every_name
@pytest.mark.parametrize("ends", [[0], [0, 0], [0, 0, 0, 0], [0, 1], [0, 0, 1, 1, 2]])
@pytest.mark.parametrize("given_", [(False, False), (True, True)])
def test_hardly_anything(name, kind, ends, given_):
    rng, ends = np.random.default_rng(0), np.array(ends)
    compared(name, inputs_of(name, rng, kind, ends, 5, given_), [True] * 4, rng, offsets=ends)


@every_name
@settings(max_examples=10)
@given(rng=generators(), ragged=lengths(5, 0, 6))
def test_a_sequence_is_the_same_alone_and_among_others(name, rng, ragged):
    ends = to_offsets(ragged)
    x, weights, *rest = inputs_of(name, rng, np.float32, ends, 12, (True, False))
    faster = getattr(operations, name)._faster["numba"]
    h = faster(x, weights, *rest, offsets=ends)[0][0]
    for s, length in enumerate(ragged):
        rows = slice(ends[s], ends[s + 1])
        alone = faster(x[rows], weights, rest[0][s : s + 1], *rest[1:], offsets=np.array([0, length]))[0][0]
        np.testing.assert_allclose(h[rows], alone, atol=1e-6)


@every_kind
@every_name
@pytest.mark.parametrize("given_", [(False, False), (True, True)])
def test_gradients_are_written_where_they_belong(numba, monkeypatch, name, kind, given_):
    """Through the graph, into one vector, and by the kernels: the definition is not asked."""
    rng, ends = np.random.default_rng(1), to_offsets([4, 0, 2, 5])
    operation, arrays = getattr(operations, name), inputs_of(name, rng, kind, ends, 6, given_)
    delta = drawn(rng, kind, int(ends[-1]), 6)

    def gradient() -> Array:
        x, *parameters = (None if a is None else Parameter(a.copy()) for a in arrays)
        theta = Theta([x, *(p for p in parameters if p is not None)])
        into = np.full_like(theta.values, np.nan)
        h = operation(x, *parameters, offsets=ends)[0]
        return backpropagate([h], theta, [delta], into)

    use_engine("numpy")
    expected = gradient()
    use_engine("numba")

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the definition ran")

    monkeypatch.setattr(operation, "definition", refuse)
    np.testing.assert_allclose(gradient(), expected, atol=1e-5 if kind == np.float32 else 1e-12)


def test_weights_used_twice_add_up(numba):
    """The second derivative of a shared matrix is added to the first, which was written in place."""
    rng, ends = np.random.default_rng(2), to_offsets([3, 2])
    x, w, delta = drawn(rng, np.float64, 5, 4), drawn(rng, np.float64, 4, 4) / 2, drawn(rng, np.float64, 5, 4)

    def gradient() -> Array:
        weights = Parameter(w.copy())
        theta = Theta([weights])
        below, _ = operations.rnn(Tensor(x), weights, offsets=ends)
        h, _ = operations.rnn(below, weights, offsets=ends, reverse=True)
        return backpropagate([h], theta, [delta])

    ours = gradient()
    use_engine("numpy")
    np.testing.assert_allclose(ours, gradient(), atol=1e-12)


@pytest.mark.parametrize(("activation", "slack"), [("tanh", 4e-7), ("logistic", 3e-7)])
def test_curves_in_single_precision(activation, slack):
    """To a few units of the last place, relative to the value, down to the smallest and up to where they are flat."""
    x = np.concatenate([s * np.geomspace(1e-20, 80, 20_001) for s in (1, -1)] + [np.linspace(-9, 9, 20_003)])
    x = x.astype(np.float32).reshape(-1, 5)
    (y, _), _ = operations.rnn._faster["numba"](
        x, np.zeros((5, 5), np.float32), offsets=to_offsets([len(x)]), activation=activation
    )
    exact = x.astype(np.float64)
    exact = np.tanh(exact) if activation == "tanh" else 1 / (1 + np.exp(-exact))
    np.testing.assert_allclose(y, exact, rtol=slack)
    assert np.abs(y).max() <= 1


@every_kind
@every_name
@pytest.mark.parametrize("size", [30.0, 1e4])
def test_saturated_gates(name, kind, size):
    rng, ends = np.random.default_rng(3), to_offsets([4, 2, 3])
    inputs = inputs_of(name, rng, kind, ends, 9, (True, False))
    inputs[0] *= kind(size)
    with np.errstate(over="ignore", under="ignore"):
        compared(name, inputs, [True] * 4, rng, offsets=ends)


@every_kind
@every_name
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 9, -1])
def test_what_is_no_number_is_not_hidden(name, kind, bad, column):
    rng, ends = np.random.default_rng(4), to_offsets([3, 3])
    inputs = inputs_of(name, rng, kind, ends, 19, (False, False))
    inputs[0][1, column] = bad
    with np.errstate(invalid="ignore", over="ignore"):
        theirs = getattr(operations, name).definition(*inputs, offsets=ends)[0]
    ours = getattr(operations, name)._faster["numba"](*inputs, offsets=ends)[0]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_relu_does_not_hide_it_either_and_has_no_slope_at_0():
    x = np.array([[np.nan, -1, 2], [0, -np.inf, np.inf]], np.float32)
    (h, _), backward = operations.rnn._faster["numba"](
        x, np.zeros((3, 3), np.float32), offsets=np.array([0, 1, 2]), activation="relu"
    )
    np.testing.assert_array_equal(h, [[np.nan, 0, 2], [0, np.nan, np.inf]])
    np.testing.assert_array_equal(backward(np.ones_like(h), None)[0], [[0, 0, 1], [0, 0, 1]])


@every_name
def test_any_layout_of_the_inputs(name):
    """Columns of a wider matrix, a transposed one, 32-bit offsets, and deltas that are views."""
    rng, ends, operation = np.random.default_rng(5), to_offsets([4, 1, 3]), getattr(operations, name)
    inputs = inputs_of(name, rng, np.float32, ends, 6, (True, True))
    views = [np.repeat(a, 2, axis=-1)[..., ::2] for a in inputs]
    views[1] = np.asfortranarray(inputs[1])
    (values, derivatives), _ = both(operation, *inputs, offsets=ends)
    found, backward = operation._faster["numba"](*views, offsets=ends.astype(np.int32))
    deltas = [np.asfortranarray(np.cos(np.arange(v.size).reshape(v.shape)).astype(v.dtype)) for v in found]
    returned = [d.value() if hasattr(d, "value") else d for d in backward(*deltas)]
    assert_same(((values, derivatives), (found, tuple(returned))), np.float32)


@every_name
def test_threads_do_not_meet(name):
    """Kernels give Python up and hold nothing in common: the same bits on any thread."""
    rng, ends = np.random.default_rng(6), to_offsets([9, 4, 7, 1, 12])
    inputs = inputs_of(name, rng, np.float32, ends, 40, (False, True))

    def differentiate(_: int) -> list[Array]:
        values, backward = getattr(operations, name)._faster["numba"](*inputs, offsets=ends)
        dx, dweights, *_ = backward(values[0], *[None] * (len(values) - 1))
        return [*values, dx, dweights.value()]

    expected = differentiate(0)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(differentiate, range(40)):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)


@every_name
def test_what_is_not_covered_is_left_to_the_definition(monkeypatch, name):
    rng, ends = np.random.default_rng(7), to_offsets([2, 3])
    faster = getattr(operations, name)._faster["numba"]
    x, weights, *rest = inputs_of(name, rng, np.float64, ends, 4, (True, True))
    assert faster(x.astype(np.complex128), weights, offsets=ends) is NotImplemented
    assert faster(x.astype(np.float32), weights, offsets=ends) is NotImplemented
    assert faster(x, weights, rest[0].astype(np.float32), offsets=ends) is NotImplemented
    assert faster(x, weights, offsets=ends) is not NotImplemented
    monkeypatch.setattr(blas, "GEMM", None)
    assert faster(x, weights, offsets=ends) is NotImplemented


def test_biases_of_another_type_are_left_to_the_definition():
    faster = operations.gru._faster["numba"]
    x, w, b = np.ones((2, 3)), np.ones((1, 3)), np.ones(1, np.float32)
    assert faster(x, w, None, b, offsets=np.array([0, 2])) is NotImplemented


X, W = np.ones((3, 12)), np.ones((3, 12))
ENDS = np.array([0, 3])
MISTAKES = [
    (operations.lstm, (X, W), {"offsets": np.array([0, 4])}),
    (operations.lstm, (X, W), {"offsets": np.array([0, 2, 1, 3])}),
    (operations.lstm, (X, W), {"offsets": np.array([1, 3])}),
    (operations.lstm, (X, W), {"offsets": ENDS, "cut": 0}),
    (operations.lstm, (X, W[:, :9]), {"offsets": ENDS}),
    (operations.lstm, (X[:, :9], W[:, :9]), {"offsets": ENDS}),
    (operations.lstm, (X, W, np.ones((2, 3))), {"offsets": ENDS}),
    (operations.lstm, (X, W, None, np.ones((1, 4))), {"offsets": ENDS}),
    (operations.gru, (X, W), {"offsets": ENDS}),
    (operations.gru, (X[:, :9], W[:, :9], None, np.ones(2)), {"offsets": ENDS}),
    (operations.gru, (X[:, :9], W[:, :9], np.ones((1, 2))), {"offsets": ENDS}),
    (operations.rnn, (X, W), {"offsets": ENDS}),
    (operations.rnn, (X[:, :3], W[:, :3]), {"offsets": ENDS, "activation": "softmax"}),
    (operations.rnn, (X[0], W[:, :3]), {"offsets": ENDS}),
]


@pytest.mark.parametrize(("operation", "inputs", "options"), MISTAKES)
def test_mistakes_are_told_in_the_same_words(numba, operation, inputs, options):
    with pytest.raises(DragomanError) as theirs:
        operation.definition(*inputs, **options)
    with pytest.raises(DragomanError) as ours:
        operation(*inputs, **options)
    assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))
