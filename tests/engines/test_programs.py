"""A program has the gradient of the graph, bit by bit, and is made only of operations and options that have kernels."""

from __future__ import annotations

import functools
import gc
import itertools
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")
from dragoman import Batch, Transformer
from dragoman.engines import programs
from dragoman.engines.numba.gemm import gemm
from dragoman.engines.numba.programs import program as numba_programs
from dragoman.engines.numba.programs import tape
from dragoman.engines.numba.programs.fields import Matrix
from dragoman.engines.numba.programs.writer import Writer
from dragoman.errors import DragomanWarning, GraphError, LabelError, NonFiniteError, ShapeError
from dragoman.graph import Array, Size, operation
from dragoman.layers import ForwardContext
from dragoman.layers import attention as attention_layers
from dragoman.loss import CrossEntropy, Loss, LossIndex, MeanSquaredError
from dragoman.networks import Encoder, EncoderConfiguration
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


def check_programs(network: Any) -> None:
    """All that was differentiated of a network went through programs."""
    made = programs.programs_of(network).made.values()
    assert made
    assert all(found.verified for found in made)


def by_program(network: Any, pairs: Batch, run: ForwardContext | None = None, index: LossIndex = INDEX) -> Any:
    return programs.differentiate(index.error_and_hits, index.error, network, pairs, run or ForwardContext(), None)


def through_the_graph(
    network: Any, pairs: Batch, run: ForwardContext | None = None, index: LossIndex = INDEX
) -> tuple[Loss, Array]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "differentiate", lambda *_: None)
        return index.differentiate(network, pairs, run)


def check_bits(network: Any, pairs: Batch, run: ForwardContext | None = None, index: LossIndex = INDEX) -> None:
    """A program computes error, hits and gradient, with the bits of the graph."""
    assert by_program(network, pairs, run, index) is not None
    loss, gradient = index.differentiate(network, pairs, run)
    expected, reference = through_the_graph(network, pairs, run, index)
    assert (loss.error, loss.hits) == pytest.approx((expected.error, expected.hits), rel=0, abs=0, nan_ok=True)
    for name, parameter in network.named_parameters():
        wanted, found = network.theta.view(reference, parameter), network.theta.view(gradient, parameter)
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        assert np.abs(wanted).max() > 0 or parameter.frozen, name


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("sentences", [1, 30])
def test_the_gradient_is_that_of_the_graph(numba: None, settings: dict[str, Any], sentences: int) -> None:
    network, pairs, run = made(**settings), batch(sentences), ForwardContext(DropoutKey(5, 6))
    check_bits(network, pairs, run)


@pytest.mark.parametrize("lengths", [(40, 50), (64, 20), (10, 33)])
def test_the_gradient_is_that_of_the_graph_for_long_sentences(numba: None, lengths: tuple[int, int]) -> None:
    """Sentences that attention handles in blocks, beside short ones: the bits are those of the graph."""
    rng = np.random.default_rng(0)
    network, run = made(positions="relative", heads=2, dropout=0.2), ForwardContext(DropoutKey(5, 6))
    sources, references = ([rng.integers(4, 30, n) for n in (longest, 5, 31, 32)] for longest in lengths)
    pairs = Batch.pairs(sources, references)
    check_bits(network, pairs, run)


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
    assert by_program(single, pairs, run) is not None
    assert by_program(double, pairs, run) is None
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
    check_programs(network)


@pytest.mark.parametrize("first", [0, 1])
def test_whole_batches_and_shards_have_programs_of_their_own(numba: None, first: int) -> None:
    """A shard's error is divided by the weight of the whole batch; one network may see both, in any order."""
    network, pairs = made(layers=1), batch()
    totals = [None, 2 * pairs.weight]
    errors = {}
    for total in (totals[first], totals[1 - first], totals[first]):
        run = programs.differentiate(INDEX.error_and_hits, INDEX.error, network, pairs, ForwardContext(), total)
        assert run is not None
        errors[total] = run[0]
    assert errors[None] == pytest.approx(2 * errors[totals[1]], rel=1e-6)
    assert len(programs.programs_of(network).made) == 2


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
    check_programs(network)


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
    check_programs(network)


