"""The same with real networks: cached steps against passes over the growing prefix, alone and together, memorised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import END, START, Batch
from dragoman.decoding import Beam, Greedy, Sampling, decode, log_probabilities
from dragoman.graph.operation import Operation
from dragoman.loss import LossIndex
from dragoman.networks import Transformer, TransformerConfiguration, preset
from dragoman.optimization import Adam
from tests.decoding.fakes import everything, plainly, same
from tests.networks.small_networks import logits_of, small_transformer

SOURCES = [[4, 8], [6], [4, 4, 1, 7, 5], [], [5, 6, 7], [8, 8, 8, 8]]
SETTINGS: list[dict[str, Any]] = [
    {"block": "post"},
    {"block": "pre"},
    {"block": "post", "layers": 2, "positions": "learned"},
    {"block": "pre", "layers": 2, "positions": "relative"},
    {"block": "pre", "positions": "one_hot", "depth": 16, "maximum_length": 9},
    {"tied": "all", "normalization": "outside"},
]


def network_of(vocabulary: int = 9, **settings: Any) -> Any:
    sizes = {"source_vocabulary": 9, "target_vocabulary": vocabulary, "maximum_length": 12}
    return small_transformer(**(sizes | settings))


class Uncached:
    """A network that forgets: every step is a whole pass over all that was written."""

    def __init__(self, network: Any, vocabulary: int) -> None:
        self.network, self.vocabulary = network, vocabulary

    def log_p(self, source: Any, labels: list[int]) -> np.ndarray:
        batch = Batch.pack([[START, *labels]], Batch.pack([source]))
        z = logits_of(self.network, batch)[-1].astype(np.float64)
        return z - np.log(np.exp(z).sum())


@pytest.mark.ledger("B-7.34eq", "L-56-cache")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_with_a_cache_or_without_the_same_labels(settings: dict[str, Any]) -> None:
    network = network_of(**settings)
    uncached = Uncached(network, 9)
    for source, (h,) in zip(SOURCES, decode(network, SOURCES, Greedy(), 7), strict=True):
        labels: list[int] = []
        total = 0.0
        while len(labels) <= 7:
            log_p = uncached.log_p(source, labels)
            label = END + int(log_p[END:].argmax())
            if label == END or len(labels) == 7:
                total += log_p[END] if label == END else 0
                break
            labels.append(label)
            total += log_p[label]
        assert (h.labels.tolist(), h.finished) == (labels, label == END)
        assert h.log_probability == pytest.approx(total, abs=1e-9)


@pytest.mark.ledger("B-7.5-parallel", "B-7.5-teacherpar")
def test_all_positions_of_a_reference_are_scored_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same log-probabilities as a pass for every prefix, from as many operations as for a single label."""
    network, calls = network_of(block="pre", layers=2), 0
    uncached = Uncached(network, 9)
    words = [5, 4, 8, 8, 6, 7, END]
    expected = [uncached.log_p([4, 6], words[:t])[label] for t, label in enumerate(words)]
    original = Operation.__call__

    def counted(self: Any, *inputs: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(self, *inputs, **options)

    monkeypatch.setattr(Operation, "__call__", counted)
    np.testing.assert_allclose(
        log_probabilities(network, Batch.pairs([[4, 6]], [[START, *words]])), expected, atol=1e-12
    )
    for_seven, calls = calls, 0
    log_probabilities(network, Batch.pairs([[4, 6]], [[START, END]]))
    assert for_seven == calls > 20


@pytest.mark.ledger("B-7.5-beam")
@pytest.mark.parametrize("settings", SETTINGS[:4], ids=str)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_full_beam_finds_the_best_of_all_sequences(settings: dict[str, Any], penalty: float) -> None:
    network = network_of(6, **settings)
    found = decode(network, SOURCES[:3], Beam(24, penalty, best=15), 3)
    for source, hypotheses in zip(SOURCES, found, strict=False):
        expected = everything(Uncached(network, 6), source, 3, penalty)
        assert [h.labels.tolist() for h in hypotheses] == [labels for labels, _, _ in expected]
        np.testing.assert_allclose([h.score for h in hypotheses], [score for _, _, score in expected], atol=1e-9)


@pytest.mark.ledger("T-3.1-nn")
@pytest.mark.parametrize(
    "method", [Greedy(), Sampling(seed=2), Beam(4, best=3)], ids=lambda method: type(method).__name__
)
def test_alone_and_in_any_batch(method: Any) -> None:
    network = network_of(block="pre", layers=2)
    together = decode(network, SOURCES, method, 6)
    same(decode(network, SOURCES, method, 6, batch=2), together, 1e-9)
    turned = decode(network, SOURCES[::-1], method, 6, numbers=range(len(SOURCES))[::-1])
    same(turned[::-1], together, 1e-9)
    for i, source in enumerate(SOURCES):
        same(decode(network, [source], method, 6, numbers=[i]), [together[i]], 1e-9)


@pytest.mark.parametrize("method", [Greedy(), Beam(4)], ids=lambda method: type(method).__name__)
def test_at_a_working_size_in_single_precision(method: Any) -> None:
    rng = np.random.default_rng(0)
    sources = [rng.integers(4, 300, rng.integers(1, 20)).tolist() for _ in range(30)]
    network = Transformer(preset("small", 300, 300))
    together = decode(network, sources, method, 12)
    same(decode(network, sources, method, 12, batch=7), together, 1e-4)


PAIRS = [
    ([4, 5, 6], [2, 7, 4, 5, 3]),
    ([6, 5], [2, 4, 4, 4, 4, 6, 3]),
    ([8], [2, 3]),
    ([7, 7, 7, 4, 5], [2, 8, 3]),
    ([5, 5], [2, 5, 6, 7, 8, 7, 6, 5, 3]),
]


@pytest.fixture(scope="module")
def memorised() -> Transformer:
    """A network that has learnt five pairs by heart."""
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9, "depth": 16, "perceptron_depth": 32, "heads": 2}
    network = Transformer(TransformerConfiguration(**sizes, block="pre"))
    batch = Batch.pairs([source for source, _ in PAIRS], [reference for _, reference in PAIRS])
    index, adam = LossIndex(), Adam()
    for _ in range(300):
        loss, gradient = index.differentiate(network, batch)
        adam.update(network.theta, gradient, 0.01)
    assert loss.accuracy == 1
    return network


