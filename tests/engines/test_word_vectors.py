"""The kernel of word vectors takes the steps of the definition: the same draws, the same numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dragoman.operations.vector_steps import Epoch, vector_steps
from dragoman.tasks.vectors.plan import VectorSettings, make_plan

pytestmark = pytest.mark.usefixtures("numba")
TOLERANCE = {np.float64: 1e-12, np.float32: 3e-6}


@pytest.fixture(scope="module")
def text():
    """Labels, offsets, counts: few words, so that negatives repeat, hit the target, and stand twice in a window."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 9, 20))))
    labels = rng.integers(0, 9, offsets[-1]).astype(np.int32)
    return labels, offsets, np.bincount(labels, minlength=10) + 1


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("negative", [5, 1, 0])
@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_the_kernel_takes_the_steps_of_the_definition(text, method, negative, dtype):
    labels, offsets, counts = text
    settings = VectorSettings(method=method, negative=negative, window=3, subsampling=0.05, rate=0.1)
    how = {"plan": make_plan(counts, len(labels), settings), "epoch": Epoch(2**40 + 3, 1, len(labels))}

    def after(function, *cuts):
        rng = np.random.default_rng(1)
        tables = [rng.standard_normal((len(counts), 7)).astype(dtype) for _ in range(2)]
        found = [function(*tables, labels, offsets, **how, first=a, last=b) for a, b in itertools.pairwise(cuts)]
        return tables, np.sum(found, axis=0)

    (table, outputs), (error, count) = after(vector_steps.definition, 1, 19)
    for cuts in ((1, 19), (1, 7, 7, 19)):
        (table2, outputs2), (error2, count2) = after(vector_steps, *cuts)
        np.testing.assert_allclose(table2, table, rtol=0, atol=TOLERANCE[dtype])
        np.testing.assert_allclose(outputs2, outputs, rtol=0, atol=TOLERANCE[dtype])
        assert error2 == pytest.approx(error, rel=1e-12 if dtype is np.float64 else 1e-6)
        assert count2 == count > 50


def test_what_the_kernel_does_not_cover_is_left_to_the_definition(text):
    from dragoman.engines.numba.ops.word_vectors import vector_steps as fast

    labels, offsets, counts = text
    how = {"plan": make_plan(counts, len(labels), VectorSettings()), "epoch": Epoch(0, 0, 0), "first": 0, "last": 1}
    wide = np.zeros((len(counts), 8))
    assert fast(wide[:, ::2], wide[:, ::2], labels, offsets, **how) is NotImplemented
    assert fast(wide.astype(np.float16), wide.astype(np.float16), labels, offsets, **how) is NotImplemented


@pytest.mark.parametrize("negative", [5, 100])
def test_a_large_score_gives_a_finite_error(text, negative):
    """A hundred probabilities of e^-36 are a product that no number holds."""
    labels, offsets, counts = text
    settings = VectorSettings(subsampling=0, rate=1e-6, last_rate=1e-6, negative=negative)
    plan = replace(make_plan(counts, len(labels), settings), cbow=True)
    table, outputs = np.full((len(counts), 4), 3, np.float32), np.full((len(counts), 4), 3, np.float32)
    error, count = vector_steps(table, outputs, labels, offsets, plan=plan, epoch=Epoch(0, 0, 0), first=0, last=20)
    assert 30 < error / count < 36 * negative  # a score of 36 against each negative, less those that are the target


@pytest.mark.parametrize("level", [150.0, -150.0])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_large_scores_of_the_full_softmax(text, dtype, level):
    """Every score moved by the same large number: it means nothing, if the maximum is subtracted."""
    labels, offsets, counts = text
    plan = make_plan(counts, len(labels), VectorSettings(negative=0, subsampling=0, rate=1e-4, last_rate=1e-4))

    def after(function):
        rng = np.random.default_rng(2)
        table, outputs = (rng.standard_normal((len(counts), 4)).astype(dtype) for _ in range(2))
        table[:, 0], outputs[:, 0] = 10, level / 10
        how = {"plan": plan, "epoch": Epoch(0, 0, 0), "first": 0, "last": 5}
        return table, outputs, function(table, outputs, labels, offsets, **how)[0]

    for ours, theirs in zip(after(vector_steps), after(vector_steps.definition), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5 if dtype is np.float32 else 1e-10)
