"""The decoder alone: one pass, step by step, decoding, and what a label can affect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import END, START, Batch
from dragoman.decoding import Beam, Greedy, Sampling, decode
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import gradient_check, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import LossIndex
from dragoman.networks import (
    Encoder,
    LanguageModel,
    LanguageModelConfiguration,
    Transformer,
    load_weights,
    save_weights,
)
from dragoman.operations import DropoutKey
from dragoman.training.workers import Workers
from tests.networks.small_models import LABELS, VOCABULARY, sequence, sizes, small_encoder, small_language_model
from tests.networks.small_networks import POSITIONS, logits_of, small_transformer, split

every_block = pytest.mark.parametrize("block", ["post", "pre"])
every_position = pytest.mark.parametrize("positions", POSITIONS)
WRITTEN = np.array([[2, 4, 1, 4], [2, 1, 3, 3], [2, 2, 4, 0]])


@pytest.mark.parametrize(
    "settings",
    [
        {"block": "post"},
        {"block": "pre", "activation": "gelu", "hidden_layers": 2},
        {"block": "post", "tied": "output", "positions": "relative", "normalization": "outside", "epsilon": 0.1},
        {"block": "pre", "tied": "output", "positions": "joint", "attention_biases": False},
        {"block": "pre", "positions": "learned", "layers": 2},
    ],
    ids=lambda settings: "-".join(str(value) for value in settings.values()),
)
def test_every_parameter_has_its_derivative(settings: dict[str, Any]) -> None:
    gradient_check(small_language_model(perceptron_depth=2, **settings), LABELS).require()


@pytest.mark.ledger("B-7.5-partial", "L-10-uses")
def test_there_are_three_classes_of_models() -> None:
    """Encoder and decoder, encoder alone, decoder alone: which attention each of them has."""
    networks = (small_transformer(), small_encoder(), small_language_model())
    assert [type(network) for network in networks] == [Transformer, Encoder, LanguageModel]
    cross = [any("cross_attention" in name for name, _ in network.named_parameters()) for network in networks]
    assert cross == [True, False, False]
    looks_ahead = [np.triu(next(iter(network.attention(LABELS).values()))[1], 1).any() for network in networks[1:]]
    assert looks_ahead == [True, False]


@pytest.mark.ledger("L-55-incr")
@every_block
@every_position
def test_a_label_reaches_its_own_and_later_positions_only(positions: Any, block: str) -> None:
    """Exactly: the features of earlier positions keep their bits."""
    network = small_language_model(block=block, positions=positions, layers=2)
    words = [2, 4, 1, 4, 1]
    before = logits_of(network, Batch.pack([words]))
    for j in range(len(words)):
        change = np.abs(logits_of(network, Batch.pack([[*words[:j], 5, *words[j + 1 :]]])) - before).max(axis=1)
        assert (change[:j] == 0).all()
        assert (change[j:] > 1e-9).all()


@every_block
@every_position
@pytest.mark.parametrize("tied", ["none", "output"])
def test_steps_equal_the_parallel_pass(tied: str, positions: Any, block: str) -> None:
    if positions in ("one_hot", "concatenated_sinusoid"):
        tied = "none"
    network = small_language_model(block=block, positions=positions, tied=tied, layers=2)
    expected = logits_of(network, Batch.pack(list(WRITTEN))).reshape(3, 4, -1)
    state = network.encode(Batch.pack([[]] * 3))
    for t, labels in enumerate(WRITTEN.T):
        assert (len(state), state.position) == (3, t)
        logits, state = network.step(state, labels)
        np.testing.assert_allclose(logits, expected[:, t], atol=1e-12, rtol=1e-12)
    with pytest.raises(ShapeError, match="2 labels for a state of 3 sequences"):
        network.step(state, np.array([1, 2]))


def test_a_state_can_be_selected_with_repetition_and_is_not_changed() -> None:
    network = small_language_model(layers=2, positions="relative")
    state = network.encode(Batch.pack([[]] * 3))
    for labels in WRITTEN.T[:2]:
        _, state = network.step(state, labels)
    rows, new = np.array([2, 0, 0]), np.array([4, 3, 1])
    expected = logits_of(network, Batch.pack(list(np.column_stack((WRITTEN[rows, :2], new)))))[2::3]
    for _ in range(2):
        np.testing.assert_allclose(network.step(state.select(rows), new)[0], expected, atol=1e-12)


@pytest.mark.parametrize("method", [Greedy(), Beam(3), Sampling(seed=3)], ids=["greedy", "beam", "sampling"])
def test_decoding_writes_what_the_network_finds_probable(method: Any) -> None:
    network = small_language_model(seed=2)
    prefixes = [[4], [], [4, 5]]
    for prefix, hypotheses in zip(prefixes, decode(network, [[]] * 3, method, 6, prefixes), strict=True):
        best = hypotheses[0]
        assert best.labels[: len(prefix)].tolist() == prefix
        written = [START, *best.labels.tolist(), *([END] if best.finished else [])]
        logits = logits_of(network, Batch.pack([written[:-1]]))
        chosen = logits[np.arange(len(logits)), written[1:]] - np.log(np.exp(logits).sum(axis=1))
        if not isinstance(method, Sampling):
            assert best.log_probability == pytest.approx(chosen.sum(), abs=1e-6)


def test_greedy_decoding_takes_the_best_label() -> None:
    network = small_language_model(seed=2)
    ((best,),) = decode(network, [[]], Greedy(), 6)
    read = [START]
    for label in best.labels:
        logits = logits_of(network, Batch.pack([read]))[-1]
        logits[:3] = -np.inf  # pad, unknown and start are never written
        assert logits.argmax() == label
        read.append(int(label))


@every_block
def test_a_sequence_gives_the_same_alone_and_in_a_batch(block: str) -> None:
    network = small_language_model(block=block, layers=2)
    for i, rows in enumerate(split(logits_of(network, LABELS), LABELS)):
        np.testing.assert_allclose(rows, logits_of(network, sequence(LABELS, i)), atol=1e-12)


@every_block
def test_shards_drop_what_the_whole_batch_drops(block: str) -> None:
    network, noisy = small_language_model(block=block, dropout=0.4), ForwardContext(DropoutKey(1, 2))
    outputs = np.concatenate([value_of(network(part, noisy)) for part in LABELS.shards(2)])
    np.testing.assert_allclose(outputs, value_of(network(LABELS, noisy)), atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_it_learns_to_say_what_comes_next(threads: int) -> None:
    """A little gradient descent on one cyclic text: every next label is found."""
    network = LanguageModel(LanguageModelConfiguration(vocabulary=VOCABULARY, depth=16, heads=2), dtype=np.float64)
    text = np.array([3, 4, 5] * 3)
    batch = Batch(np.tile(text[:-1], 4), np.arange(0, 33, 8), np.tile(text[1:], 4))
    workers = Workers(threads)
    for _ in range(60):
        loss, gradient = workers.differentiate(LossIndex(), network, batch, ForwardContext())
        network.theta.values -= 0.3 * gradient
    workers.close()
    assert loss.accuracy == 1
    assert loss.error < 0.1


def test_attention_maps_are_causal() -> None:
    maps = small_language_model(layers=2).attention(LABELS)
    assert list(maps) == ["blocks.0.self_attention", "blocks.1.self_attention"]
    for weights in maps.values():
        assert weights.shape == (3, 2, 4, 4)
        assert not np.triu(weights, 1).any()
        np.testing.assert_allclose(weights[1].sum(axis=2), 1, rtol=1e-14)


@pytest.mark.parametrize("tied", ["none", "output"])
def test_saved_and_loaded(tied: str, tmp_path: Path) -> None:
    saved, loaded = small_language_model(tied=tied), small_language_model(tied=tied, seed=1)
    save_weights(saved, tmp_path / "weights.safetensors")
    assert (logits_of(loaded, LABELS) != logits_of(saved, LABELS)).any()
    load_weights(loaded, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(logits_of(loaded, LABELS), logits_of(saved, LABELS))


@pytest.mark.parametrize("positions", ["one_hot", "concatenated_sinusoid"])
def test_a_narrower_table_cannot_be_tied(positions: Any) -> None:
    with pytest.raises(ConfigurationError, match="cannot be tied"):
        small_language_model(positions=positions, tied="output")


@given(
    settings=st.fixed_dictionaries(
        {
            "positions": st.sampled_from(POSITIONS),
            "block": st.sampled_from(["pre", "post"]),
            "tied": st.sampled_from(["none", "output"]),
            "layers": st.integers(1, 3),
            "hidden_layers": st.sampled_from([1, 2]),
            "vocabulary": st.integers(1, 4),
        }
    )
)
def test_the_count_is_known_before_it_is_built(settings: dict[str, Any]) -> None:
    if settings["positions"] in ("one_hot", "concatenated_sinusoid"):
        settings["tied"] = "none"
    configuration = LanguageModelConfiguration(**sizes(settings))
    assert configuration.count() == LanguageModel(configuration).count()