@pytest.mark.ledger("T-2.2-inference", "B-7.34eq")
@pytest.mark.parametrize("method", [Greedy(), Beam(3), Sampling(0.2)], ids=lambda method: type(method).__name__)
def test_a_memorised_sample_is_written_as_teacher_forcing_predicts_it(memorised: Transformer, method: Any) -> None:
    found = decode(memorised, [source for source, _ in PAIRS], method, 10)
    for (source, reference), (h,) in zip(PAIRS, found, strict=True):
        predicted = logits_of(memorised, Batch.pairs([source], [reference])).argmax(axis=1)
        assert h.finished
        assert [*h.labels.tolist(), END] == predicted.tolist() == reference[1:]


@pytest.mark.ledger("T-2.2-inference")
def test_it_stops_at_the_maximum_length_or_at_the_end(memorised: Transformer) -> None:
    found = decode(memorised, [source for source, _ in PAIRS], Greedy(), 4)
    words = [reference[1:-1] for _, reference in PAIRS]
    assert plainly(found) == [[(labels[:4], len(labels) <= 4)] for labels in words]


def test_a_prefix_from_the_middle_of_what_it_knows_is_continued(memorised: Transformer) -> None:
    prefixes = [reference[1 : len(reference) // 2] for _, reference in PAIRS]
    found = decode(memorised, [source for source, _ in PAIRS], Beam(2), 10, prefixes)
    assert plainly(found) == [[(reference[1:-1], True)] for _, reference in PAIRS]
