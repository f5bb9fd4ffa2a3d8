"""Recurrent encoders and language models: many to one, many to many, one to many, and states carried on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import END, START, Batch
from dragoman.decoding import Beam, Greedy, decode
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import backpropagate, gradient_check, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LogError, LossIndex, MeanSquaredError
from dragoman.networks import (
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    RecurrentLanguageModel,
    RecurrentLanguageModelConfiguration,
    load_weights,
    save_weights,
)
from dragoman.operations import DropoutKey
from dragoman.training.workers import Workers
from tests.networks.small_models import (
    CELLS,
    INPUTS,
    KINDS,
    LABELS,
    OUTPUTS,
    RECURRENT_POOLING,
    VOCABULARY,
    permuted,
    sequence,
    small_recurrent_encoder,
    small_recurrent_language_model,
)
from tests.networks.small_networks import logits_of, split

every_cell = pytest.mark.parametrize("cell", CELLS)
every_pooling = pytest.mark.parametrize("pooling", RECURRENT_POOLING)
every_kind = pytest.mark.parametrize("kind", KINDS)
TEXT = np.array([[2, 4, 1, 4, 3, 5], [2, 1, 3, 3, 5, 4], [2, 2, 4, 0, 1, 1]])


@every_kind
@every_pooling
@every_cell
def test_every_parameter_of_an_encoder_has_its_derivative(cell: Any, pooling: Any, kind: str) -> None:
    batch, inputs = KINDS[kind]
    network = small_recurrent_encoder(cell=cell, pooling=pooling, bidirectional=kind == "labels", layers=2, **inputs)
    outputs = logits_of(network, batch)
    assert outputs.shape == (len(batch.labels) if pooling == "none" else len(batch), OUTPUTS)
    gradient_check(network, batch).require()


@pytest.mark.ledger("B-7.1-tasks-b")
@pytest.mark.parametrize("bidirectional", [False, True])
@every_cell
def test_the_last_state_stands_for_the_whole_sample(cell: Any, bidirectional: bool) -> None:
    """Of both directions: the forward one after the last row, the backward one after the first."""
    network = small_recurrent_encoder(cell=cell, bidirectional=bidirectional, layers=2)
    rows, pooled = network.features(LABELS)
    for part, found in zip(split(rows, LABELS), pooled, strict=True):
        expected = [*part[-1, :2], *part[0, 2:]] if bidirectional else part[-1]
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(value_of(network.plain.output(pooled)), logits_of(network, LABELS))


@every_pooling
def test_features_are_what_the_output_reads(pooling: Any) -> None:
    network = small_recurrent_encoder(pooling=pooling)
    rows, pooled = network.features(LABELS)
    assert (rows.shape, pooled.shape) == ((7, 4), (3, 4))
    read = rows if pooling == "none" else pooled
    np.testing.assert_allclose(value_of(network.plain.output(read)), logits_of(network, LABELS), rtol=1e-14)
    if pooling in ("mean", "none"):
        np.testing.assert_allclose(pooled, [part.mean(axis=0) for part in split(rows, LABELS)], rtol=1e-13)


@every_pooling
@every_cell
def test_order_matters_to_a_recurrence(cell: Any, pooling: Any) -> None:
    network = small_recurrent_encoder(cell=cell, pooling=pooling)
    other, order = permuted(LABELS)
    expected = logits_of(network, LABELS)
    assert np.abs(logits_of(network, other) - (expected[order] if pooling == "none" else expected)).max() > 1e-3


@every_pooling
@every_cell
def test_a_sample_gives_the_same_alone_and_in_a_batch(cell: Any, pooling: Any) -> None:
    network = small_recurrent_encoder(cell=cell, pooling=pooling, layers=2)
    together = logits_of(network, LABELS)
    parts = split(together, LABELS) if pooling == "none" else list(together[:, None])
    for i, found in enumerate(parts):
        np.testing.assert_allclose(found, logits_of(network, sequence(LABELS, i)), atol=1e-12)


@every_pooling
def test_shards_drop_what_the_whole_batch_drops(pooling: Any) -> None:
    network, noisy = (
        small_recurrent_encoder(pooling=pooling, layers=2, dropout=0.4),
        ForwardContext(DropoutKey(1, 2)),
    )
    outputs = np.concatenate([value_of(network(part, noisy)) for part in LABELS.shards(2)])
    np.testing.assert_allclose(outputs, value_of(network(LABELS, noisy)), atol=1e-12)
    assert np.abs(outputs - logits_of(network, LABELS)).max() > 1e-3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [CrossEntropy(), LogError(), MeanSquaredError()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("pooling", ["last", "none"])
def test_every_error_on_any_number_of_threads(pooling: Any, error: Any, threads: int) -> None:
    labels = isinstance(error, CrossEntropy)
    activation = "logistic" if isinstance(error, LogError) else "identity"
    network = small_recurrent_encoder(pooling=pooling, output_activation=activation)
    count, per = (7, "position") if pooling == "none" else (3, "sample")
    targets = np.random.default_rng(0).integers(0, 2, count if labels else (count, OUTPUTS))
    batch = Batch(LABELS.labels, LABELS.offsets, targets, per=per)  # type: ignore[arg-type]
    index, workers = LossIndex(error), Workers(threads)
    loss, gradient = workers.differentiate(index, network, batch, ForwardContext())
    workers.close()
    assert loss.error == pytest.approx(index.evaluate(network, batch).error, rel=1e-12)
    expected = backpropagate(error(network(batch), batch)[0], network.theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("tied", ["none", "output"])
@every_cell
def test_every_parameter_of_a_language_model_has_its_derivative(cell: Any, tied: str) -> None:
    units = 3 if tied == "output" else 4
    gradient_check(small_recurrent_language_model(cell=cell, tied=tied, units=units, layers=2), LABELS).require()


@every_cell
def test_steps_equal_the_parallel_pass(cell: Any) -> None:
    network = small_recurrent_language_model(cell=cell, layers=2)
    expected = logits_of(network, Batch.pack(list(TEXT))).reshape(*TEXT.shape, -1)
    state = network.encode(Batch.pack([[]] * 3))
    for t, labels in enumerate(TEXT.T):
        before = state
        logits, state = network.step(state, labels)
        np.testing.assert_allclose(logits, expected[:, t], atol=1e-12)
    rows = np.array([2, 0, 0])
    again, _ = network.step(before.select(rows), TEXT[rows, -1])
    np.testing.assert_allclose(again, expected[rows, -1], atol=1e-12)
    with pytest.raises(ShapeError, match="2 labels for a state of 3 sequences"):
        network.step(state, np.array([1, 2]))


@pytest.mark.parametrize("method", [Greedy(), Beam(3)], ids=["greedy", "beam"])
@every_cell
def test_one_start_label_in_many_labels_out(cell: Any, method: Any) -> None:
    network = small_recurrent_language_model(cell=cell, seed=1)
    for prefix, hypotheses in zip([[], [5, 4]], decode(network, [[]] * 2, method, 6, [[], [5, 4]]), strict=True):
        best = hypotheses[0]
        assert best.labels[: len(prefix)].tolist() == prefix
        written = [START, *best.labels.tolist(), *([END] if best.finished else [])]
        logits = logits_of(network, Batch.pack([written[:-1]]))
        chosen = logits[np.arange(len(logits)), written[1:]] - np.log(np.exp(logits).sum(axis=1))
        assert best.log_probability == pytest.approx(chosen.sum(), abs=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
@every_cell
def test_halves_with_carried_states_are_the_whole(cell: Any, threads: int) -> None:
    network = small_recurrent_language_model(cell=cell, layers=2)
    whole = logits_of(network, Batch.pack(list(TEXT))).reshape(*TEXT.shape, -1)
    carried, workers = network.new_carried(3), Workers(threads)
    for start in (0, 3):
        half = Batch.pack(list(TEXT[:, start : start + 3]))
        parts = workers.map(
            lambda shard: value_of(network(shard, ForwardContext(carried=carried))), half.shards(threads)
        )
        found = np.concatenate(parts).reshape(3, 3, -1)
        np.testing.assert_allclose(found, whole[:, start : start + 3], atol=1e-12)
    workers.close()


def test_no_gradient_flows_into_the_batch_before() -> None:
    """The derivative is that of the second half alone, with its first state a constant."""
    network = small_recurrent_language_model(cell="lstm")
    carried = network.new_carried(3)
    first, second = (Batch(half.ravel(), np.arange(0, 10, 3), half.ravel()) for half in (TEXT[:, :3], TEXT[:, 3:]))
    network(first, ForwardContext(carried=carried))
    before = carried.arrays()
    _, gradient = LossIndex().differentiate(network, second, ForwardContext(carried=carried))
    h, c = before["0.h"], before["0.c"]

    class Started(RecurrentLanguageModel):
        def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Any:
            x = self.embedding(batch.labels, batch.positions, ForwardContext())
            return self.output(self.recurrent(x, batch.offsets, ForwardContext(), [(h, c)])[0])

    same = Started(network.configuration, dtype=np.float64)
    same.theta.assign(network.theta.values)
    expected = backpropagate(CrossEntropy()(same(second), second)[0], same.theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-14)
    assert not np.allclose(carried.arrays()["0.h"], h)


@every_cell
def test_carried_states_can_be_kept_and_begun_again(cell: Any) -> None:
    network = small_recurrent_language_model(cell=cell, layers=2)
    carried, batch = network.new_carried(3), Batch.pack(list(TEXT))
    run = ForwardContext(carried=carried)
    fresh = value_of(network(batch, run))
    kept = carried.arrays()
    assert list(kept) == (["0.h", "0.c", "1.h", "1.c"] if cell == "lstm" else ["0.h", "1.h"])
    later = value_of(network(batch, run))
    assert np.abs(later - fresh).max() > 1e-3
    other = network.new_carried(3)
    other.assign(kept)
    np.testing.assert_array_equal(value_of(network(batch, ForwardContext(carried=other))), later)
    carried.reset(np.array([1]))
    mixed = value_of(network(batch, run)).reshape(*TEXT.shape, -1)
    np.testing.assert_allclose(mixed[1], fresh.reshape(*TEXT.shape, -1)[1], atol=1e-12)
    carried.reset()
    np.testing.assert_array_equal(value_of(network(batch, run)), fresh)
    with pytest.raises(ShapeError, match=r"carried state 0\.h: expected an array of shape \(2, 4\), found \(3, 4\)"):
        network.new_carried(2).assign(kept)
    with pytest.raises(ShapeError, match="the states of 2 sequences are carried, but the batch has 3"):
        network(batch, ForwardContext(carried=network.new_carried(2)))


@every_kind
def test_an_encoder_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    batch, inputs = KINDS[kind]
    saved, loaded = (small_recurrent_encoder(seed=seed, pooling="attention", **inputs) for seed in (0, 1))
    save_weights(saved, tmp_path / "weights.safetensors")
    assert (logits_of(loaded, batch) != logits_of(saved, batch)).any()
    load_weights(loaded, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(logits_of(loaded, batch), logits_of(saved, batch))


def test_a_language_model_saved_and_loaded(tmp_path: Path) -> None:
    saved, loaded = (small_recurrent_language_model(seed=seed, tied="output", units=3) for seed in (0, 1))
    save_weights(saved, tmp_path / "weights.safetensors")
    assert (logits_of(loaded, LABELS) != logits_of(saved, LABELS)).any()
    load_weights(loaded, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(logits_of(loaded, LABELS), logits_of(saved, LABELS))


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="half the units in each, got 3"):
        RecurrentEncoderConfiguration(units=3, vocabulary=5, outputs=2)
    with pytest.raises(ConfigurationError, match="the table of depth 64 on 128 units; they must be equal"):
        RecurrentLanguageModelConfiguration(vocabulary=5, tied="output")
    with pytest.raises(ConfigurationError, match="give vocabulary for labels or inputs for real rows"):
        RecurrentEncoderConfiguration(outputs=2)


@given(
    cell=st.sampled_from(CELLS),
    pooling=st.sampled_from(RECURRENT_POOLING),
    both=st.booleans(),
    layers=st.integers(1, 3),
    inputs=st.sampled_from([{"vocabulary": VOCABULARY}, {"inputs": INPUTS}]),
)
def test_the_count_of_an_encoder(cell: Any, pooling: Any, both: bool, layers: int, inputs: dict[str, int]) -> None:
    small = {"depth": 3, "units": 4, "outputs": 2, "bidirectional": both}
    configuration = RecurrentEncoderConfiguration(cell=cell, pooling=pooling, layers=layers, **small, **inputs)
    assert configuration.count() == RecurrentEncoder(configuration).count()


@given(cell=st.sampled_from(CELLS), layers=st.integers(1, 3), tied=st.sampled_from(["none", "output"]))
def test_the_count_of_a_language_model(cell: Any, layers: int, tied: Any) -> None:
    small = {"depth": 3, "units": 3 if tied == "output" else 4, "vocabulary": 5}
    configuration = RecurrentLanguageModelConfiguration(cell=cell, layers=layers, tied=tied, **small)
    assert configuration.count() == RecurrentLanguageModel(configuration).count()