def test_products_of_openblas_give_the_same_gradient(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pairs, run = made(block="pre"), batch(30), ForwardContext(DropoutKey(1, 9))
    _, expected = through_the_graph(network, pairs, run)
    gemm._own_gemm()
    monkeypatch.setattr(gemm, "has_own_gemm", lambda: False)
    _, gradient = INDEX.differentiate(network, pairs, run)
    np.testing.assert_allclose(gradient, expected, atol=2e-6 * np.abs(expected).max())
    check_programs(network)


def test_what_only_a_graph_can_do_is_left_to_it(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pairs = made(block="pre"), batch()
    assert by_program(network, pairs) is not None
    assert by_program(network, pairs, ForwardContext(maps=[])) is None
    monkeypatch.setattr(numba_programs, "MOST_BYTES", 1000)
    assert by_program(network, pairs) is None


def test_a_table_of_positions_grows_with_the_sentences(numba: None) -> None:
    """The program knows the table as it is; a longer sentence goes through the graph, which extends it."""
    network, short = made(), batch()
    check_bits(network, short)
    long = Batch.pairs([np.full(300, 5)], [np.full(300, 6)])
    assert by_program(network, long) is None
    through_the_graph(network, long)
    check_bits(network, long)
    check_bits(network, short)


def test_batches_of_other_sizes_take_the_same_program(numba: None) -> None:
    """As many source rows as reference rows, more, and fewer; short and long sequences, one and many: nothing of the
    sizes of the first batch is baked in."""
    network = made(block="pre", dropout=0.2, positions="relative")
    sizes = [(5, 5, 2), (5, 8, 1), (9, 3, 7), (2, 2, 3), (40, 40, 2), (2, 50, 1), (5, 5, 2)]
    for source, reference, count in sizes:
        sources = [np.arange(source) % 20 + 4] * count
        pairs = Batch.pairs(sources, [np.r_[2, np.arange(reference - 1) % 20 + 4, 3]] * count)
        assert (len(pairs.source), len(pairs.labels)) == (count, reference * count)  # type: ignore[arg-type]
        check_bits(network, pairs, ForwardContext(DropoutKey(3, source)))
    assert len(programs.programs_of(network).made) == 1
    check_programs(network)


def test_frozen_parameters_have_no_derivative(numba: None) -> None:
    network, pairs = made(block="pre", tied="output"), batch()
    network.freeze("encoder.0", "reference_embedding")
    check_bits(network, pairs)
    derivatives = {id(parameter) for parameter, _ in by_program(network, pairs)[2]}
    assert derivatives == {id(parameter) for parameter in network.theta.parameters if not parameter.frozen}
    network.unfreeze("encoder.0")
    check_bits(network, pairs)


def test_kernels_that_leave_out_an_option_are_found_by_the_first_batch(
    numba: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first sequences run both ways; the definition is right, so the graph goes on, and says so."""
    from dragoman.engines.numba.programs import kernels

    monkeypatch.setattr(kernels.Normalizing, "_settings", lambda *_: (1, 1e-5))  # neither form nor epsilon
    network, pairs = made(normalization="outside", epsilon=0.5), batch()
    with pytest.warns(DragomanWarning, match="kernels and definitions disagree .* through the graph"):
        assert by_program(network, pairs) is None
    assert by_program(network, pairs) is None
    monkeypatch.undo()
    check_bits(made(normalization="outside", epsilon=0.5), pairs)


@pytest.mark.parametrize(
    ("call", "argument", "value"),
    [
        ("embed", "scale", 1.0),
        ("embed", "dropout", None),
        ("attend", "causal", 0),
        ("attend", "scale", 1.0),
        ("attend", "bias", None),
        ("add_normalize", "dropout", None),
        ("linear", "biases", None),
    ],
)
def test_a_kernel_without_one_argument_is_found_by_the_first_batch(
    numba: None, monkeypatch: pytest.MonkeyPatch, call: str, argument: str, value: Any
) -> None:
    write = Writer.call

    def forgetful(self: Writer, name: str, **arguments: Any) -> None:
        write(self, name, **(arguments | {argument: value} if name == call else arguments))

    monkeypatch.setattr(Writer, "call", forgetful)
    network = made(block="post", positions="relative", activation="identity")
    with pytest.warns(DragomanWarning, match="kernels and definitions disagree"):
        assert by_program(network, batch(), ForwardContext(DropoutKey(5, 6))) is None


def test_an_option_without_a_kernel_is_not_left_out(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a later version of attention had one more option."""
    definition = attention_layers.attend_self.definition

    @operation
    def attend_self(qkv: Array, distance_bias: Any = None, *, window: int, **options: Any) -> Any:
        return definition(qkv, distance_bias, **options)

    windowed = functools.partial(attend_self, window=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_layers, "attend_self", windowed)
        network = made()
        assert by_program(network, batch()) is None
        (found,) = programs.programs_of(network).made.values()
        assert found.reason == "SelfAttention.__call__: the kernel of attend_self does not know the option 'window'"


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda labels: np.minimum(labels, 29), "numpy.minimum"),
        (lambda labels: np.repeat(labels, 2), "numpy.repeat"),
        (lambda labels: np.asarray(labels), "an array"),
        (lambda labels: labels[1:], "an index"),
        (lambda labels: labels.max(), ".max"),
        (len, "len()"),
        (bool, "a condition"),
        (list, "len()"),
    ],
)
def test_a_network_that_computes_with_labels_is_left_to_the_graph(numba: None, read: Any, what: str) -> None:
    class Reading(Transformer):
        def before_output(self, batch: Any, run: Any = None) -> Any:
            found = read(batch.labels) if len(batch.labels.shape) else None
            assert found is not None
            return super().before_output(batch, run)

    network = Reading(made().configuration)
    assert by_program(network, batch()) is None
    (found,) = programs.programs_of(network).made.values()
    assert f"{what} needs the values of 'labels', which only a batch has" in found.reason
    assert found.reason.startswith(("<lambda>: ", "test_a_network_that_computes_with_labels"))  # where it was read


