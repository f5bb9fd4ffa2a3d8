"""The toy of the book's section 7.2, as the example trains it, and what its sizes say about the other recurrences."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Array, gradient_check, value_of
from dragoman.loss import LossIndex
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.networks.recurrent import NONE
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

ROOT = Path(__file__).parents[2]
EXAMPLE, PAGE = ROOT / "examples" / "toy.py", ROOT / "docs" / "recurrent.md"
SENTENCE = "the mathematical engineering of deep learning"
LEXICON = ["deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the"]


@pytest.fixture(scope="module")
def toy() -> dict[str, Any]:
    """What the example's names stand for when it is over."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(EXAMPLE))


def network(outputs: int = 8, **settings: Any) -> RecurrentNetwork:
    return RecurrentNetwork(RecurrentNetworkConfiguration(inputs=outputs, units=20, outputs=outputs, **settings))


def trained(network: RecurrentNetwork, batch: Batch) -> RecurrentNetwork:
    outcome = train(network, itertools.repeat(batch), Adam(), Constant(0.01), Stopping(steps=200, loss_goal=0.01))
    assert "reached the goal" in outcome.reason
    return network


def test_the_example_says_the_sentence_by_itself() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, count, *_, reason, last = done.stdout.splitlines()
    assert first.endswith("[8 5 2 6 1 3]")
    assert count == "748 parameters"
    assert "reached the goal" in reason
    assert last == f"says: {SENTENCE}"


NUMBER = re.compile(r"\d+\.\d+")


def test_the_page_shows_the_example_and_what_it_prints() -> None:
    """Word for word; of the losses the first digits."""
    page = PAGE.read_text(encoding="utf-8")
    _, _, program = EXAMPLE.read_text(encoding="utf-8").split('"""', 2)
    assert f"```python\n{program.lstrip()}```" in page
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=100, check=True)
    (shown,) = re.findall(r"prints\n\n```\n(.*?)```", page, re.DOTALL)
    assert NUMBER.sub("#", shown) == NUMBER.sub("#", done.stdout)
    ours, theirs = (list(map(float, NUMBER.findall(text))) for text in (shown, done.stdout))
    assert ours == pytest.approx(theirs, rel=0.02, abs=0.001)


