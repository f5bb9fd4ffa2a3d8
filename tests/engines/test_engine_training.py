"""Whole networks and trainings on the engine, with threads."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.engines import use_fastest
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, current_engine, use_engine
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex, MeanSquaredError, Regularization
from dragoman.operations import DropoutKey
from dragoman.operations.vector_updates import sum_of_squares
from dragoman.optimization import Adam, AdamW
from dragoman.training.averaging import follow
from dragoman.training.workers import Workers
from tests.training.perceptrons import Perceptrons, rows


def batch(sentences: int = 9, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    sources = [rng.integers(4, 30, rng.integers(1, 9)) for _ in range(sentences)]
    references = [np.concatenate(([2], rng.integers(4, 30, rng.integers(0, 8)), [3])) for _ in range(sentences)]
    return Batch.pairs(sources, references)


def transformer(dtype: Any = np.float32, **settings: Any) -> Transformer:
    defaults: dict[str, Any] = {"depth": 32, "perceptron_depth": 40, "heads": 4, "layers": 2, "dropout": 0.1}
    chosen = {"source_vocabulary": 30, "target_vocabulary": 30} | defaults | settings
    return Transformer(TransformerConfiguration(**chosen), 1, dtype)


SETTINGS: list[dict[str, Any]] = [
    {"block": "pre"},
    {"block": "post", "normalization": "outside", "positions": "relative"},
    {"tied": "all", "activation": "gelu", "positions": "learned", "maximum_length": 40},
    {"depth": 12, "heads": 4},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-6), (np.float64, 1e-12)])
def test_a_network_has_the_gradient_of_the_definitions(numba, settings, dtype, tolerance):
    network, index, pairs = transformer(dtype, **settings), LossIndex(CrossEntropy(0.1)), batch()
    loss, gradient = index.differentiate(network, pairs, ForwardContext(DropoutKey(1, 2)))
    evaluated = index.evaluate(network, pairs)
    use_engine("numpy")
    expected, reference = index.differentiate(network, pairs, ForwardContext(DropoutKey(1, 2)))
    np.testing.assert_allclose(gradient, reference, atol=tolerance * np.abs(reference).max())
    assert loss.error == pytest.approx(expected.error, rel=1e-5)
    assert loss.hits == expected.hits
    assert evaluated.error == pytest.approx(index.evaluate(network, pairs).error, rel=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("threads", [1, 2, 3, 20])
def test_shards_give_the_gradient_of_the_whole_batch(numba, engine, threads):
    """Dropout included: its rows are counted globally. Regularization is added once."""
    use_engine(engine)
    index = LossIndex(CrossEntropy(0.1), Regularization("l2", 0.01))
    network, pairs, run = transformer(np.float64, block="pre"), batch(), ForwardContext(DropoutKey(3, 4))
    expected, reference = index.differentiate(network, pairs, run)
    workers = Workers(threads)
    loss, gradient = workers.differentiate(index, network, pairs, run)
    np.testing.assert_allclose(gradient, reference, atol=1e-12 * np.abs(reference).max())
    assert loss.index == pytest.approx(expected.index, rel=1e-12)
    assert (loss.hits, loss.positions) == (expected.hits, expected.positions)
    again = workers.differentiate(index, network, pairs, run)[1].copy()
    assert (again == workers.differentiate(index, network, pairs, run)[1]).all()  # the same bits every time
    workers.close()


def test_shards_of_real_rows_and_errors_without_labels():
    x = np.random.default_rng(0).standard_normal((7, 3))
    network, index, data = Perceptrons(3, 2), LossIndex(MeanSquaredError()), rows(x, x[:, :2] ** 2)
    expected, reference = index.differentiate(network, data)
    workers = Workers(3)
    loss, gradient = workers.differentiate(index, network, data, ForwardContext())
    np.testing.assert_allclose(gradient, reference, atol=1e-14)
    assert loss.error == pytest.approx(expected.error, rel=1e-13)
    workers.close()


@pytest.mark.parametrize("make", [Adam, AdamW, lambda: Adam(form="inside", epsilon=1e-3), lambda: AdamW(decay=0.3)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-14)])
# a factor that never changes cancels out of the steps of Adam, and is seen in its moments alone
@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0, 1.0), (1.0, 0.02, 0.5, 0.1)], ids=["whole", "clipped"])
def test_adam_in_one_sweep(numba, make, dtype, tolerance, factors):
    def trained(engine: str) -> tuple[Array, dict[str, Array]]:
        use_engine(engine)
        network, optimizer, workers = transformer(dtype), make(), Workers(2)
        network.freeze("encoder")
        rng = np.random.default_rng(0)
        for factor in factors:
            gradient = rng.standard_normal(network.theta.values.size).astype(dtype)
            optimizer.update(network.theta, gradient, 0.01, workers.map, factor)
        workers.close()
        return network.theta.values, optimizer.moments

    ours, our_moments = trained("numba")
    theirs, moments = trained("numpy")
    np.testing.assert_allclose(ours, theirs, atol=tolerance)
    for name, moment in moments.items():
        np.testing.assert_allclose(our_moments[name], moment, atol=tolerance)


def test_the_average_in_one_sweep(numba):
    network = transformer()
    ours = np.random.default_rng(0).standard_normal(network.theta.values.size).astype(np.float32)
    theirs = ours.copy()
    follow(ours, network.theta, 0.9)
    use_engine("numpy")
    follow(theirs, network.theta, 0.9)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_training_with_threads_resumes_to_the_last_bit(numba, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from dragoman.tasks.training import train_model
    from dragoman.training import Callback
    from dragoman.training.interrupts import Interrupts

    monkeypatch.setenv("DRAGOMAN_ENGINE", "numba")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    given = {
        "threads": 2,
        "data": {"files": ["copy"]},
        "network": {"depth": 16, "perceptron_depth": 16, "heads": 2},
        "stopping": {"steps": 14},
        "progress": {"every": 5},
    }

    class Stop(Callback):
        def __init__(self, at: int, interrupts: Interrupts) -> None:
            self.at, self.interrupts = at, interrupts

        def step(self, step: int, *_: Any) -> None:
            if step == self.at:
                self.interrupts.signal = 2

    train_model(given, tmp_path / "whole")
    assert current_engine() == "numba"
    for at in (3, 5, 11):
        interrupts = Interrupts()
        train_model(given, tmp_path / "parts", Stop(at, interrupts), interrupts)
    train_model(given, tmp_path / "parts")
    whole, parts = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts

    def history(name: str) -> list[dict[str, Any]]:
        lines = (tmp_path / name / "history.jsonl").read_text().splitlines()
        return [
            {k: v for k, v in json.loads(line).items() if k not in ("seconds", "tokens_per_second")} for line in lines
        ]

    assert history("whole") == history("parts")


def test_without_numba_one_line_says_so(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ImportError("No module named 'numba'")

    monkeypatch.setenv("DRAGOMAN_ENGINE", "numba")
    monkeypatch.setattr(importlib, "import_module", missing)
    told: list[str] = []
    assert use_fastest(told.append) == current_engine() == "numpy"
    assert len(told) == 1
    assert "pip install numba" in told[0]


def test_an_engine_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_ENGINE", "abacus")
    with pytest.raises(ConfigurationError, match="'abacus'; available: numba, numpy"):
        use_fastest()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_are_summed(numba, dtype):
    vector = np.random.default_rng(0).standard_normal(10_001).astype(dtype)
    exact = float(np.square(vector, dtype=np.float64).sum())
    assert sum_of_squares(vector) == pytest.approx(exact, rel=1e-5)
    assert sum_of_squares(vector[::3]) == pytest.approx(float(np.square(vector[::3], dtype=np.float64).sum()), rel=1e-5)
    assert np.isnan(sum_of_squares(np.array([1.0, np.nan], dtype)))
