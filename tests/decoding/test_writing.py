"""A language model continues a sequence label by label: cached, sliding, seeded, ended."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from dragoman.batch import END, Batch
from dragoman.decoding import Greedy, Sampling, Writing
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import value_of
from dragoman.networks import LANGUAGE_MODELS

VOCABULARY = 12


def network(kind: str = "transformer", **changes):
    architecture = LANGUAGE_MODELS[kind]
    sizes = {"depth": 8, "layers": 2} | ({"heads": 2} if kind == "transformer" else {"units": 6, **architecture.named})
    made = architecture.build(architecture.configured({**sizes, **changes}, {"vocabulary": VOCABULARY}), seed=4)
    made.theta.values[...] *= 3  # opinions
    return made


def best(made, labels) -> int:
    """What a pass over the whole sequence says comes next."""
    return int(value_of(made.plain(Batch.pack([labels])))[-1, END + 1 :].argmax()) + END + 1


@pytest.mark.parametrize("kind", ["transformer", "lstm"])
def test_every_label_is_that_of_one_pass_over_all(kind: str) -> None:
    made, written = network(kind), [5, 7, 4]
    for label, log_probability in islice(Writing(made, written, ends=False).labels(Greedy()), 20):
        assert label == best(made, written)
        logits = value_of(made.plain(Batch.pack([written])))[-1].astype(float)
        assert log_probability == pytest.approx(logits[label] - np.log(np.exp(logits).sum()), abs=1e-4)
        written = [*written, label]


@pytest.mark.parametrize("window", [1, 2, 5, 6])
def test_a_full_window_goes_on_with_its_last_half(window: int) -> None:
    made = network(positions="learned", maximum_length=6)
    seen = [5, 7, 4][-window:]
    for label, _ in islice(Writing(made, [5, 7, 4], window, ends=False).labels(Greedy()), 30):
        assert label == best(made, seen)
        seen = [*seen, label]
        if len(seen) > window:
            seen = seen[-max(1, window // 2) :]


def test_every_writing_begins_after_the_prompt() -> None:
    writing = Writing(network(), [5], ends=False)
    first, second = (list(islice(writing.labels(Sampling(5.0, seed=3), 0), 12)) for _ in range(2))
    assert first == second
    assert first != list(islice(writing.labels(Sampling(5.0, seed=3), 1), 12))
    assert first != list(islice(writing.labels(Sampling(5.0, seed=4), 0), 12))


def test_it_ends_with_the_end_label_unless_it_may_not() -> None:
    made = network()
    made.output.biases.value[END] = 50
    assert [label for label, _ in Writing(made, [5]).labels(Greedy())] == [END]
    assert END not in [label for label, _ in islice(Writing(made, [5], ends=False).labels(Greedy()), 20)]


def test_mistakes_are_named() -> None:
    with pytest.raises(ShapeError, match="at least one label"):
        Writing(network(), [])
    with pytest.raises(ConfigurationError, match="at least one label"):
        Writing(network(), [5], window=0)
