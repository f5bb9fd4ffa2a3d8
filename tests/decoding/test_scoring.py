"""The log-probability of given sequences, all positions in one pass, and that of what was written, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import END, START, Batch
from dragoman.decoding import Beam, Greedy, Sampling, decode, log_probabilities, score
from dragoman.errors import LabelError, ShapeError
from tests.decoding.fakes import Fake
from tests.networks.small_networks import small_transformer

SOURCES = [[4, 8], [6], [4, 4, 1, 7, 5], [], [5, 6, 7]]
REFERENCES = [[2, 4, 5, 3], [2, 3], [2, 7, 7, 1, 3], [2, 4, 3], [2, 5, 4, 4, 4, 8, 3]]


def network_of(**settings: Any) -> Any:
    return small_transformer(source_vocabulary=9, target_vocabulary=9, maximum_length=12, **settings)


def test_one_pass_gives_what_a_pass_for_every_position_gives() -> None:
    network = Fake(9, seed=1)
    batch = Batch.pairs(SOURCES, REFERENCES)
    ours = np.split(log_probabilities(network, batch), batch.offsets[1:-1])
    assert network.passes == 1
    for source, reference, row in zip(SOURCES, REFERENCES, ours, strict=True):
        words = reference[1:]
        expected = [network.log_p(source, words[:t])[label] for t, label in enumerate(words)]
        np.testing.assert_allclose(row, expected, atol=1e-13)
    np.testing.assert_allclose(score(network, batch), [row.sum() for row in ours], atol=1e-13)


@pytest.mark.ledger("B-7.5-teacherpar")
@pytest.mark.parametrize("block", ["post", "pre"])
@pytest.mark.parametrize("positions", ["half_sinusoid", "relative", "learned"])
@pytest.mark.parametrize(
    "method", [Greedy(), Sampling(1.5, seed=1), Beam(4, 0.7, best=4)], ids=lambda method: type(method).__name__
)
def test_what_is_written_step_by_step_scores_the_same_in_one_pass(block: str, positions: str, method: Any) -> None:
    network = network_of(block=block, positions=positions, layers=2)
    found = decode(network, SOURCES, method, 6, [[], [5], [], [4, 4], []])
    for source, hypotheses in zip(SOURCES, found, strict=True):
        written = [[START, *h.labels, *([END] if h.finished else [])] for h in hypotheses]
        batch = Batch.pairs([source] * len(written), written)
        np.testing.assert_allclose([h.log_probability for h in hypotheses], score(network, batch), atol=1e-9)


def test_in_single_precision() -> None:
    network = network_of(dtype=np.float32)
    ((h,),) = decode(network, [[4, 5]], Greedy(), 8)
    written = [START, *h.labels, *([END] if h.finished else [])]
    assert score(network, Batch.pairs([[4, 5]], [written])) == pytest.approx(h.log_probability, abs=1e-5)


def test_scores_of_all_sequences_of_a_length_total_1() -> None:
    network = network_of()
    endings = [[START, a, b] for a in range(9) for b in range(9)]
    batch = Batch.pairs([[4, 5, 6]] * 81, endings)
    every_label = Batch(batch.labels, batch.offsets, batch.targets, source=batch.source)  # pad is a label like others
    assert np.exp(score(network, every_label)).sum() == pytest.approx(1, abs=1e-12)


def test_pads_do_not_count_and_weights_only_say_whether() -> None:
    """The thesis's layout, pads packed as rows: they come after everything that counts, so they change nothing."""
    network = network_of()
    padded = [[*reference, 0, 0, 0] for reference in REFERENCES]
    expected = score(network, Batch.pairs(SOURCES, REFERENCES))
    np.testing.assert_allclose(score(network, Batch.pairs(SOURCES, padded)), expected, atol=1e-12)

    batch = Batch.pairs(SOURCES, REFERENCES)
    for weights, counted in ((None, expected), (np.full(len(batch.labels), 0.5, np.float32), expected)):
        again = Batch(batch.labels, batch.offsets, batch.targets, weights, batch.source)
        np.testing.assert_allclose(score(network, again), counted, atol=1e-12)


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(ShapeError, match="no targets"):
        score(Fake(), Batch.pack([[2, 4]], Batch.pack([[4]])))
    with pytest.raises(LabelError, match="label 8 at row 0"):
        score(Fake(8), Batch.pairs([[4]], [[2, 8, 3]]))