def test_other_errors_are_recorded_too(numba: None) -> None:
    rng = np.random.default_rng(0)
    rows = Batch(rng.normal(size=(9, 5)), np.array([0, 4, 9]), rng.normal(size=(2, 3)), per="sample")
    network = scatter(Encoder(EncoderConfiguration(inputs=5, outputs=3, depth=32, heads=2)))
    check_bits(network, rows, index=LossIndex(MeanSquaredError()))


def test_other_engines_have_no_programs() -> None:
    assert by_program(made(block="pre"), batch()) is None


def test_mistakes_are_reported(numba: None) -> None:
    """By the graph: a program that is in use does not run for such a batch."""
    network, pairs = made(block="pre"), batch()
    assert by_program(network, pairs) is not None
    assert pairs.source is not None
    unknown = replace(pairs, labels=np.full_like(pairs.labels, 30))
    negative = replace(pairs, source=replace(pairs.source, labels=np.full_like(pairs.source.labels, -1)))
    for wrong in (unknown, negative):
        with pytest.raises(LabelError):
            INDEX.differentiate(network, wrong)
    with pytest.raises(GraphError, match="nothing was recorded"):
        INDEX.differentiate(network.plain, pairs)
    for rows in (np.ones((len(pairs.labels), 1), int), np.ones((len(pairs.labels), 32), np.float32)):
        with pytest.raises((LabelError, ShapeError)):
            INDEX.differentiate(network, Batch(rows, pairs.offsets, pairs.targets, source=pairs.source))
    network.theta.values[:] = np.nan
    with pytest.raises(NonFiniteError), np.errstate(all="ignore"):
        INDEX.differentiate(network, pairs)


def test_a_buffer_is_reused_after_its_last_reader_and_not_before() -> None:
    n, m = Size.of("n"), Size.of("m")
    x, y, z, other, kept = (Matrix(rows, 8) for rows in (n, n, n, m, n))
    kept.kept = True
    steps = [tape.PythonStep(None, touched) for touched in ([x, kept], [x, y, other], [y, z], [z])]
    buffers, used = tape.plan_buffers(steps)
    assert buffers == [x, kept, y, other, z]
    assert z.at is x.at
    assert len({x.at, kept.at, y.at, other.at}) == 4
    assert used == (n * 3 + m) * (4 * 16)


def test_a_sum_may_be_written_over_what_it_is_made_of() -> None:
    x, y, total = (Matrix(Size.of("n"), 8) for _ in range(3))
    add = tape.Call("add", {"x": x, "y": y, "total": total}, in_place=True)
    tape.plan_buffers([tape.PythonStep(None, [x, y]), add, tape.PythonStep(None, [total, y])])
    assert total.at is not None
    assert x.at is not None
    assert y.at is not None
    assert total.at.key == x.at.key != y.at.key


def test_a_call_has_all_fields_of_its_kernel() -> None:
    x = Matrix(Size.of("n"), 8)
    with pytest.raises(TypeError, match="add takes x, y, total, got x, total, dropout"):
        tape.Call("add", {"x": x, "total": x, "dropout": None})


@pytest.mark.parametrize("settings", KINDS)
def test_reusing_buffers_saves_memory_and_changes_nothing(
    numba: None, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    pairs, run = batch(30), ForwardContext(DropoutKey(5, 6))
    values = {"": 1, "rows": 100, "source_rows": 100, "sequences": 10}

    def found() -> tuple[bytes, int]:
        network = made(**{**settings, "layers": 2})
        gradient = INDEX.differentiate(network, pairs, run)[1].tobytes()
        (found,) = programs.programs_of(network).made.values()
        return gradient, found.program.size(values)

    gradient, size = found()
    monkeypatch.setattr(tape, "_release", lambda *_: None)
    expected, more = found()
    assert gradient == expected
    assert size < 0.9 * more


def test_programs_keep_no_network(numba: None) -> None:
    network = made(block="pre")
    assert by_program(network, batch(3)) is not None
    kept = weakref.ref(network.theta.values)
    del network
    gc.collect()
    assert kept() is None


WITHOUT_MEMORY = """
import resource
from dragoman.engines.numba.gemm import gemm
from dragoman.engines.numba.programs import program
from dragoman.graph import use_engine
from tests.engines.test_programs import INDEX, batch, made
use_engine("numba")
gemm.has_own_gemm = lambda: True  # those of a BLAS ask for nothing
network, pairs = made(block="pre"), batch(200)
INDEX.differentiate(network, pairs)  # so that all is compiled
run = program.ProgramRun._run
def within_what_it_has(self, segment):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used, before[1]))
    taken, size = [], 1 << 24
    while size > 1 << 12:
        try:
            taken.append(bytearray(size))
        except MemoryError:
            size //= 2
    try:
        run(self, segment)
    finally:
        taken.clear()
        resource.setrlimit(resource.RLIMIT_AS, before)
program.ProgramRun._run = within_what_it_has
try:
    INDEX.differentiate(network, pairs)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux how much memory the process has")
def test_running_out_of_memory_is_reported(numba: None) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, check=True)
    assert "smaller batches" in done.stdout
