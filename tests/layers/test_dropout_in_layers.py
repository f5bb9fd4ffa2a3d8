"""Dropout: only when a step brings noise, and the same however a batch is cut into shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.layers import Embedding, ForwardContext, Initializer, Normalization, PositionalEncoding, Positions
from dragoman.operations import DropoutKey

ROWS, DEPTH, RATE = 40, 8, 0.3
LABELS = np.random.default_rng(0).integers(0, 5, ROWS)
UPDATE, RESIDUAL = np.random.default_rng(1).standard_normal((2, ROWS, DEPTH))
NOISY = ForwardContext(DropoutKey(seed=3, step=11))


def embedding(positions: Positions, dropout: float = RATE, site: int = 2) -> Embedding:
    initial = Initializer(0, np.float64)
    return Embedding(5, DEPTH, initial, PositionalEncoding(positions, 4, 2), dropout, site)


def embedded(layer: Embedding, run: ForwardContext, rows: slice = slice(None)) -> Array:
    return value_of(layer(LABELS[rows], (np.arange(ROWS) % 4)[rows], run, rows.start or 0))


def added(layer: Normalization, run: ForwardContext, rows: slice = slice(None)) -> Array:
    return value_of(layer.add(UPDATE[rows], RESIDUAL[rows], run, rows.start or 0)[0])


def kept_and_dropped(noisy: Array, quiet: Array) -> Array:
    """The mask, after checking that what is kept was scaled by 1 / (1 - rate)."""
    kept = np.abs(noisy) > 1e-12
    np.testing.assert_allclose(noisy, np.where(kept, quiet / (1 - RATE), 0), rtol=1e-13, atol=1e-13)
    return kept


@pytest.mark.parametrize("positions", get_args(Positions))
def test_an_embedding_drops_only_with_noise(positions: Positions) -> None:
    quiet = embedded(embedding(positions, dropout=0.0), NOISY)
    np.testing.assert_array_equal(embedded(embedding(positions), ForwardContext()), quiet)
    shown = np.abs(quiet) > 1e-12  # sin 0 and one-hot zeros cannot show whether they were dropped
    kept = kept_and_dropped(embedded(embedding(positions), NOISY), quiet)[shown]
    assert kept.mean() == pytest.approx(1 - RATE, abs=0.08)


def test_normalization_drops_the_update_and_never_the_residual() -> None:
    layer = Normalization(DEPTH, Initializer(0, np.float64), dropout=RATE, site=4)
    np.testing.assert_array_equal(added(layer, ForwardContext()), UPDATE + RESIDUAL)
    kept = kept_and_dropped(added(layer, NOISY) - RESIDUAL, UPDATE)
    assert kept.mean() == pytest.approx(1 - RATE, abs=0.08)


@pytest.mark.parametrize("positions", get_args(Positions))
def test_an_embedding_drops_the_same_in_shards(positions: Positions) -> None:
    layer = embedding(positions)
    parts = [embedded(layer, NOISY, slice(*ends)) for ends in ((0, 7), (7, 8), (8, ROWS))]
    np.testing.assert_allclose(np.concatenate(parts), embedded(layer, NOISY), rtol=1e-13, atol=0)


def test_normalization_drops_the_same_in_shards() -> None:
    layer = Normalization(DEPTH, Initializer(0, np.float64), dropout=RATE, site=4)
    parts = [added(layer, NOISY, slice(*ends)) for ends in ((0, 7), (7, 8), (8, ROWS))]
    np.testing.assert_array_equal(np.concatenate(parts), added(layer, NOISY))


@pytest.mark.parametrize(
    "other",
    [
        lambda: embedded(embedding("none", site=3), NOISY),
        lambda: embedded(embedding("none"), ForwardContext(DropoutKey(seed=3, step=12))),
        lambda: embedded(embedding("none"), ForwardContext(DropoutKey(seed=4, step=11))),
    ],
    ids=["site", "step", "seed"],
)
def test_another_site_step_or_seed_drops_others(other: Callable[[], Array]) -> None:
    one, two = embedded(embedding("none"), NOISY) == 0, other() == 0
    assert 0.3 < (one != two).mean() < 0.55  # 2 * 0.3 * 0.7 = 0.42 of independent masks differ


def test_what_was_dropped_gets_no_gradient() -> None:
    layer = Normalization(DEPTH, Initializer(0, np.float64), dropout=RATE)
    update, residual = Tensor(UPDATE), Tensor(RESIDUAL)
    total, _ = layer.add(update, residual, NOISY)
    kept = value_of(total) != RESIDUAL
    dupdate, dresidual = backpropagate([total], [update, residual], [np.ones_like(UPDATE)])
    np.testing.assert_allclose(dupdate, kept / (1 - RATE), rtol=1e-15)
    np.testing.assert_array_equal(dresidual, np.ones_like(UPDATE))
