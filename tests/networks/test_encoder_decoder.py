"""Recurrent encoder-decoders (book 7.4): any cell, any context, any score, in training and in decoding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from dragoman.batch import END, START, Batch
from dragoman.data.pair_encoding import add_marks
from dragoman.decoding import Beam, Greedy, Sampling, decode
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import gradient_check, value_of
from dragoman.layers import ForwardContext, Initializer, Score, ScoredAttention
from dragoman.networks import EncoderDecoder, RecurrentConfiguration
from dragoman.networks.encoder_decoder import reversed_rows
from dragoman.operations import DropoutKey
from tests.networks.recurrent_networks import EVERY, small_encoder_decoder, told
from tests.networks.small_networks import RAGGED, VOCABULARY, logits_of, split

TINY = Batch.pairs([[2, 4, 3], [2, 3]], [[2, 4, 1, 3], [2, 3]])  # a length of 1 among the references
SOURCES = [[2, 4, 3], [2, 1, 4, 4, 3], [3]]
REFERENCES = np.array([[2, 4, 1, 4], [2, 1, 3, 3], [2, 2, 4, 0]])


@pytest.mark.ledger("B-7.4-bienc", "B-7.4-train", "B-7.4-concat", "B-7.4-general", "B-7.4-additive", "B-7.3-lstmstack")
@pytest.mark.parametrize("settings", EVERY, ids=told)
def test_every_gradient(settings: dict[str, Any]) -> None:
    gradient_check(small_encoder_decoder(**settings), TINY).require()


@pytest.mark.ledger("B-7.1-tasks-c")
@pytest.mark.parametrize("settings", EVERY, ids=told)
def test_steps_equal_the_pass_over_the_whole_reference(settings: dict[str, Any]) -> None:
    network = small_encoder_decoder(**settings)
    whole = logits_of(network, Batch.pack(list(REFERENCES), Batch.pack(SOURCES))).reshape(*REFERENCES.shape, -1)
    state = network.encode(Batch.pack(SOURCES))
    for t, labels in enumerate(REFERENCES.T):
        assert len(state) == 3
        logits, state = network.step(state, labels)
        np.testing.assert_allclose(logits, whole[:, t], atol=1e-12)


@pytest.mark.ledger("B-7.4-stop")
@pytest.mark.parametrize("settings", EVERY[:7], ids=told)
def test_one_stop_token_closes_what_is_read_and_what_is_written(settings: dict[str, Any]) -> None:
    network = small_encoder_decoder(**settings)
    source, _ = add_marks(np.array([4, 1]), None)
    assert source.tolist() == [START, 4, 1, END]
    closed, open_ended = (network.encode(Batch.pack([labels])) for labels in (source, source[:-1]))
    first = np.array([START])
    assert np.abs(network.step(closed, first)[0] - network.step(open_ended, first)[0]).max() > 1e-6  # it is read
    biases = dict(network.named_arrays())["output.biases"]
    for bias, written, finished in ((90.0, 0, True), (-90.0, 6, False)):
        biases[END] = bias
        ((found,),) = decode(network, [source.tolist()], Greedy(), 6)
        assert (len(found.labels), found.finished) == (written, finished)


@pytest.mark.parametrize("settings", EVERY[:7], ids=told)
def test_states_are_selected_in_any_order_with_repetition(settings: dict[str, Any]) -> None:
    network = small_encoder_decoder(**settings)
    state = network.encode(Batch.pack(SOURCES))
    for labels in REFERENCES.T[:2]:
        _, state = network.step(state, labels)
    rows, new = np.array([2, 0, 2, 1]), np.array([4, 3, 1, 0])
    logits, after = network.step(state.select(rows), new)
    references = np.column_stack((REFERENCES[rows, :2], new))
    whole = logits_of(network, Batch.pack(list(references), Batch.pack([SOURCES[row] for row in rows])))
    np.testing.assert_allclose(logits, whole.reshape(4, 3, -1)[:, 2], atol=1e-12)
    assert len(after) == 4


@pytest.mark.parametrize("settings", EVERY[:7], ids=told)
def test_alone_or_together_the_same(settings: dict[str, Any]) -> None:
    """Ragged references leave the batch at different steps, and nobody notices."""
    network = small_encoder_decoder(**settings)
    together = split(logits_of(network, RAGGED), RAGGED)
    for i, rows in enumerate(together):
        assert RAGGED.source is not None
        one = RAGGED.between(i, i + 1)
        np.testing.assert_allclose(logits_of(network, one), rows, atol=1e-12)


@pytest.mark.parametrize("settings", EVERY[::4], ids=told)
def test_dropout_does_not_depend_on_the_shard(settings: dict[str, Any]) -> None:
    network = small_encoder_decoder(**settings, dropout=0.4)
    run = ForwardContext(DropoutKey(1, 2))
    whole = value_of(network(RAGGED, run))
    parts = [value_of(network(RAGGED.between(i, i + 1), run)) for i in range(len(RAGGED))]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-12)
    assert np.abs(whole - logits_of(network, RAGGED)).max() > 1e-3


@pytest.mark.parametrize("method", [Greedy(), Beam(3), Sampling(seed=1)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("settings", EVERY[3::6], ids=told)
def test_every_way_of_decoding_writes_them(settings: dict[str, Any], method: Any) -> None:
    network = small_encoder_decoder(**settings)
    one_by_one = [decode(network, [source], method, 6, numbers=[i])[0] for i, source in enumerate(SOURCES)]
    together = decode(network, SOURCES, method, 6, numbers=[0, 1, 2])
    for alone, beside in zip(one_by_one, together, strict=True):
        np.testing.assert_array_equal(alone[0].labels, beside[0].labels)
        assert alone[0].log_probability == pytest.approx(beside[0].log_probability)


@pytest.mark.ledger("B-7.22eq", "B-7.20eq", "B-7.4-dot", "B-7.4-scaled", "B-7.4-attn", "B-7.21eq-nc")
@pytest.mark.parametrize("score", get_args(Score))
def test_the_equations_step_by_step(score: Score) -> None:
    """(7.14), (7.20), (7.21) and (7.22) in loops over one sentence, written without the operations."""
    network = small_encoder_decoder(cell="rnn", context="attention", score=score, bidirectional=True, units=4)
    weights = dict(network.named_arrays())
    source, reference = [2, 4, 1, 3], [2, 1, 4]
    x = [weights["source_embedding.table"][label] for label in source]
    forward, backward = [np.zeros(2)], [np.zeros(2)]
    for direction, states, rows in (("forward", forward, x), ("backward", backward, x[::-1])):
        w, r, b = (weights[f"encoder.{direction}.0.state.{n}"] for n in ("weights", "recurrent_weights", "biases"))
        for row in rows:
            states.append(np.tanh(row @ w + states[-1] @ r + b))
    v = [np.concatenate((f, b)) for f, b in zip(forward[1:], backward[:0:-1], strict=True)]
    s = np.concatenate((forward[-1], backward[-1]))
    cell = {n: weights[f"decoder.cells.forward.0.state.{n}"] for n in ("weights", "recurrent_weights", "biases")}
    for label, found in zip(reference, logits_of(network, Batch.pack([reference], Batch.pack([source]))), strict=True):
        scores = np.array([_score(score, s, key, weights) for key in v])
        alpha = np.exp(scores) / np.exp(scores).sum()
        u = sum(a * row for a, row in zip(alpha, v, strict=True))
        y = np.concatenate((weights["reference_embedding.table"][label], u))
        s = np.tanh(y @ cell["weights"] + s @ cell["recurrent_weights"] + cell["biases"])
        np.testing.assert_allclose(found, s @ weights["output.weights"] + weights["output.biases"], atol=1e-12)


def _score(score: Score, q: Any, k: Any, weights: dict[str, Any]) -> float:
    w = {name.rpartition(".")[2]: value for name, value in weights.items() if name.startswith("decoder.attention")}
    if score == "dot":
        return float(q @ k)
    if score == "scaled_dot":
        return float(q @ k) / max(len(q), len(k)) ** 0.5
    if score == "general":
        return float(q @ w["weights"] @ k)
    if score == "concatenation":
        return float(w["score_weights"] @ np.tanh(np.concatenate((q, k)) @ w["weights"]))
    return float(w["score_weights"] @ np.tanh(q @ w["weights"] + k @ w["key_weights"]))


@pytest.mark.ledger("B-7.4-additive", "B-7.4-general", "B-7.4-concat")
def test_scores_that_are_each_other() -> None:
    """Concatenation with W = [W_sa, W_sb] is additive; general with W_s = 1 is the inner product."""
    rng = np.random.default_rng(0)
    z, v, offsets, memory = (
        rng.standard_normal((3, 4)),
        rng.standard_normal((7, 4)),
        np.arange(4),
        np.array([0, 2, 3, 7]),
    )
    layers = {score: ScoredAttention(score, 4, 4, Initializer(1, np.float64)) for score in get_args(Score)}
    added, joined, general = layers["additive"], layers["concatenation"], layers["general"]
    value_of(joined.weights)[...] = np.concatenate((value_of(added.weights), value_of(added.key_weights)))
    value_of(joined.score_weights)[...] = value_of(added.score_weights)
    value_of(general.weights)[...] = np.eye(4)
    for one, other in ((added, joined), (general, layers["dot"])):
        found = [value_of(layer(z, layer.look_at(v, memory), offsets)) for layer in (one, other)]
        np.testing.assert_allclose(found[0], found[1], atol=1e-14)


@pytest.mark.ledger("B-7.4-dimconstraint")
@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_an_inner_product_needs_equal_depths(score: Score) -> None:
    with pytest.raises(ConfigurationError, match="queries have 3 columns and keys 4; choose general"):
        ScoredAttention(score, 3, 4, Initializer())
    ScoredAttention("general", 3, 4, Initializer())


@pytest.mark.ledger("B-7.4-reverse")
def test_a_reversed_source_is_read_from_its_end() -> None:
    """Start and end stay where they are: 'I am going to read' is read as 'read to going am I'."""
    batch = Batch.pack([[2, 5, 6, 7, 8, 3], [2, 3], [5, 6], [2, 9, 3]])
    assert batch.labels[reversed_rows(batch)].tolist() == [2, 8, 7, 6, 5, 3, 2, 3, 6, 5, 2, 9, 3]
    settings: dict[str, Any] = {"cell": "gru", "context": "attention", "score": "dot"}
    forwards, backwards = small_encoder_decoder(**settings), small_encoder_decoder(**settings, reversed=True)
    backwards.theta.assign(forwards.theta.values)
    given, turned = Batch.pack([[2, 4, 1, 0, 3]]), Batch.pack([[2, 0, 1, 4, 3]])
    one = Batch.pack([[2, 4, 1]], given)
    other = replace(one, source=turned)
    np.testing.assert_allclose(logits_of(backwards, one), logits_of(forwards, other), atol=1e-12)
    seen, mirrored = backwards.alignment(one)[0], forwards.alignment(other)[0]
    np.testing.assert_allclose(seen[:, [0, 3, 2, 1, 4]], mirrored, atol=1e-12)  # in the order of the source


@pytest.mark.ledger("B-7.4-encdec-a")
def test_the_context_is_the_first_state() -> None:
    network = small_encoder_decoder(cell="lstm", context="initial", bidirectional=True, units=6)
    for sources in (SOURCES, [[4, 4, 4, 4, 4, 4]]):
        state = network.encode(Batch.pack(sources))
        assert state.context.shape == (len(sources), 6)  # however long the source
        np.testing.assert_array_equal(value_of(state.states[-1][0]), state.context)


@pytest.mark.ledger("B-7.4-encdec-b")
def test_the_context_is_seen_at_every_step() -> None:
    """With the states held, another context changes the output by way of the output layer and of the input."""
    network = small_encoder_decoder(cell="gru", context="every_step")
    state = network.encode(Batch.pack(SOURCES))
    for labels in REFERENCES.T:
        other = replace(state, context=state.context + 1)
        views = dict(network.named_arrays())
        shown = views["output.weights"][2:]
        (before, after), (changed, _) = network.step(state, labels), network.step(other, labels)
        assert np.abs(changed - before - shown.sum(axis=0)).max() > 1e-4  # more than the output layer alone
        assert np.abs(changed - before).min(axis=1).max() > 0
        state = after


@pytest.mark.ledger("B-7.20eq", "B-7.21eq-nc")
@pytest.mark.parametrize("settings", [s for s in EVERY if s["context"] == "attention"][::3], ids=told)
def test_attention_is_a_share_of_every_row_of_the_source(settings: dict[str, Any]) -> None:
    network = small_encoder_decoder(**settings)
    maps = network.attention(RAGGED)["decoder.attention"]
    assert maps.shape == (3, 1, 4, 4)
    assert RAGGED.source is not None
    for i, (wrote, read) in enumerate(zip(RAGGED.lengths, RAGGED.source.lengths, strict=True)):
        np.testing.assert_allclose(maps[i, 0, :wrote, :read].sum(axis=1), 1)
        assert (maps[i, 0, :wrote, :read] > 0).all()
        assert (maps[i, 0, wrote:] == 0).all()
        assert (maps[i, 0, :, read:] == 0).all()


def test_without_attention_there_is_nothing_to_show() -> None:
    network = small_encoder_decoder(cell="lstm", context="initial")
    assert network.attention(RAGGED) == {}
    with pytest.raises(ConfigurationError, match="--architecture lstm-attention"):
        network.alignment(RAGGED)


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigurationError, match="needs an even number of units, got 3"):
        small_encoder_decoder(bidirectional=True, units=3)
    network = small_encoder_decoder()
    with pytest.raises(ShapeError, match="reads pairs"):
        network(Batch.pack([[2, 4]]))
    with pytest.raises(ShapeError, match="2 labels for a state of 3"):
        network.step(network.encode(Batch.pack(SOURCES)), np.array([2, 2]))


def test_parameters_are_published_gate_by_gate() -> None:
    """The sizes of (7.16) and (7.17), each matrix by its gate's name."""
    sizes = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "depth": 3, "units": 4}
    network = EncoderDecoder(RecurrentConfiguration(cell="lstm", context="initial", **sizes))
    shapes = {name: view.shape for name, view in network.named_arrays()}
    for gate in ("forget", "input", "output", "memory"):
        assert shapes[f"encoder.forward.0.{gate}.weights"] == (3, 4)
        assert shapes[f"encoder.forward.0.{gate}.recurrent_weights"] == (4, 4)
        assert shapes[f"encoder.forward.0.{gate}.biases"] == (4,)
    assert network.count() == sum(int(np.prod(shape)) for shape in shapes.values())


@pytest.mark.parametrize(("cell", "deviation"), [("rnn", 1 / 8), ("lstm", 1.0), ("gru", 1.0)])
def test_cells_with_gates_start_with_larger_embeddings(cell: Any, deviation: float) -> None:
    configuration = RecurrentConfiguration(source_vocabulary=500, target_vocabulary=400, depth=64, units=8, cell=cell)
    network = EncoderDecoder(configuration)
    for embedding in (network.source_embedding, network.reference_embedding):
        assert value_of(embedding.table).std() == pytest.approx(deviation, rel=0.02)
