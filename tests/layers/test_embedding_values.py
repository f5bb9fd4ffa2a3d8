"""What the embedding layer gives for each positional encoding, and what it refuses."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, LabelError
from dragoman.graph import Array, backpropagate, value_of
from dragoman.layers import Embedding, ForwardContext, Initializer, Perceptron, PositionalEncoding, Positions

LABELS, POSITIONS = np.array([4, 1, 4, 0]), np.array([0, 1, 2, 0])  # two sequences, of three labels and of one
ANGLES = POSITIONS[:, None] / 10_000.0 ** (np.array([[0, 2, 4]]) / 6)


def embedding(
    positions: Positions, maximum_length: int | None = None, depth: int = 6, position_depth: int | None = None
) -> Embedding:
    encoding = PositionalEncoding(positions, maximum_length, position_depth)
    return Embedding(5, depth, Initializer(2, np.float64), encoding)


def interleaved(sines: Array, cosines: Array) -> Array:
    return np.stack((sines, cosines), axis=2).reshape(len(sines), -1)


ADDED = {
    "half_sinusoid": np.concatenate((np.sin(ANGLES), np.cos(ANGLES)), axis=1),
    "interleaved_sinusoid": interleaved(np.sin(ANGLES), np.cos(ANGLES)),
    "relative": np.zeros((4, 6)),
}


@pytest.mark.ledger("T-3.2-I-layer", "T-3.2-I-scale", "B-7.30eq", "L-4-text", "L-47-add")
@pytest.mark.parametrize("positions", ADDED)
def test_an_added_encoding_is_the_scaled_row_plus_the_position(positions: Positions) -> None:
    layer = embedding(positions)
    rows = value_of(layer.table)[LABELS]
    np.testing.assert_allclose(
        value_of(layer(LABELS, POSITIONS, ForwardContext())), rows * 6**0.5 + ADDED[positions], rtol=1e-15, atol=1e-15
    )


@pytest.mark.ledger("T-3.2-I-layer", "T-3.2-I-scale")
def test_without_positions_rows_are_left_alone() -> None:
    layer = embedding("none")
    np.testing.assert_array_equal(value_of(layer(LABELS, POSITIONS, ForwardContext())), value_of(layer.table)[LABELS])


@pytest.mark.ledger("L-47-add", "L-50-learnedpos")
def test_learned_positions_are_added_and_receive_the_sum_of_their_deltas() -> None:
    layer = embedding("learned", 3)
    table, positions = value_of(layer.table), value_of(layer.position_table)
    y = layer(LABELS, POSITIONS, ForwardContext())
    np.testing.assert_allclose(value_of(y), table[LABELS] * 6**0.5 + positions[POSITIONS], rtol=1e-15)
    dy = np.arange(24.0).reshape(4, 6)
    (gradient,) = backpropagate([y], [layer.position_table], [dy])
    np.testing.assert_array_equal(gradient, [dy[0] + dy[3], dy[1], dy[2]])


@pytest.mark.ledger("B-7.5-posonehot", "L-48-concat")
def test_one_hot_positions_stand_beside_the_word() -> None:
    layer = embedding("one_hot", 4, depth=2 + 4)
    value_of(layer.table)[3] = np.array([0.2, -1.3]) / layer.scale
    rows = value_of(layer(np.array([3, 3]), np.array([0, 3]), ForwardContext()))
    np.testing.assert_allclose(rows, [[0.2, -1.3, 1, 0, 0, 0], [0.2, -1.3, 0, 0, 0, 1]], rtol=1e-15)


@pytest.mark.ledger("L-48-concat", "L-49-fixed")
@pytest.mark.parametrize(("given", "width"), [(2, 2), (None, 4)])
def test_concatenated_sinusoids_take_some_of_the_columns(given: int | None, width: int) -> None:
    layer = embedding("concatenated_sinusoid", depth=8, **({"position_depth": given} if given else {}))
    assert layer.count() == 5 * (8 - width)  # the code itself has no parameters
    rows = value_of(layer(LABELS, POSITIONS, ForwardContext()))
    angles = POSITIONS[:, None] / 10_000.0 ** (np.arange(0, width, 2) / width)
    np.testing.assert_allclose(rows[:, 8 - width :], interleaved(np.sin(angles), np.cos(angles)), rtol=1e-15)
    np.testing.assert_allclose(rows[:, : 8 - width], value_of(layer.table)[LABELS] * 8**0.5, rtol=1e-15)


@pytest.mark.ledger("B-7.28eq")
def test_joint_positions_are_a_small_network_of_word_and_position() -> None:
    layer = embedding("joint", 3)
    a = dict(layer.named_arrays())
    words = a["table"][LABELS] * 6**0.5
    mixed = np.tanh(words @ a["word.weights"] + np.eye(3)[POSITIONS] @ a["position_table"] + a["word.biases"])
    np.testing.assert_allclose(
        value_of(layer(LABELS, POSITIONS, ForwardContext())), mixed @ a["joined.weights"], rtol=1e-13
    )


@pytest.mark.ledger("L-49-fixed")
@pytest.mark.parametrize("positions", ["half_sinusoid", "interleaved_sinusoid", "concatenated_sinusoid"])
def test_fixed_encodings_reach_as_far_as_they_are_asked(positions: Positions) -> None:
    layer, far = embedding(positions, 4, depth=8), embedding(positions, 4000, depth=8)
    labels = np.array([1, 1])
    asked = np.array([2, 3999])
    np.testing.assert_array_equal(
        value_of(layer(labels, asked, ForwardContext())), value_of(far(labels, asked, ForwardContext()))
    )


@pytest.mark.parametrize("positions", ["learned", "one_hot", "joint"])
def test_learned_positions_end_where_they_end(positions: Positions) -> None:
    layer = embedding(positions, 3)
    layer(np.array([1]), np.array([2]), ForwardContext())
    with pytest.raises(LabelError, match=f"4 positions, but '{positions}' positions were built for 3.*maximum_length"):
        layer(np.array([1]), np.array([3]), ForwardContext())
    with pytest.raises(ConfigurationError, match="need a maximum_length"):
        embedding(positions)


@pytest.mark.parametrize("label", [5, -1])
def test_a_label_outside_the_vocabulary_is_named_with_its_row(label: int) -> None:
    with pytest.raises(LabelError, match=f"label {label} at row 2 is not in the vocabulary.*0 to 4"):
        embedding("half_sinusoid")(np.array([0, 4, label]), np.arange(3), ForwardContext())


def test_labels_are_whole_numbers() -> None:
    with pytest.raises(LabelError, match="integers, got float64"):
        embedding("half_sinusoid")(np.array([0.0, 1.0]), np.arange(2), ForwardContext())


@pytest.mark.parametrize(
    ("positions", "maximum_length", "options", "message"),
    [
        ("one_hot", 6, {}, "positions take 6 of 6 columns"),
        ("concatenated_sinusoid", None, {"position_depth": 6}, "positions take 6 of 6 columns"),
        ("concatenated_sinusoid", None, {"position_depth": 3}, "even depth, got 3"),
        ("half_sinusoid", None, {"depth": 5}, "even depth, got 5"),
    ],
)
def test_widths_must_leave_room(
    positions: Positions, maximum_length: int | None, options: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        embedding(positions, maximum_length, **options)


def test_a_tied_table_is_one_parameter_with_both_contributions() -> None:
    layer = embedding("none")
    output = Perceptron(6, 5, Initializer(0, np.float64), biases=False, table=layer.table)
    assert output.parameters() == layer.parameters()
    table = value_of(layer.table)
    y = output(layer(LABELS, POSITIONS, ForwardContext()))
    np.testing.assert_allclose(value_of(y), table[LABELS] @ table.T, rtol=1e-14)
    dy = np.random.default_rng(0).standard_normal((4, 5))
    (gradient,) = backpropagate([y], [layer.table], [dy])
    chosen = np.eye(5)[LABELS]  # y = C E E^T, so de/dE = C^T dy E + dy^T C E
    np.testing.assert_allclose(gradient, chosen.T @ dy @ table + dy.T @ chosen @ table, rtol=1e-13, atol=1e-13)


def test_two_embeddings_may_share_a_table() -> None:
    first = embedding("half_sinusoid")
    second = Embedding(5, 6, Initializer(9, np.float64), table=first.table)
    assert second.table is first.table
    np.testing.assert_array_equal(
        value_of(first(LABELS, POSITIONS, ForwardContext())), value_of(second(LABELS, POSITIONS, ForwardContext()))
    )


def test_threads_with_sequences_of_other_lengths_do_not_disturb_each_other() -> None:
    """The table of a fixed encoding grows while others read it."""

    def read(layer: Embedding, length: int) -> int:
        return len(value_of(layer(np.zeros(length, int), np.arange(length), ForwardContext())))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            layer = Embedding(5, 4, Initializer())
            lengths = [200 + 150 * (i % 7) for i in range(24)]
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(read, [layer] * 24, lengths)) == lengths
    finally:
        sys.setswitchinterval(interval)