@pytest.mark.ledger("B-7.2-toylex", "B-7.1-onehot")
def test_words_are_unit_vectors_in_the_order_of_the_alphabet(toy: dict[str, Any]) -> None:
    assert toy["LEXICON"] == LEXICON == sorted(LEXICON)
    assert toy["SENTENCE"] == SENTENCE
    assert (toy["x"] + 1).tolist() == [8, 5, 2, 6, 1, 3]
    rows = toy["network"].rows(toy["batch"])
    np.testing.assert_array_equal(rows[0], [0, 0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(rows[1], [0, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.ledger("B-7.2-toytarget", "B-7.2-selfsup", "B-7.1-tasks-a")
def test_targets_are_the_words_one_step_ahead(toy: dict[str, Any]) -> None:
    batch, network = toy["batch"], toy["network"]
    assert (batch.targets + 1).tolist() == [5, 2, 6, 1, 3]
    np.testing.assert_array_equal(batch.targets[:-1], batch.labels[1:])
    assert batch.source is None  # the sentence alone
    np.testing.assert_array_equal(value_of(network.plain(batch)).argmax(axis=1), batch.targets)


@pytest.mark.ledger("B-7.2-748")
def test_748_parameters(toy: dict[str, Any]) -> None:
    network = toy["network"]
    shapes = {name: array.shape for name, array in network.named_arrays()}
    assert shapes == {
        "hidden.forward.0.state.weights": (8, 20),
        "hidden.forward.0.state.biases": (20,),
        "hidden.forward.0.state.recurrent_weights": (20, 20),
        "output.weights": (20, 8),
        "output.biases": (8,),
    }
    assert network.count() == 20 * 20 + 20 * 8 + 20 + 8 * 20 + 8 == 748


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        pytest.param({"cell": "lstm"}, 2488, marks=pytest.mark.ledger("B-7.3-lstmcount")),
        pytest.param({"cell": "gru"}, 1908, marks=pytest.mark.ledger("B-7.3-grucount")),
        pytest.param({"bidirectional": True}, 1488, marks=pytest.mark.ledger("B-7.14eq")),
        pytest.param({"layers": 2}, 1568, marks=pytest.mark.ledger("B-7.15eq")),
    ],
    ids=["lstm", "gru", "bidirectional", "stacked"],
)
def test_the_toy_with_other_cells(settings: dict[str, Any], count: int, toy: dict[str, Any]) -> None:
    other = network(**settings)
    assert other.count() == count
    batch = toy["batch"]
    trained(other, batch)
    outputs = value_of(other.plain(batch))
    np.testing.assert_array_equal(outputs.argmax(axis=1), batch.targets)
    if not settings.get("bidirectional"):
        state = other.encode(batch)
        for label, expected in zip(batch.labels, outputs, strict=True):
            scores, state = other.step(state, np.array([label]))
            np.testing.assert_allclose(scores[0], expected, rtol=1e-4, atol=1e-5)


def test_before_it_knows_anything_it_guesses_among_eight_words(toy: dict[str, Any]) -> None:
    untaught = network()
    value_of(untaught.output.weights)[:] = 0
    assert LossIndex().evaluate(untaught, toy["batch"]).error == pytest.approx(math.log(8), rel=1e-6)
    assert toy["outcome"].losses[0].error == pytest.approx(math.log(8), abs=0.5)
    assert toy["outcome"].losses[-1].error < 0.01


# Both directions and layers, written out


def states(network: RecurrentNetwork, place: str, inputs: Array) -> Array:
    """h<t> = tanh(W_hh h<t-1> + W_hx x<t> + b_h), row by row, with the parameters of one cell."""
    own = {name.removeprefix(place): array for name, array in network.named_arrays() if name.startswith(place)}
    h, found = np.zeros(network.configuration.units), []
    for x in inputs:
        h = np.tanh(own[".recurrent_weights"].T @ h + own[".weights"].T @ x + own[".biases"])
        found.append(h)
    return np.array(found)


def doubled(**settings: Any) -> tuple[RecurrentNetwork, Array, Batch]:
    """A toy in float64 with biases that are not 0, what it reads as unit vectors, and the same as a batch."""
    built = RecurrentNetwork(RecurrentNetworkConfiguration(inputs=8, units=20, outputs=8, **settings), 1, np.float64)
    built.theta.values[:] += np.random.default_rng(2).normal(0, 0.1, len(built.theta))
    labels = np.array([7, 4, 1, 5, 0, 2])
    return built, np.eye(8)[labels], Batch.pack([labels])


@pytest.mark.ledger("B-7.14eq", "B-F7.7")
def test_both_directions_are_read_apart_and_added() -> None:
    both, x, batch = doubled(bidirectional=True)
    forward = states(both, "hidden.forward.0.state", x)
    backward = states(both, "hidden.backward.0.state", x[::-1])[::-1]
    weights, biases = value_of(both.output.weights), value_of(both.output.biases)
    expected = forward @ weights[:20] + backward @ weights[20:] + biases
    np.testing.assert_allclose(value_of(both.plain(batch)), expected, rtol=1e-12)


@pytest.mark.ledger("B-7.14eq")
def test_reading_from_the_end_swaps_the_directions() -> None:
    both, _, batch = doubled(bidirectional=True)
    swapped, _, _ = doubled(bidirectional=True)
    for ours, theirs in (
        (both.hidden.forward, swapped.hidden.backward),
        (both.hidden.backward, swapped.hidden.forward),
    ):
        for name in ("weights", "biases", "recurrent_weights"):
            value_of(getattr(theirs[0], name))[:] = value_of(getattr(ours[0], name))
    value_of(swapped.output.weights)[:] = np.roll(value_of(both.output.weights), 20, axis=0)
    turned = value_of(swapped.plain(Batch.pack([batch.labels[::-1]])))
    np.testing.assert_allclose(turned[::-1], value_of(both.plain(batch)), rtol=1e-12)


@pytest.mark.ledger("B-7.15eq", "B-F7.7")
def test_each_layer_reads_the_states_of_the_one_below() -> None:
    stacked, x, batch = doubled(layers=2)
    h = states(stacked, "hidden.forward.1.state", states(stacked, "hidden.forward.0.state", x))
    expected = h @ value_of(stacked.output.weights) + value_of(stacked.output.biases)
    np.testing.assert_allclose(value_of(stacked.plain(batch)), expected, rtol=1e-12)
    single, x, batch = doubled(layers=1)
    h = states(single, "hidden.forward.0.state", x)
    expected = h @ value_of(single.output.weights) + value_of(single.output.biases)
    np.testing.assert_allclose(value_of(single.plain(batch)), expected, rtol=1e-12)


@pytest.mark.ledger("B-7.14eq", "B-7.15eq")
@pytest.mark.parametrize("settings", [{"bidirectional": True}, {"layers": 2}, {"bidirectional": True, "layers": 2}])
def test_their_gradients(settings: dict[str, Any]) -> None:
    small = RecurrentNetworkConfiguration(inputs=3, units=2, outputs=2, **settings)
    gradient_check(RecurrentNetwork(small, 0, np.float64), Batch.pack([[0, 2, 1], [1, 1]])).require()


# One to many, many to one

STOP = 8


@pytest.mark.ledger("B-7.2-onetomany")
def test_one_word_and_then_nothing_but_what_it_says_itself() -> None:
    """x<1> = the, then 0; the output before is fed back (7.3); <stop> is the ninth word."""
    labels = np.array([LEXICON.index(word) for word in SENTENCE.split()])
    rows = np.zeros((len(labels), 9), np.float32)
    rows[0, labels[0]] = 1
    batch = Batch(rows, np.array([0, len(rows)]), np.append(labels[1:], STOP))
    speaker = trained(network(9, feedback=True), batch)

    said, read, state = [int(labels[0])], int(labels[0]), speaker.encode(batch)
    taught = value_of(speaker.plain(batch))  # fed the targets, which it will have said
    while said[-1] != STOP:
        assert len(said) <= len(taught), "it does not stop"
        scores, state = speaker.step(state, np.array([read]))
        np.testing.assert_allclose(scores[0], taught[len(said) - 1], rtol=1e-4, atol=1e-5)
        said.append(int(scores[0].argmax()))
        read = NONE
    assert said == [*labels, STOP]
    fed = speaker.fed_back(Batch(rows, batch.offsets))  # the same in one call: no targets, so its own outputs
    assert fed.tolist() == [NONE, *said[1:-1]]


@pytest.mark.ledger("B-7.2-manytoone")
def test_only_the_last_output_counts() -> None:
    """Outputs before the end are ignored: whatever is asked of them changes neither the loss nor its gradient."""
    rng = np.random.default_rng(0)
    lengths = np.array([4, 1, 6])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    last = np.zeros(offsets[-1], np.float32)
    last[offsets[1:] - 1] = 1
    labels, targets = rng.integers(0, 8, (2, offsets[-1]))
    reader = network()

    def judged(targets: Array) -> tuple[float, Array]:
        loss, gradient = LossIndex().differentiate(reader, Batch(labels, offsets, targets, last))
        assert loss.positions == 3
        return loss.error, gradient

    error, gradient = judged(targets)
    other = np.where(last == 1, targets, (targets + 1) % 8)
    again, same = judged(other)
    assert error == again
    np.testing.assert_array_equal(gradient, same)
    logits = value_of(reader.plain(Batch(labels, offsets)))[offsets[1:] - 1].astype(np.float64)
    chosen = logits[np.arange(3), targets[offsets[1:] - 1]]
    assert error == pytest.approx(np.mean(np.log(np.exp(logits).sum(axis=1)) - chosen), rel=1e-5)
    assert judged((targets + 1) % 8)[0] != error
