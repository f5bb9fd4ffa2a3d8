"""The book's sections 7.1, 7.2 and 7.5 on the networks that are there: series, wirings, batches, fixed lengths."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dragoman.batch import END, PAD, START, Batch
from dragoman.data.pair_encoding import add_marks, pad_to
from dragoman.errors import ConfigurationError, LabelError, ShapeError
from dragoman.graph import Array, backpropagate, value_of
from dragoman.loss import LossIndex
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.operations import DropoutKey, cross_entropy, take_rows
from dragoman.text.sentences import pieces
from dragoman.training.scheduled import with_own_outputs
from tests.networks.recurrent_networks import small_encoder_decoder
from tests.networks.small_networks import logits_of, scatter, small_transformer, split

every_cell = pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])


def recurrent(inputs: int, units: int, outputs: int, **settings: Any) -> RecurrentNetwork:
    sizes = RecurrentNetworkConfiguration(inputs=inputs, units=units, outputs=outputs, **settings)
    return RecurrentNetwork(sizes, 0, np.float64)


# Sequences and tasks (7.1)


@pytest.mark.ledger("B-7.1-seq")
@pytest.mark.parametrize("p", [1, 3])
@every_cell
def test_series_of_any_length_with_one_variable_or_several(cell: Any, p: int) -> None:
    rng, network = np.random.default_rng(0), scatter(recurrent(p, 4, 2, cell=cell))
    series = [rng.standard_normal((length, p)) for length in (1, 7, 60)]
    batch = Batch.pack(series)
    for alone, rows in zip(series, split(logits_of(network, batch), batch), strict=True):
        assert rows.shape == (len(alone), 2)
        np.testing.assert_allclose(rows, logits_of(network, Batch.pack([alone])), rtol=1e-11, atol=1e-13)
    with pytest.raises(ShapeError, match=f"rows of {p} numbers expected"):
        network(Batch.pack([rng.standard_normal((5, p + 1))]))


@pytest.mark.ledger("B-7.1-horizon")
def test_a_sine_goes_on_by_itself() -> None:
    """x<t+1> = 2 cos(0.3) x<t> - x<t-1>, which two linear units know; after 20 moments, 60 from its own outputs."""
    wave = np.sin(0.3 * np.arange(80) + 1)[:, None]
    warm_up, future = wave[:20], wave[20:]
    network = recurrent(1, 2, 1, activation="identity")
    network.theta.values[:] = 0
    arrays = dict(network.named_arrays())
    arrays["hidden.forward.0.state.weights"][0, 0] = 1  # h = (x<t>, x<t-1>)
    arrays["hidden.forward.0.state.recurrent_weights"][0, 1] = 1
    arrays["output.weights"][:, 0] = [2 * np.cos(0.3), -1]

    forecast = network.forecast(warm_up, len(future))
    np.testing.assert_allclose(forecast, future, atol=1e-9)
    in_one_pass = logits_of(network, Batch.pack([np.concatenate((warm_up, forecast[:-1]))]))
    np.testing.assert_allclose(in_one_pass[19:], forecast, rtol=1e-12)
    with pytest.raises(ConfigurationError, match="1 inputs and 2 outputs"):
        recurrent(1, 2, 2).forecast(warm_up, 3)


WORDS = 5


def one_to_many(labels: Array) -> Array:
    rows = np.zeros((4, WORDS))
    rows[0, labels[0]] = 1
    return logits_of(scatter(recurrent(WORDS, 6, WORDS, feedback=True)), Batch.pack([rows]))


def many_to_one(labels: Array) -> Array:
    return logits_of(scatter(recurrent(WORDS, 6, 3)), Batch.pack([labels]))[-1:]


def many_to_many_partial(labels: Array) -> Array:
    network = small_encoder_decoder(cell="gru", context="initial")
    return logits_of(network, Batch.pack([[START, 4, 1, 4]], Batch.pack([labels])))


def many_to_many_complete(labels: Array) -> Array:
    return logits_of(scatter(recurrent(WORDS, 6, 3)), Batch.pack([labels]))


@pytest.mark.ledger("B-7.1-paradigms")
@pytest.mark.parametrize(
    ("wiring", "inputs", "expected"),
    [
        (one_to_many, 1, np.ones((1, 4))),
        (many_to_one, 4, np.ones((4, 1))),
        (many_to_many_partial, 3, np.ones((3, 4))),  # all is read before anything is written, to another length
        (many_to_many_complete, 4, np.triu(np.ones((4, 4)))),  # one output for every input, by what was read so far
    ],
    ids=["one to many", "many to one", "many to many, partial", "many to many, complete"],
)
def test_which_inputs_reach_which_outputs_in_figure_7_2(
    wiring: Callable[[Array], Array], inputs: int, expected: Array
) -> None:
    labels = np.array([4, 1, 3, 0])[:inputs]
    before = wiring(labels)
    others = [np.where(np.arange(inputs) == i, (labels + 1) % WORDS, labels) for i in range(inputs)]
    reached = [(np.abs(wiring(other) - before) > 1e-9).any(axis=1) for other in others]
    np.testing.assert_array_equal(reached, expected)


# Recurrent networks and how they are trained (7.2)

LEXICON = ["deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the"]
SENTENCE = "the mathematical engineering of deep learning"


@pytest.mark.ledger("B-F7.5")
def test_the_prediction_of_figure_7_5_is_right_four_times_in_five() -> None:
    """As in the caption: at t = 4 it says engineering and should say deep; the text below has them exchanged."""
    sentence = [LEXICON.index(word) for word in SENTENCE.split()]
    said = ["mathematical", "engineering", "of", "engineering", "learning"]
    network = recurrent(8, 20, 8)
    network.theta.values[:] = 0
    arrays = dict(network.named_arrays())
    arrays["hidden.forward.0.state.weights"][:, :8] = np.eye(8)
    for read, word in zip(sentence, said, strict=False):
        arrays["output.weights"][read, LEXICON.index(word)] = 1
    batch = Batch(np.array(sentence[:-1]), np.array([0, 5]), np.array(sentence[1:]))
    best = logits_of(network, batch).argmax(axis=1)
    assert [LEXICON[label] for label in best] == said
    assert batch.targets is not None
    wrong = [
        (t + 1, LEXICON[a], LEXICON[b]) for t, (a, b) in enumerate(zip(best, batch.targets, strict=True)) if a != b
    ]
    assert wrong == [(4, "engineering", "deep")]
    loss = LossIndex().evaluate(network, batch)
    assert (loss.hits, loss.accuracy) == (4, 0.8)


@pytest.mark.ledger("B-7.2-batch")
@every_cell
def test_a_batch_of_sentences_is_the_mean_over_their_words(cell: Any) -> None:
    """Loss and gradient; pads that weigh nothing change neither, and no sentence continues the one before."""
    rng, network = np.random.default_rng(1), scatter(recurrent(WORDS, 3, WORDS, cell=cell))
    sentences = [rng.integers(0, WORDS, length) for length in (6, 2, 4)]

    def judged(length: int) -> tuple[float, Array]:
        """Of all in one batch, filled up to a length at least."""
        fixed = [max(length, len(s) - 1) for s in sentences]
        read, targets, ones = (
            [pad_to(rows, n) for rows, n in zip(part, fixed, strict=True)]
            for part in ([s[:-1] for s in sentences], [s[1:] for s in sentences], [s[1:] * 0 + 1 for s in sentences])
        )
        batch = replace(Batch.pack(read), targets=np.concatenate(targets), loss_weights=np.concatenate(ones))
        loss, gradient = LossIndex().differentiate(network, batch)
        return loss.error, gradient

    def of_one(labels: Array) -> tuple[float, Array]:
        loss, gradient = LossIndex().differentiate(
            network, Batch(labels[:-1], np.array([0, len(labels) - 1]), labels[1:])
        )
        return loss.error, gradient

    alone = [of_one(sentence) for sentence in sentences]
    shares = np.array([5, 1, 3]) / 9  # of the words to guess
    for length in (0, 5):
        error, gradient = judged(length)
        assert error == pytest.approx(shares @ [error for error, _ in alone], rel=1e-12)
        np.testing.assert_allclose(gradient, shares @ [gradient for _, gradient in alone], rtol=1e-9, atol=1e-14)
    assert abs(of_one(np.concatenate(sentences))[0] - error) > 1e-4  # one long text is something else


@pytest.mark.ledger("B-7.2-init")
@every_cell
@pytest.mark.parametrize(("inputs", "units"), [(100, 200), (300, 50)])
def test_initial_weights_spread_as_in_feedforward_layers_of_their_size(cell: Any, inputs: int, units: int) -> None:
    """Variance 2 / (inputs + outputs) of each matrix; what is multiplied again and again is a rotation, of 1 / m."""
    network = recurrent(inputs, units, 100, cell=cell)
    fans = {"weights": (inputs, units), "recurrent_weights": (units, units)}
    drawn = []
    for name, array in network.named_arrays():
        kind = name.rpartition(".")[2]
        if kind == "biases":
            assert (array == (1 if ".forget." in name else 0)).all()
            continue
        rows, columns = (units, 100) if name == "output.weights" else fans[kind]
        assert array.shape == (rows, columns)
        assert array.var() == pytest.approx(2 / (rows + columns), rel=0.06)
        assert abs(array.mean()) < 5 * (array.var() / array.size) ** 0.5
        if kind == "recurrent_weights":
            np.testing.assert_allclose(array @ array.T, np.eye(units), atol=1e-12)
            drawn.append(array)
    assert all((a != b).any() for a, b in itertools.combinations(drawn, 2))  # no gate is another's copy


# Padding and fixed lengths (7.4, 7.5)


@pytest.mark.ledger("B-7.4-pad")
def test_a_word_where_nothing_is_wanted_costs_by_the_books_rule_only() -> None:
    """Footnote 9 waives the loss where both sides are empty; pairs are weighed by their targets alone (thesis)."""
    batch = Batch.pairs([[5, END]], [[START, 5, 4, END, PAD, PAD]])
    assert batch.targets is not None
    logits = np.random.default_rng(2).standard_normal((5, 6))
    logits[3:, PAD] = [-3, 3]  # goes on talking at the first empty place, is silent at the second
    e = np.exp(logits)
    losses = -np.log(e[np.arange(5), batch.targets] / e.sum(axis=1))

    def error(waived: Array) -> float:
        return float(cross_entropy(logits, targets=batch.targets, weights=1.0 - waived)[0])

    empty, silent = batch.targets == PAD, logits.argmax(axis=1) == PAD
    assert float(cross_entropy(logits, targets=batch.targets, weights=batch.loss_weights)[0]) == pytest.approx(
        losses[:3].mean(), rel=1e-12
    )
    assert error(empty & silent) == pytest.approx(losses[:4].mean(), rel=1e-12)
    assert error(empty & silent) > error(empty) + 0.1


NINE = 9
WE_LOVE_DEEP_LEARNING = [4, 5, 6, 7]
NOUS_AIMONS_L_APPRENTISSAGE_EN_PROFONDEUR = [4, 5, 6, 7, 8, 9]


@pytest.mark.ledger("B-7.5-fixedlen")
def test_nine_positions_for_five_labels_and_for_seven() -> None:
    """The book's example; what is too long is refused, cut with its end kept, or divided."""
    source = pad_to(np.array([*WE_LOVE_DEEP_LEARNING, END]), NINE)
    french = [START, *NOUS_AIMONS_L_APPRENTISSAGE_EN_PROFONDEUR, END]
    reference = pad_to(np.array(french), NINE + 1)  # its start is read and not wanted
    batch = Batch.pairs([source], [reference])
    assert batch.source is not None
    assert batch.targets is not None
    assert batch.loss_weights is not None
    assert (batch.source.labels == PAD).tolist() == [False] * 5 + [True] * 4
    assert (batch.targets == PAD).tolist() == [False] * 7 + [True] * 2
    assert batch.loss_weights.tolist() == [1] * 7 + [0] * 2
    sizes = {"source_vocabulary": 8, "target_vocabulary": 10, "positions": "learned", "maximum_length": NINE}
    network = small_transformer(**sizes)
    assert logits_of(network, batch).shape == (NINE, 10)

    long = np.resize(WE_LOVE_DEEP_LEARNING, 10)
    with pytest.raises(LabelError, match=r"10 positions.*built for 9"):
        network(Batch.pairs([long], [reference]))
    with pytest.raises(ConfigurationError, match="10 labels does not fit into 9"):
        pad_to(long, NINE)
    cut, told = add_marks(long, NINE)
    assert (cut.tolist(), told) == ([START, 4, 5, 6, 7, 4, 5, 6, END], True)
    text = " ".join(["we love deep learning"] * 3)
    parts = list(pieces(text, lambda part: len(part.split()) <= NINE - 1))
    assert "".join(parts) == text
    assert max(len(part.split()) for part in parts) <= NINE - 1


