"""The encoder alone: outputs per sample and per position, from labels and from real rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, LabelError, ShapeError
from dragoman.graph import Array, backpropagate, gradient_check, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LogError, LossIndex, MeanSquaredError
from dragoman.networks import Encoder, EncoderConfiguration, load_weights, save_weights
from dragoman.operations import DropoutKey, softmax
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid
from dragoman.training.workers import Workers
from tests.networks.small_models import (
    INPUTS,
    KINDS,
    LABELS,
    OUTPUTS,
    POOLING,
    ROWS,
    VOCABULARY,
    permuted,
    sequence,
    sizes,
    small_encoder,
)
from tests.networks.small_networks import POSITIONS, logits_of, split

every_pooling = pytest.mark.parametrize("pooling", POOLING)
every_kind = pytest.mark.parametrize("kind", KINDS)
POOLED = [pooling for pooling in POOLING if pooling != "none"]


@pytest.mark.ledger("L-10-uses", "B-7.1-tasks-b", "B-7.5-partial")
@every_kind
@every_pooling
def test_one_output_per_sample_or_per_position(pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling=pooling, **inputs)
    outputs = logits_of(network, batch)
    assert outputs.shape == (len(batch.labels) if pooling == "none" else len(batch), OUTPUTS)
    np.testing.assert_allclose(value_of(softmax(outputs)).sum(axis=1), 1, rtol=1e-14)
    read, last = network.before_output(batch)
    np.testing.assert_array_equal(value_of(last(read)), outputs)


@every_kind
@every_pooling
@pytest.mark.parametrize("block", ["post", "pre"])
def test_every_parameter_has_its_derivative(block: str, pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    gradient_check(small_encoder(pooling=pooling, block=block, perceptron_depth=2, **inputs), batch).require()


@every_kind
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_encoding_has_its_derivatives(positions: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(positions=positions, pooling="class_token", heads=1, perceptron_depth=2, **inputs)
    gradient_check(network, batch).require()


@pytest.mark.ledger("L-37-mlpsize")
@pytest.mark.parametrize("hidden_layers", [1, 2])
def test_one_or_two_hidden_layers(hidden_layers: int) -> None:
    network = small_encoder(hidden_layers=hidden_layers)
    assert ("blocks.0.perceptron.second_hidden.weights" in dict(network.named_arrays())) == (hidden_layers == 2)
    gradient_check(network, LABELS).require()


@pytest.mark.ledger("B-7.28eq")
@pytest.mark.parametrize("activation", ["tanh", "gelu", "logistic"])
def test_the_choice_of_s_in_joint_positions(activation: Any) -> None:
    network = small_encoder(positions="joint", joint_activation=activation)
    gradient_check(network, LABELS).require()
    others = {name: small_encoder(positions="joint", joint_activation=name) for name in ("tanh", "gelu", "logistic")}
    differing = [
        np.abs(logits_of(other, LABELS) - logits_of(network, LABELS)).max() > 1e-3 for other in others.values()
    ]
    assert differing == [name != activation for name in others]


@every_kind
@every_pooling
@pytest.mark.parametrize("positions", ["half_sinusoid", "relative"])
def test_a_sample_gives_the_same_alone_and_in_a_batch(positions: Any, pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling=pooling, positions=positions, layers=2, **inputs)
    together = logits_of(network, batch)
    parts = split(together, batch) if pooling == "none" else list(together[:, None])
    for i, found in enumerate(parts):
        np.testing.assert_allclose(found, logits_of(network, sequence(batch, i)), atol=1e-12)


@pytest.mark.ledger("L-11-pool", "L-3-set")
@every_kind
@pytest.mark.parametrize("pooling", [pooling for pooling in POOLED if pooling != "last"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_without_positions_a_sample_is_a_set(positions: Any, pooling: Any, kind: str) -> None:
    """Pooled outputs do not notice the order of the rows; with positions they do."""
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling=pooling, positions=positions, layers=2, **inputs)
    other, _ = permuted(batch)
    change = np.abs(logits_of(network, other) - logits_of(network, batch)).max()
    assert change < 1e-12 if positions == "none" else change > 1e-6


@pytest.mark.ledger("L-45-equiv")
@every_kind
@pytest.mark.parametrize("positions", POSITIONS)
def test_without_positions_outputs_follow_their_rows(positions: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling="none", positions=positions, layers=2, **inputs)
    other, order = permuted(batch)
    change = np.abs(logits_of(network, other) - logits_of(network, batch)[order]).max()
    assert change < 1e-12 if positions == "none" else change > 1e-6


@pytest.mark.parametrize("positions", POSITIONS)
def test_real_rows_go_through_a_matrix_and_get_their_positions(positions: Any) -> None:
    embedding = small_encoder(inputs=INPUTS, positions=positions).embedding
    a = dict(embedding.named_arrays())
    t = ROWS.positions
    x = ROWS.labels @ a["weights"] + a["biases"]
    if positions in ("half_sinusoid", "interleaved_sinusoid"):
        x = x + {"half_sinusoid": half_sinusoid, "interleaved_sinusoid": interleaved_sinusoid}[positions](6, 4)[t]
    elif positions == "concatenated_sinusoid":
        x = np.hstack((x, interleaved_sinusoid(6, 2)[t]))
    elif positions == "one_hot":
        x = np.hstack((x, np.eye(6)[t]))
    elif positions == "learned":
        x = x + a["position_table"][t]
    elif positions == "joint":
        x = np.tanh(x @ a["word.weights"] + a["word.biases"] + a["position_table"][t]) @ a["joined.weights"]
    found = value_of(embedding(ROWS.labels, t, ForwardContext()))
    np.testing.assert_allclose(found, x, rtol=1e-13, atol=1e-14)


@every_kind
@every_pooling
def test_features_are_what_the_output_reads(pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling=pooling, block="pre", **inputs)
    rows, pooled = network.features(batch)
    assert (type(rows), rows.shape) == (np.ndarray, (len(batch.labels), 4))
    assert (type(pooled), pooled.shape) == (np.ndarray, (len(batch), 4))
    read = rows if pooling == "none" else pooled
    np.testing.assert_allclose(value_of(network.plain.output(read)), logits_of(network, batch), rtol=1e-13)
    means = [part.mean(axis=0) for part in split(rows, batch)]
    maxima = [part.max(axis=0) for part in split(rows, batch)]
    if pooling in ("mean", "none"):
        np.testing.assert_allclose(pooled, means, rtol=1e-12)
    if pooling == "max":
        np.testing.assert_array_equal(pooled, maxima)


def test_a_class_token_sees_every_row_and_every_row_sees_it() -> None:
    network = small_encoder(pooling="class_token")
    (maps,) = network.attention(LABELS).values()
    assert maps.shape == (3, 2, 5, 5)
    assert (maps[1, :, 4, :5] > 0).all()
    assert (maps[1, :, :5, 4] > 0).all()
    np.testing.assert_allclose(maps[1].sum(axis=2), 1, rtol=1e-14)
    before = network.features(LABELS)[0]
    value_of(network.class_token)[...] += 1
    assert np.abs(network.features(LABELS)[0] - before).max() > 1e-3


def test_attention_maps_by_name() -> None:
    maps = small_encoder(layers=2).attention(LABELS)
    assert {name: weights.shape for name, weights in maps.items()} == {
        "blocks.0.self_attention": (3, 2, 4, 4),
        "blocks.1.self_attention": (3, 2, 4, 4),
    }


@every_kind
@every_pooling
@pytest.mark.parametrize("block", ["post", "pre"])
def test_shards_drop_what_the_whole_batch_drops(block: str, pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_encoder(pooling=pooling, block=block, dropout=0.4, **inputs)
    noisy = ForwardContext(DropoutKey(1, 2))
    parts = batch.shards(2)
    assert [part.first_sequence for part in parts] == [0, 1]
    outputs = np.concatenate([value_of(network(part, noisy)) for part in parts])
    np.testing.assert_allclose(outputs, value_of(network(batch, noisy)), atol=1e-12)
    assert np.abs(outputs - logits_of(network, batch)).max() > 1e-3


RNG = np.random.default_rng(3)
TASKS: dict[str, tuple[Any, str, Any]] = {  # error, output activation, targets of so many
    "labels": (CrossEntropy(0.1), "identity", lambda count: RNG.integers(0, OUTPUTS, count)),
    "yes or no": (LogError(), "logistic", lambda count: RNG.integers(0, 2, (count, OUTPUTS))),
    "real numbers": (MeanSquaredError(), "identity", lambda count: RNG.standard_normal((count, OUTPUTS))),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("task", TASKS)
@every_pooling
def test_every_error_has_its_gradient_on_any_number_of_threads(pooling: Any, task: str, threads: int) -> None:
    error, activation, targets = TASKS[task]
    network = small_encoder(pooling=pooling, output_activation=activation)
    per: Any = "position" if pooling == "none" else "sample"
    count = len(LABELS.labels) if pooling == "none" else len(LABELS)
    batch = Batch(LABELS.labels, LABELS.offsets, targets(count), RNG.uniform(0.5, 2, count), per=per)
    index, workers = LossIndex(error), Workers(threads)
    loss, gradient = workers.differentiate(index, network, batch, ForwardContext())
    workers.close()
    assert loss.error == pytest.approx(index.evaluate(network, batch).error, rel=1e-12)
    assert slope(index, network, batch) == pytest.approx(gradient @ DIRECTION[: gradient.size], rel=1e-6)


DIRECTION = np.random.default_rng(4).standard_normal(1000)


def slope(index: LossIndex, network: Encoder, batch: Batch) -> float:
    """The derivative of the loss in one direction, by central differences."""
    theta, h = network.theta.values, 1e-6
    kept, ends = theta.copy(), []
    for sign in (1, -1):
        theta[...] = kept + sign * h * DIRECTION[: theta.size]
        ends.append(index.evaluate(network, batch).error)
    theta[...] = kept
    return (ends[0] - ends[1]) / (2 * h)


def test_cross_entropy_refuses_outputs_that_are_no_logits() -> None:
    network = small_encoder(output_activation="logistic")
    batch = Batch(LABELS.labels, LABELS.offsets, np.array([0, 1, 0]))
    with pytest.raises(ConfigurationError, match="cross-entropy needs 'identity'"):
        LossIndex().differentiate(network, batch)


def test_an_empty_sample_is_pooled_to_zero() -> None:
    batch = Batch.pack([[4, 3], [], [1]])
    for pooling in ("mean", "max", "attention"):
        network = small_encoder(pooling=pooling)
        assert not network.features(batch)[1][1].any()
    token = small_encoder(pooling="class_token")
    np.testing.assert_allclose(logits_of(token, batch)[1:2], logits_of(token, Batch.pack([[]])), atol=1e-12)


@pytest.mark.parametrize("given", [{}, {"vocabulary": 5, "inputs": 3}])
def test_labels_or_rows_one_of_them(given: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="give vocabulary for labels or inputs for real rows, one of them"):
        EncoderConfiguration(**given, outputs=2)


def test_a_batch_of_another_kind_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"rows of 3 real numbers, got an array of shape \(7,\)"):
        small_encoder(inputs=INPUTS)(LABELS)
    with pytest.raises(ShapeError, match=r"rows of 2 real numbers, got an array of shape \(7, 3\)"):
        small_encoder(inputs=2)(ROWS)
    with pytest.raises(ShapeError, match="labels"):
        small_encoder()(ROWS)
    with pytest.raises(LabelError, match="9 positions, but 'learned' positions were built for 6"):
        small_encoder(positions="learned")(Batch.pack([[1] * 9]))


@every_kind
@every_pooling
def test_saved_and_loaded(pooling: Any, kind: str, tmp_path: Path) -> None:
    batch, inputs = KINDS[kind]
    options = {"pooling": pooling, "positions": "learned", "block": "pre", "hidden_layers": 2, **inputs}
    saved, loaded = small_encoder(**options), small_encoder(seed=1, **options)
    save_weights(saved, tmp_path / "weights.safetensors")
    assert (logits_of(loaded, batch) != logits_of(saved, batch)).any()
    load_weights(loaded, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(logits_of(loaded, batch), logits_of(saved, batch))
    assert EncoderConfiguration(**saved.configuration.model_dump()) == saved.configuration


@given(
    settings=st.fixed_dictionaries(
        {
            "pooling": st.sampled_from(POOLING),
            "positions": st.sampled_from(POSITIONS),
            "block": st.sampled_from(["pre", "post"]),
            "layers": st.integers(1, 3),
            "hidden_layers": st.sampled_from([1, 2]),
            "attention_biases": st.booleans(),
            "outputs": st.integers(1, 4),
        }
    ),
    inputs=st.sampled_from([{"vocabulary": VOCABULARY}, {"inputs": INPUTS}]),
)
def test_the_count_is_known_before_it_is_built(settings: dict[str, Any], inputs: dict[str, int]) -> None:
    configuration = EncoderConfiguration(**sizes(settings), **inputs, causal=settings["pooling"] == "last")
    assert configuration.count() == Encoder(configuration).count()


@pytest.mark.parametrize("pooling", POOLED)
def test_derivatives_reach_every_parameter(pooling: Any) -> None:
    network = small_encoder(pooling=pooling, block="pre")
    batch = Batch(LABELS.labels, LABELS.offsets, np.array([0, 1, 0]))
    error: Array = CrossEntropy()(network(batch), batch)[0]
    gradient = backpropagate(error, network.theta)
    for name, parameter in network.named_parameters():
        assert np.abs(network.theta.view(gradient, parameter)).max() > 1e-9, name
