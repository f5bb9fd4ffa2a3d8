"""Adjoints through time: right by differences and by (7.12), and what vanishing and exploding do to a training."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from dragoman.analysis import recall
from dragoman.analysis.adjoints import UNTRAINED, adjoint_norms, adjoints, embedded, untrained_norms
from dragoman.batch import Batch
from dragoman.data.toys import recall_batch
from dragoman.errors import NonFiniteError, ShapeError
from dragoman.graph import Array, backpropagate, value_of
from dragoman.layers import Cell, CellKind, Embedding, ForwardContext, Initializer, Recurrent
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Encoder, EncoderConfiguration, RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.optimization import Adam, Constant, Cosine, GradientDescent
from dragoman.training import Stopping, train

CELLS: list[CellKind] = ["rnn", "lstm", "gru"]
B, T, P, M = 3, 5, 2, 4


def layers(kind: CellKind, count: int = 1, activation: str = "tanh") -> list[Cell]:
    """Cells in float64 whose every parameter is something."""
    stack = Recurrent(kind, P, M, Initializer(3, np.float64), count, activation=activation)
    rng = np.random.default_rng(4)
    for parameter in stack.parameters():
        parameter.value[...] += rng.normal(0, 0.3, parameter.shape)
    return stack.forward


def drawn(*shape: int) -> Array:
    values: Array = np.random.default_rng(5).standard_normal(shape)
    return values


def read(cells: list[Cell], x: Array, moved: tuple[int, int, int] = (-1, 0, 0), by: Array | float = 0.0) -> Array:
    """h<T> of the last layer. `moved` (t, layer, part): that part of the state after step t is moved by so much."""
    states = [tuple(np.zeros((B, M)) for _ in range(2 if cell.kind == "lstm" else 1)) for cell in cells]
    for t in range(T + 1):
        below = x[:, t - 1]
        for layer, cell in enumerate(cells):
            plain = cell.without_gradient()
            if t:
                states[layer] = tuple(map(value_of, plain.step(plain.inputs(below), states[layer])))
            if (t, layer) == moved[:2]:
                states[layer] = tuple(part + by * (k == moved[2]) for k, part in enumerate(states[layer]))
            below = states[layer][0]
    return states[-1][0]


@pytest.mark.ledger("B-7.2-adjoint")
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("count", [1, 2])
def test_adjoints_are_differences_of_the_loss(kind: CellKind, count: int) -> None:
    """C = <at_end, h<T>>; each number of each state on the way is moved a little."""
    cells, x, at_end = layers(kind, count), drawn(B, T, P), drawn(B, M)
    found = adjoints(cells, x, at_end)
    parts = [found.h] if found.c is None else [found.h, found.c]
    assert len(parts) == (2 if kind == "lstm" else 1)
    assert all(part.shape == (T + 1, count, B, M) for part in parts)
    for t, layer, part in np.ndindex(T + 1, count, len(parts)):
        differences = np.empty((B, M))
        for column in range(M):  # sequences do not touch each other: all are moved at once
            by = 1e-6 * np.eye(M)[column]
            ends = [read(cells, x, (t, layer, part), sign * by) for sign in (1, -1)]
            differences[:, column] = (at_end * (ends[0] - ends[1])).sum(axis=1) / 2e-6
        np.testing.assert_allclose(parts[part][t, layer], differences, atol=1e-8)
    assert np.abs(found.h[0]).max() > 1e-3, "there is something to compare"


@pytest.mark.ledger("B-7.12eq")
@pytest.mark.parametrize(("radius", "after"), [(0.5, (0.0, 1e-12)), (2.0, (1e12, math.inf))])
def test_without_activation_they_are_powers_of_the_weights(radius: float, after: tuple[float, float]) -> None:
    """zeta<t> = (W_hh^T)^(T-t) zeta<T>; rows, and the weights transposed: zeta W^T"""
    (cell,), long, at_end = layers("rnn", activation="identity"), 60, drawn(B, M)
    weights = value_of(cell.recurrent_weights)
    weights *= radius / np.abs(np.linalg.eigvals(weights)).max()
    found = adjoints([cell], drawn(B, long, P), at_end)
    for t in range(long + 1):
        expected = at_end @ np.linalg.matrix_power(weights.T, long - t)
        np.testing.assert_allclose(found.h[t, 0], expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert after[0] < found.norms()[0, 0] < after[1]


def test_the_first_ones_are_what_the_whole_recurrence_passes_back() -> None:
    """The same through `lstm` over all rows at once, which writes its own backward pass through time."""
    (cell,), x, at_end = layers("lstm"), drawn(B, T, P), drawn(B, M)
    found = adjoints([cell], x, at_end)
    assert found.c is not None
    rows = cell(x.reshape(B * T, P), np.arange(B + 1) * T)[0]
    np.testing.assert_allclose(
        backpropagate(rows, [cell.recurrent_weights], [_at_last(at_end)])[0],
        _weights_from(cell, x, found.h[:, 0], found.c[:, 0]),
        rtol=1e-10,
    )


def _at_last(at_end: Array) -> Array:
    rows = np.zeros((B, T, M))
    rows[:, -1] = at_end
    return rows.reshape(B * T, M)


def _weights_from(cell: Cell, x: Array, h: Array, c: Array) -> Array:
    """g_W = sum over t of what step t alone makes of the adjoints after it: corrected (7.10), of an LSTM."""
    total, state = np.zeros((M, 4 * M)), (np.zeros((B, M)), np.zeros((B, M)))
    for t in range(T):
        after = cell.step(cell.inputs(x[:, t]), state)
        total += backpropagate(list(after), [cell.recurrent_weights], [h[t + 1], c[t + 1]])[0]
        state = tuple(map(value_of, after))
    return total


def test_an_lstm_whose_forget_gate_is_open_keeps_the_norm() -> None:
    """g_f = 1, and nothing reaches the gates from the state: the adjoint of c is passed back as it is."""
    long = 200
    (cell,) = layers("lstm")
    arrays = {name.split(".")[0]: value for name, value in cell.named_arrays() if name.endswith("recurrent_weights")}
    assert set(arrays) == {"forget", "input", "output", "memory"}
    for array in arrays.values():
        array[:] = 0
    gates = {name: array for name, array in cell.named_arrays() if name.startswith("forget")}
    gates["forget.weights"][:], gates["forget.biases"][:] = 0, 40
    found = adjoints([cell], drawn(B, long, P), drawn(B, M))
    assert found.c is not None
    norms = found.norms()[:, 0]
    np.testing.assert_allclose(norms[:long], norms[long - 1], rtol=1e-12)  # at T itself h alone is heard
    gates["forget.biases"][:] = 0
    assert adjoint_norms(cell, drawn(B, long, P))[0] < 1e-50, "half is forgotten at every step"


def test_norms_are_of_a_layers_whole_state() -> None:
    cells, x, at_end = layers("lstm", 2), drawn(B, T, P), drawn(B, M)
    found = adjoints(cells, x, at_end)
    assert found.c is not None
    for t, layer in np.ndindex(T + 1, 2):
        squares = sum((part[t, layer, b] ** 2).sum() for part in (found.h, found.c) for b in range(B))
        assert found.norms()[t, layer] == pytest.approx(math.sqrt(squares / B))
    np.testing.assert_array_equal(found.h[T, 1], at_end)
    np.testing.assert_array_equal(found.c[T], 0)  # the loss reads h alone
    cell = cells[0]
    assert adjoint_norms(cell, x)[-1] == pytest.approx(1)
    np.testing.assert_array_equal(adjoint_norms(cell, x), adjoint_norms(cell, x))
    assert adjoint_norms(cell, x, seed=1)[0] != adjoint_norms(cell, x)[0]


def test_shapes_that_do_not_fit_are_told() -> None:
    with pytest.raises(ShapeError, match=r"\(5, 2\) and at_end \(3, 4\) are not \[B, T, p\] and \[B, m\]"):
        adjoints(layers("gru"), drawn(T, P), drawn(B, M))
    with pytest.raises(ShapeError, match=r"at_end \(3, 5\)"):
        adjoints(layers("gru"), drawn(B, T, P), drawn(B, M + 1))


def test_cells_before_training() -> None:
    labels = np.random.default_rng(0).integers(0, 50, (4, 60))
    norms = untrained_norms(labels, 50, 16, 16)
    assert list(norms) == list(UNTRAINED)
    assert all(found.shape == (61,) and found[-1] == pytest.approx(1) for found in norms.values())
    back = {name: found[0] for name, found in norms.items()}
    assert back["RNN, weights × 0.7"] < 1e-8 < 1e-5 < back["RNN"] < 1 < 100 < back["RNN, weights × 2"]
    assert back["GRU"] < 1e-6 < 1e-4 < back["LSTM"] < 1  # a GRU's gate is half open: half of the state is replaced
    initial = Initializer(0, np.float64)
    embedding = Embedding(50, 16, initial, "none")
    x = embedded(embedding, labels)
    np.testing.assert_array_equal(x[1, 2], value_of(embedding.table)[labels[1, 2]])
    np.testing.assert_array_equal(adjoint_norms(Cell("lstm", 16, 16, initial), x), norms["LSTM"])


# What it does to a training


def questions(gap: int) -> Iterator[Batch]:
    rng = np.random.default_rng(0)
    return (recall_batch(16, 2, gap, rng) for _ in itertools.count())


def learns_to_recall(kind: CellKind, gap: int, opened: float | None = None) -> float:
    """The share of labels recalled after at most 150 steps of training."""
    network = RecurrentNetwork(RecurrentNetworkConfiguration(inputs=5, units=16, outputs=2, cell=kind))
    arrays = dict(network.named_arrays())
    if opened is not None and kind == "lstm":
        arrays["hidden.forward.0.forget.biases"][:] = opened
    elif opened is not None:
        arrays["hidden.forward.0.update.biases"][:] = -opened
    stopping = Stopping(steps=150, loss_goal=0.01)
    train(network, questions(gap), Adam(), Constant(0.01 if kind == "gru" else 0.005), stopping, clip=1.0)
    return LossIndex().evaluate(network, recall_batch(300, 2, gap, np.random.default_rng(1))).accuracy


@pytest.mark.ledger("B-7.2-slava")
def test_gates_remember_over_a_gap_that_a_plain_rnn_does_not() -> None:
    """80 words about something else; gates begin open, which the plain RNN has nothing for."""
    assert learns_to_recall("rnn", gap=80) < 0.6  # guessing is 0.5
    assert learns_to_recall("lstm", gap=80, opened=4) > 0.99
    assert learns_to_recall("gru", gap=80, opened=4) > 0.99


@pytest.mark.ledger("B-7.2-slava")
def test_attention_remembers_over_the_same_gap() -> None:
    """It looks at the label directly, however far back it is."""
    sizes = EncoderConfiguration(
        vocabulary=5, outputs=2, depth=8, perceptron_depth=8, heads=1, positions="none", pooling="none"
    )
    network, stopping = Encoder(sizes), Stopping(steps=150, loss_goal=0.01)
    train(network, questions(80), Adam(), Constant(0.02), stopping)
    assert LossIndex().evaluate(network, recall_batch(300, 2, 80, np.random.default_rng(1))).accuracy > 0.99


def test_what_the_plain_rnn_lacks_is_reach() -> None:
    assert learns_to_recall("rnn", gap=5) > 0.99


@pytest.mark.ledger("B-7.2-clip")
def test_clipping_and_truncation_rescue_a_training_that_explodes() -> None:
    """The control is left alone too, at the same rate: what spoils the first one is the stretched weights."""
    alone, clipped, cut, control = recall.recall_curves().values()
    chance = math.log(recall.SYMBOLS)
    assert {len(curve) for curve in (alone, clipped, cut, control)} == {recall.STEPS}
    assert alone[0] == clipped[0] == cut[0] != control[0]
    assert np.mean(alone[-20:]) > 0.9 * chance, "no better than guessing"
    assert np.mean(clipped[-20:]) < 0.6 * chance
    assert np.mean(cut[-20:]) < 0.1 * chance
    assert np.mean(control[-20:]) < 0.1 * chance


@pytest.mark.ledger("B-7.2-clip")
def test_clipping_rescues_a_training_that_leaves_the_numbers() -> None:
    """No activation holds the states: one long step, and the next ones are infinite."""

    def trained(clip: float) -> Loss:
        network = RecurrentNetwork(RecurrentNetworkConfiguration(inputs=9, units=16, outputs=4, activation="identity"))
        weights, rng = value_of(network.hidden.forward[0].recurrent_weights), np.random.default_rng(0)
        weights *= 1.05
        batches = (recall_batch(16, 4, 18, rng) for _ in itertools.count())
        train(network, batches, GradientDescent(), Cosine(0.1, 120), Stopping(steps=120), clip=clip)
        return LossIndex().evaluate(network, recall_batch(300, 4, 18, rng))

    with pytest.raises(NonFiniteError, match=r"step \d: .* lower the learning rate"):
        trained(math.inf)
    assert trained(1.0).accuracy > 0.95


def test_errors_are_kept_until_the_numbers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "RATE", 1e38)
    assert 0 < len(recall.recall_errors(steps=10)) < 10


@pytest.mark.ledger("B-7.2-tbptt")
def test_what_lies_before_the_cut_is_not_learnt() -> None:
    """5 rows, the label first and the question last: cut before the last, nothing reaches the label's own weights."""
    network = recall.Truncated(RecurrentNetworkConfiguration(inputs=9, units=8, outputs=4))
    batch = recall_batch(4, 4, 3, np.random.default_rng(0))
    remembered = dict(network.named_arrays())["hidden.forward.0.state.weights"]
    place = np.s_[: 4 * 8]  # the inputs' weights come first in theta, and of them those of the labels to remember
    np.testing.assert_array_equal(network.theta.values[place], remembered[:4].ravel())
    for cut, heard in ((None, True), (5, True), (4, False), (1, False)):
        network.change(cut=cut)
        _, gradient = LossIndex().differentiate(network, batch)
        assert bool(np.abs(gradient[place]).max() > 0) == heard
        assert np.abs(gradient).max() > 0
    np.testing.assert_array_equal(value_of(network(batch, ForwardContext())), value_of(network.plain(batch)))
