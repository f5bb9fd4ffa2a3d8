"""What all methods share: batches, order, prefixes, maximum lengths, labels that are never written, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.decoding import Beam, Greedy, Sampling, decode
from dragoman.errors import ConfigurationError, LabelError, NonFiniteError, ShapeError
from tests.decoding.fakes import Fake, Script, plainly, same

SOURCES = [[4, 5], [6], [4, 4, 4, 7], [], [5, 6, 7], [7, 7]]
LONGEST = [6, 0, 3, 9, 1, 5]
PREFIXES = [[], [], [7, 4, 4], [5], [6], [4, 1]]
METHODS = [Greedy(), Sampling(seed=3), Beam(3, best=3)]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


@every_method
@pytest.mark.parametrize("batch", [1, 2, 4])
def test_the_cut_into_batches_changes_nothing(method: Any, batch: int) -> None:
    network = Fake(seed=1, end=0.5)
    together = decode(network, SOURCES, method, LONGEST, PREFIXES)
    same(decode(network, SOURCES, method, LONGEST, PREFIXES, batch=batch), together)
    for i, source in enumerate(SOURCES):
        same(decode(network, [source], method, LONGEST[i], [PREFIXES[i]], numbers=[i]), [together[i]])


def test_sources_of_similar_length_share_a_batch() -> None:
    lengths = []

    class Listening(Fake):
        def encode(self, batch: Any) -> Any:
            lengths.append(batch.lengths.tolist())
            return super().encode(batch)

    decode(Listening(), SOURCES, Greedy(), 2, batch=2)
    assert lengths == [[4, 3], [2, 2], [1, 0]]


@every_method
def test_hypotheses_begin_with_their_prefix_and_pay_for_it(method: Any) -> None:
    network = Fake(seed=2)
    for i, hypotheses in enumerate(decode(network, SOURCES, method, LONGEST, PREFIXES)):
        for h in hypotheses:
            written = [*h.labels.tolist(), *([3] if h.finished else [])]
            assert written[: len(PREFIXES[i])] == PREFIXES[i]
            expected = sum(network.log_p(SOURCES[i], written[:t])[label] for t, label in enumerate(written))
            assert h.log_probability == pytest.approx(expected, abs=1e-12)


@every_method
def test_a_prefix_may_be_all_there_is_room_for(method: Any) -> None:
    for end, finished in ((50.0, True), (-50.0, False)):
        found = decode(Fake(end=end), [[4], [5]], method, [2, 3], [[5, 6], [7, 7, 7]])
        assert plainly(found) == [[([5, 6], finished)], [([7, 7, 7], finished)]]


@every_method
def test_the_maximum_length_leaves_room_for_the_end_label(method: Any) -> None:
    words, end = [0, 0, 0, 0, 1], [0, 0, 0, 1, 0]
    assert plainly(decode(Script(words, words, end), [[]], method, 2)) == [[([4, 4], True)]]
    assert plainly(decode(Script(words, words, words), [[]], method, 2)) == [[([4, 4], False)]]
    assert plainly(decode(Script(words), [[]] * 3, method, [0, 2, 1])) == [
        [([], False)],
        [([4, 4], False)],
        [([4], False)],
    ]
    assert plainly(decode(Script(end), [[]], method, 0)) == [[([], True)]]


def test_an_unfinished_hypothesis_does_not_pay_for_what_it_had_no_room_for() -> None:
    network = Script([0, 0, 0, 0.2, 0.8], [0, 0, 0, 0.4, 0.6])
    for method in (Greedy(), Beam(1), Sampling(top_k=1)):
        ((h,),) = decode(network, [[]], method, 2)
        assert (h.labels.tolist(), h.finished) == ([4, 4], False)
        assert h.log_probability == pytest.approx(np.log(0.8 * 0.6))
        assert h.score == pytest.approx(np.log(0.8 * 0.6) / 2)


@every_method
def test_pad_unknown_and_start_are_never_written_though_they_have_their_probability(method: Any) -> None:
    network = Script([0.3, 0.3, 0.3, 0.01, 0.09], [0.3, 0.3, 0.3, 0.1, 0])
    ((h, *_),) = decode(network, [[]], method, 3)
    assert h.labels.tolist() == [4]
    assert h.log_probability == pytest.approx(np.log(0.09 * 0.1))
    for hypotheses in decode(Fake(seed=1), [[i] for i in range(20)], method, 10):
        for h in hypotheses:
            assert (h.labels > 3).all()


@every_method
def test_labels_are_integers_of_their_own(method: Any) -> None:
    """Not views that keep a whole batch in memory."""
    for hypotheses in decode(Fake(end=1.0), SOURCES, method, 4):
        for h in hypotheses:
            assert (h.labels.dtype, h.labels.ndim, h.labels.base) == (np.int64, 1, None)
            assert (type(h.log_probability), type(h.finished), type(h.score)) == (float, bool, float)


@every_method
def test_no_sources_no_hypotheses(method: Any) -> None:
    network = Fake()
    assert decode(network, [], method, 5) == decode(network, [], method, [], [], numbers=[]) == []
    assert network.encoded == []


@every_method
def test_a_language_model_has_prefixes_and_no_sources(method: Any) -> None:
    prompts = [[4, 5], [], [6]]
    found = decode(Fake(seed=3), [[]] * 3, method, 5, prompts)
    assert [h[0].labels[: len(p)].tolist() for h, p in zip(found, prompts, strict=True)] == prompts


@every_method
def test_sources_may_be_rows_of_real_numbers(method: Any) -> None:
    rows = [np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[7.0, 2.0]])]
    labels = [[1, 2, 3, 5], [7, 2]]
    network = Fake(seed=3)
    same(decode(network, rows, method, 5), decode(network, labels, method, 5))


@every_method
@pytest.mark.parametrize(
    ("bad", "message"),
    [([np.nan] * 5, "maximum nan"), ([0, 0, 0, 0, np.inf], "maximum inf"), ([-np.inf] * 5, "maximum -inf")],
)
def test_logits_that_are_not_numbers_are_refused(method: Any, bad: list[float], message: str) -> None:
    network = Script([0.2] * 5)
    network.table = np.array([bad])
    with pytest.raises(NonFiniteError, match=message):
        decode(network, [[]], method, 3)


@every_method
def test_having_nothing_to_write_is_refused(method: Any) -> None:
    with pytest.raises(NonFiniteError, match="every label that may come next"):
        decode(Script([0.5, 0.25, 0.25, 0, 0]), [[]], method, 3)
    with pytest.raises(NonFiniteError, match="every label that may come next"):
        decode(Script([0.5, 0, 0, 0, 0.5, 0]), [[]], method, 3, [[5]])


@every_method
@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"longest": 2, "prefixes": [[4, 5], [4, 5, 6]]}, ConfigurationError, "source 1: at most 2 .* but 3 are given"),
        ({"longest": [3, -1]}, ConfigurationError, "source 1: at most -1 tokens"),
        ({"longest": [3]}, ShapeError, "1 maximum lengths for 2 sources"),
        ({"longest": 3, "prefixes": [[4]]}, ShapeError, "1 prefixes for 2 sources"),
        ({"longest": 3, "numbers": [1, 2, 3]}, ShapeError, "3 numbers for 2 sources"),
        ({"longest": 3, "batch": 0}, ConfigurationError, "at least one source, got batch=0"),
        ({"longest": 3, "prefixes": [[], [2, 4]]}, LabelError, "source 1: 2 in its prefix; .* without pad"),
        ({"longest": 3, "prefixes": [[4, 3], []]}, LabelError, "source 0: 3 in its prefix"),
        ({"longest": 3, "prefixes": [[4, 0], []]}, LabelError, "source 0: 0 in"),
        ({"longest": 3, "prefixes": [[4, -1], []]}, LabelError, "source 0: -1 in"),
        ({"longest": 3, "prefixes": [[4.5], []]}, LabelError, "source 0: 4.5 in"),
        ({"longest": 3, "prefixes": [[4, 8], []]}, LabelError, "label 8 at position 1, .* knows 8 labels"),
    ],
)
def test_what_cannot_be_done_is_refused(method: Any, asked: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        decode(Fake(), [[4], [5, 5]], method, **asked)


@every_method
def test_a_vocabulary_without_an_end_label_is_refused(method: Any) -> None:
    with pytest.raises(ShapeError, match="the end token among them"):
        decode(Script([0.5, 0.25, 0.25]), [[]], method, 3)
