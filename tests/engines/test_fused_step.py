"""The fused step has the gradient of the graph, and runs only for networks and options that it knows."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Batch, Transformer
from dragoman.engines import fused_step
from dragoman.engines.numba.fused_step import program as programs
from dragoman.engines.numba.fused_step.tape import Tape, symbol
from dragoman.engines.numba.gemm import gemm
from dragoman.engines.numba.ops import fused_step as fused_step_ops
from dragoman.errors import GraphError, LabelError, NonFiniteError, ShapeError
from dragoman.graph import Array
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, Loss, LossIndex
from dragoman.operations import DropoutKey
from dragoman.training.workers import Workers
from tests.engines.test_engine_training import batch, transformer
from tests.networks.small_networks import scatter

INDEX = LossIndex(CrossEntropy(0.1))
KINDS: list[dict[str, Any]] = [
    {"block": block, "positions": positions, "dropout": dropout, "tied": tied, **more}
    for (block, dropout), (positions, tied, more) in itertools.product(
        [("pre", 0.0), ("pre", 0.3), ("post", 0.0), ("post", 0.3)],
        [
            ("half_sinusoid", "none", {"layers": 1}),
            ("relative", "none", {"activation": "gelu", "normalization": "outside"}),
            ("none", "output", {"activation": "identity", "attention_biases": False}),
            ("relative", "all", {"layers": 3, "heads": 2, "relative_reach": 2}),
        ],
    )
]


def made(**settings: Any) -> Transformer:
    vocabularies = {} if settings.get("tied") == "all" else {"source_vocabulary": 37}
    network: Transformer = scatter(transformer(**{**vocabularies, **settings}))
    network.theta.values *= 0.5
    return network


def fused(network: Transformer, pairs: Batch, run: ForwardContext | None = None) -> Any:
    return fused_step.differentiate(network, pairs, run or ForwardContext(), INDEX.error, None)


def through_the_graph(network: Transformer, pairs: Batch, run: ForwardContext) -> tuple[Loss, Array]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused_step, "differentiate", lambda *_: None)
        return INDEX.differentiate(network, pairs, run)


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("sentences", [1, 30])
def test_the_gradient_is_that_of_the_graph(numba: None, settings: dict[str, Any], sentences: int) -> None:
    network, pairs, run = made(**settings), batch(sentences), ForwardContext(DropoutKey(5, 6))
    assert fused(network, pairs, run) is not None
    loss, gradient = INDEX.differentiate(network, pairs, run)
    expected, reference = through_the_graph(network, pairs, run)
    assert (loss.error, loss.hits) == (expected.error, expected.hits)
    for name, parameter in network.named_parameters():
        wanted, found = network.theta.view(reference, parameter), network.theta.view(gradient, parameter)
        np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(reference).max(), err_msg=name)
        assert np.abs(wanted).max() > 0, name
    if settings["tied"] != "all":  # a table that is also the output gets its two derivatives in another order
        assert gradient.tobytes() == reference.tobytes()


@pytest.mark.parametrize("lengths", [(40, 50), (64, 20), (10, 33)])
def test_the_gradient_is_that_of_the_graph_for_long_sentences(numba: None, lengths: tuple[int, int]) -> None:
    """Sentences that attention handles in blocks, beside short ones: the bits are those of the graph."""
    rng = np.random.default_rng(0)
    network, run = made(positions="relative", heads=2, dropout=0.2), ForwardContext(DropoutKey(5, 6))
    sources, references = ([rng.integers(4, 30, n) for n in (longest, 5, 31, 32)] for longest in lengths)
    pairs = Batch.pairs(sources, references)
    assert fused(network, pairs, run) is not None
    loss, gradient = INDEX.differentiate(network, pairs, run)
    expected, reference = through_the_graph(network, pairs, run)
    assert loss.error == expected.error
    assert gradient.tobytes() == reference.tobytes()


def test_the_gradient_is_that_of_double_precision(numba: None) -> None:
    """The graph in double precision is checked numerically elsewhere."""
    settings: dict[str, Any] = {"block": "pre", "positions": "relative", "activation": "gelu"}
    single, double, pairs, run = (
        made(**settings),
        made(dtype=np.float64, **settings),
        batch(),
        ForwardContext(DropoutKey(1, 2)),
    )
    double.theta.values[:] = single.theta.values
    assert fused(single, pairs, run) is not None
    assert fused(double, pairs, run) is None
    loss, gradient = INDEX.differentiate(single, pairs, run)
    expected, reference = INDEX.differentiate(double, pairs, run)
    np.testing.assert_allclose(gradient, reference, atol=2e-6 * np.abs(reference).max())
    assert loss.error == pytest.approx(expected.error, rel=1e-5)


def test_weights_of_positions_count(numba: None) -> None:
    network, pairs = made(block="post"), batch()
    weights = np.random.default_rng(0).uniform(0, 2, len(pairs.labels))
    weighted = Batch(pairs.labels, pairs.offsets, pairs.targets, weights, pairs.source)
    _, gradient = INDEX.differentiate(network, weighted, ForwardContext())
    _, expected = through_the_graph(network, weighted, ForwardContext())
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())
    assert np.abs(gradient - INDEX.differentiate(network, pairs, ForwardContext())[1]).max() > 1e-4


def test_threads_have_their_shards_and_the_same_bits(numba: None) -> None:
    """Some matrices are wide enough to be cut in halves for whoever is free."""
    network, pairs, run = (
        made(block="pre", dropout=0.2, perceptron_depth=300),
        batch(40),
        ForwardContext(DropoutKey(1, 9)),
    )
    workers = Workers(2)
    found = [workers.differentiate(INDEX, network, pairs, run)[1].copy() for _ in range(10)]
    workers.close()
    assert len({gradient.tobytes() for gradient in found}) == 1
    _, expected = through_the_graph(network, pairs, run)
    np.testing.assert_allclose(found[0], expected, atol=2e-6 * np.abs(expected).max())


def test_what_was_learned_since_counts(numba: None) -> None:
    """Of theta, a program knows where things stand and not what they are."""
    network, pairs = made(block="pre"), batch()
    before = INDEX.differentiate(network, pairs)[0].error
    network.theta.values *= 0.9
    assert (
        INDEX.differentiate(network, pairs)[0].error
        == through_the_graph(network, pairs, ForwardContext())[0].error
        != before
    )


def test_the_products_of_a_blas_will_do(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pairs, run = made(block="pre"), batch(30), ForwardContext(DropoutKey(1, 9))
    _, expected = through_the_graph(network, pairs, run)
    gemm._own_gemm()
    monkeypatch.setattr(gemm, "has_own_gemm", lambda: False)
    _, gradient = INDEX.differentiate(network, pairs, run)
    np.testing.assert_allclose(gradient, expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": "learned", "maximum_length": 40},
        {"positions": "one_hot", "maximum_length": 10},
        {"activation": "tanh"},
        {"depth": 12, "heads": 3},
        {"dtype": np.float64},
    ],
)
def test_other_networks_are_left_to_the_graph(numba: None, settings: dict[str, Any]) -> None:
    assert fused(made(**settings), batch()) is None


def test_what_only_a_graph_can_do_is_left_to_it(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pairs = made(block="pre"), batch()
    assert fused(network, pairs) is not None
    assert fused(network, pairs, ForwardContext(maps=[])) is None
    network.output.weights.frozen = True
    assert fused(network, pairs) is None
    network.output.weights.frozen = False
    network.reference_embedding.dropout = 0.5  # not as the others
    assert fused(network, pairs) is None
    network.reference_embedding.dropout = network.configuration.dropout
    monkeypatch.setattr(fused_step_ops, "MOST_BYTES", 1000)  # bytes
    assert fused(network, pairs) is None


def test_other_engines_have_no_fused_step() -> None:
    assert fused(made(block="pre"), batch()) is None


def test_mistakes_are_symbol(numba: None) -> None:
    network, pairs = made(block="pre"), batch()
    for labels, source in ((np.full_like(pairs.labels, 30), pairs.source), (pairs.labels, None)):
        wrong = pairs.source if source is None else source
        assert wrong is not None
        given = wrong if source is not None else Batch(np.full_like(wrong.labels, -1), wrong.offsets)
        with pytest.raises(LabelError):
            INDEX.differentiate(network, Batch(labels, pairs.offsets, pairs.targets, source=given))
    with pytest.raises(GraphError, match="nothing was recorded"):
        INDEX.differentiate(network.plain, pairs)
    assert pairs.source is not None
    for rows in (np.ones((len(pairs.labels), 1), int), np.ones((len(pairs.labels), 32), np.float32)):
        with pytest.raises((LabelError, ShapeError)):
            INDEX.differentiate(network, Batch(rows, pairs.offsets, pairs.targets, source=pairs.source))
    network.theta.values[:] = np.nan
    with pytest.raises(NonFiniteError), np.errstate(all="ignore"):
        INDEX.differentiate(network, pairs)


def test_buffers_are_reused_for_matrices_of_the_same_size() -> None:
    tape = Tape({})
    first = tape.buffer(symbol("n"), 8)
    tape.release(first)
    assert tape.buffer(symbol("m"), 8) is not first
    assert tape.buffer(symbol("n"), 16) is not first
    assert tape.buffer(symbol("n"), 8) is first
    assert tape.buffer(symbol("n"), 8) is not first


@pytest.mark.parametrize("settings", KINDS)
def test_reusing_buffers_saves_memory_and_changes_nothing(
    numba: None, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    network, pairs, run = made(**{**settings, "layers": 2}), batch(30), ForwardContext(DropoutKey(5, 6))

    def found() -> tuple[bytes, int]:
        programs._programs.clear()
        gradient = INDEX.differentiate(network, pairs, run)[1].tobytes()
        (program,) = programs._programs.values()
        return gradient, program.size(100, 100)

    gradient, size = found()
    monkeypatch.setattr(Tape, "release", lambda *_: None)
    expected, more = found()
    assert gradient == expected
    assert size < 0.9 * more


def test_programs_are_few_and_keep_no_network(numba: None) -> None:
    networks = [made(block="pre", perceptron_depth=8 * (i + 1), layers=1) for i in range(6)]
    for network in networks:
        assert fused(network, batch(3)) is not None
    assert len(programs._programs) <= programs.MOST_PROGRAMS
    kept = weakref.ref(networks[-1].theta.values)
    del network
    networks.clear()
    gc.collect()
    assert kept() is None


WITHOUT_MEMORY = """
import resource
from dragoman.engines.numba.gemm import gemm
from dragoman.engines.numba.fused_step import program
from dragoman.graph import use_engine
from tests.engines.test_fused_step import INDEX, batch, made
use_engine("numba")
gemm.has_own_gemm = lambda: True  # those of a BLAS ask for nothing
network, pairs = made(block="pre"), batch(200)
INDEX.differentiate(network, pairs)  # so that all is compiled
run = program.ProgramRun.run
def within_what_it_has(self, name):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
    taken, size = [], 1 << 24
    while size > 1 << 12:
        try:
            taken.append(bytearray(size))
        except MemoryError:
            size //= 2
    try:
        run(self, name)
    finally:
        taken.clear()
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
program.ProgramRun.run = within_what_it_has
try:
    INDEX.differentiate(network, pairs)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux how much memory the process has")
def test_want_of_memory_is_symbol(numba: None) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, check=True)
    assert "smaller batches" in done.stdout