@pytest.mark.ledger("B-7.5-trainnaive")
@pytest.mark.parametrize("block", ["post", "pre"])
def test_differentiating_the_loop_that_writes(block: str) -> None:
    """(7.34) recorded step by step, each reading what was written so far: as one pass over the network's own labels.

    Nothing is passed back through the choice of a label, so that one pass has the same gradient.
    """
    network = small_transformer(block=block, layers=2)
    batch = Batch.pairs([[4, 1, 3]], [[START, 4, 1, 4, 1, END]])
    assert batch.targets is not None
    written, error, gradient = [START], 0.0, np.zeros(len(network.theta))
    for t, target in enumerate(batch.targets):
        logits = take_rows(network(Batch.pack([written], batch.source)), rows=np.array([t]))
        loss, _ = cross_entropy(logits, targets=np.array([target]))
        error += float(loss) / len(batch.targets)
        gradient += backpropagate(loss, network.theta) / len(batch.targets)
        written.append(END + int(value_of(logits)[0, END:].argmax()))
    assert written[:-1] != batch.labels.tolist()
    own = with_own_outputs(network, batch, 1 - 2**-20, DropoutKey(0, 1))
    at_once, expected = LossIndex().differentiate(network, own)
    assert own.labels.tolist() == written[:-1]
    assert at_once.error == pytest.approx(error, rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-13)
    assert np.abs(LossIndex().differentiate(network, batch)[1] - gradient).max() > 1e-3  # teacher forcing
