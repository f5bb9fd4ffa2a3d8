"""Word vectors learnt from a text: words of one topic come together, step by step down the gradient."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from dragoman.errors import ConfigurationError, DataError, NonFiniteError
from dragoman.graph import Array
from dragoman.operations.vector_steps import Epoch, vector_steps
from dragoman.tasks.vectors import training
from dragoman.tasks.vectors.plan import VectorSettings, make_plan
from dragoman.tasks.vectors.training import Progress, train_vectors
from dragoman.tasks.vectors.words import WordVectors
from tests.tasks.vectors.made_up import SMALL, TOPICS, topics


def separated(vectors: WordVectors) -> bool:
    """Whether the three nearest words of every word are those of its topic."""
    return all(
        {near.word for near in vectors.nearest(word, 3)} == {*topic} - {word} for topic in TOPICS for word in topic
    )


@pytest.mark.ledger("B-7.1-cbow", "B-7.1-skipgram", "B-7.1-word2vec", "B-7.1-embedding")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("negative", [5, 0])
@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
@pytest.mark.usefixtures("fast")
def test_words_of_one_topic_come_together(method: str, negative: int, threads: int, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = replace(SMALL, method=method, negative=negative, threads=threads, epochs=5)
    vectors = train_vectors(topics(tmp_path / "text.txt", 3000), settings, told.append)
    assert vectors.vectors.shape == (12, 8)
    assert separated(vectors)
    assert told[-1].error < told[0].error
    if not negative:  # a neighbour is any of the 4 words of the topic, and no more can be known
        assert told[-1].error == pytest.approx(np.log(4), rel=0.02)
    assert [progress.ended for progress in told] == [True] * 5
    assert [progress.done for progress in told] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])


def test_one_thread_is_deterministic_however_the_text_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = topics(tmp_path / "text.txt", 20)
    first = train_vectors(text, SMALL).vectors
    assert (train_vectors(text, replace(SMALL, seed=1)).vectors != first).all()
    monkeypatch.setattr(training, "BLOCK", 30)
    told: list[Progress] = []
    np.testing.assert_array_equal(train_vectors(text, SMALL, told.append).vectors, first)
    assert len(told) > 6
    assert [progress.epoch for progress in told if progress.ended] == [1, 2]
    assert told[-1].done == 1


def run_steps(
    settings: VectorSettings, labels: list[int], epoch: Epoch, total: int
) -> tuple[Array, Array, Array, Array]:
    """Tables before and after one sentence."""
    rng = np.random.default_rng(0)
    before = rng.standard_normal((2, 4, 3))
    table, outputs = before[0].copy(), before[1].copy()
    plan = replace(make_plan(np.ones(4), 1, settings), total=total)
    numbers, offsets = np.array(labels, np.int32), np.array([0, len(labels)])
    vector_steps(table, outputs, numbers, offsets, plan=plan, epoch=epoch, first=0, last=1)
    return before[0], before[1], table, outputs


def test_skip_gram_goes_down_the_gradient_pair_by_pair() -> None:
    settings = replace(SMALL, window=1, negative=0, rate=0.5, last_rate=0.1)
    v, u, table, outputs = (
        torch.tensor(x, requires_grad=True) for x in run_steps(settings, [2, 1], Epoch(0, 3, 30), 100)
    )
    for place, (word, context) in enumerate([(2, 1), (1, 2)]):
        error = functional.cross_entropy((u @ v[word])[None], torch.tensor([context]))
        dv, du = torch.autograd.grad(error, (v, u))
        rate = 0.5 - 0.4 * (30 + place) / 100
        v, u = (x.detach().requires_grad_() for x in (v - rate * dv, u - rate * du))
    torch.testing.assert_close(table, v)
    torch.testing.assert_close(outputs, u)


def test_a_bag_moves_each_of_its_words_as_far_as_its_mean() -> None:
    settings = replace(SMALL, method="cbow", window=1, negative=0, rate=0.5, last_rate=0.5)
    v, u, table, outputs = (
        torch.tensor(x, requires_grad=True) for x in run_steps(settings, [2, 1, 2], Epoch(0, 0, 0), 9)
    )
    for bag, target in [([1], 2), ([2, 2], 1), ([1], 2)]:
        error = functional.cross_entropy((u @ v[bag].mean(0))[None], torch.tensor([target]))
        dv, du = torch.autograd.grad(error, (v, u))
        v, u = (x.detach().requires_grad_() for x in (v - 0.5 * len(bag) * dv, u - 0.5 * du))
    torch.testing.assert_close(table, v)
    torch.testing.assert_close(outputs, u)


def test_rare_words_are_left_out_and_their_neighbours_meet(tmp_path: Path) -> None:
    text = tmp_path / "t.txt.gz"
    text.write_bytes(gzip.compress(("a rare%d b\nalone%d\n" * 4 % tuple(range(8))).encode()))
    told: list[Progress] = []
    said: list[str] = []
    vectors = train_vectors(text, replace(SMALL, minimum_count=4, window=1), told.append, said.append)
    assert vectors.words == ["a", "b"]
    assert (told[-1].done, told[-1].words) == (1, 16)
    assert said == [f"{text}: 16 words, 10 different; 2 occur 4 times or more, 50.0% of the text"]


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = topics(tmp_path / "text.txt", 5)
    with text.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        piped = train_vectors("-", SMALL)
    np.testing.assert_array_equal(piped.vectors, train_vectors(text, SMALL).vectors)


@pytest.mark.parametrize(
    ("content", "settings", "error", "told"),
    [
        (b"a b a b", replace(SMALL, minimum_count=3), DataError, "0 of 2 different words occur 3 times"),
        (b"", SMALL, DataError, "0 of 0 different words"),
        (b"a\nb\na\nb\n", SMALL, DataError, "no line of this text has two frequent words"),
        (b"a b c", replace(SMALL, subsampling=1e-9), DataError, "subsampling left nothing"),
        (b"a b c d", replace(SMALL, negative=0), ConfigurationError, "moves all 4 words"),
        (b"a b c " * 50, replace(SMALL, rate=1e30), NonFiniteError, "lower the learning rate"),
    ],
)
def test_texts_that_give_nothing_are_told(
    content: bytes,
    settings: VectorSettings,
    error: type[Exception],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "MOST_FOR_SOFTMAX", 3)
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(error, match=told):
        train_vectors(tmp_path / "t.txt", settings)


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
@pytest.mark.parametrize("negative", [3, 0])
@pytest.mark.usefixtures("fast")
def test_vectors_that_overflow_are_told(method: Any, negative: int, tmp_path: Path) -> None:
    """Kernels have no checks of their own; the error they return has to tell."""
    text = topics(tmp_path / "text.txt", 500)
    with pytest.raises(NonFiniteError, match="use a rate below 100"):
        train_vectors(text, replace(SMALL, method=method, negative=negative, rate=100.0))


def test_after_a_failure_the_blocks_that_wait_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def failing(*tables: Array, first: int, **how: Any) -> tuple[float, int]:
        begun.append(first)
        time.sleep(0.005)
        return float("nan"), 1

    monkeypatch.setattr(training, "vector_steps", failing)
    monkeypatch.setattr(training, "BLOCK", 60)
    with pytest.raises(NonFiniteError):
        train_vectors(topics(tmp_path / "text.txt", 5000), SMALL)
    assert 1 <= len(begun) < 500  # blocks an epoch


def test_vectors_are_trained_by_name(tmp_path: Path) -> None:
    text = topics(tmp_path / "text.txt", 20)
    chosen: dict[str, Any] = {"depth": 8, "window": 2, "negative": 3, "minimum_count": 1, "epochs": 2}
    found = WordVectors.train(text, **chosen, subsampling=0, rate=0.1)
    np.testing.assert_array_equal(found.vectors, train_vectors(text, SMALL).vectors)
