"""What cannot be traced for any batch goes through the graph: nothing of the first batch is taken for all of them."""

from __future__ import annotations

import dataclasses
import gc
import random
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")
from dragoman import Batch, Transformer
from dragoman.engines import comparison, programs
from dragoman.engines.numba.programs import kernels
from dragoman.engines.numba.programs.program import ProgramRun
from dragoman.errors import DragomanWarning, LabelError, ShapeError
from dragoman.graph import Parameter, Theta, value_of
from dragoman.layers import CarriedStates, ForwardContext, Layer
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import Encoder, EncoderConfiguration
from dragoman.operations import DropoutKey, activate, add, attend_self, embed, linear, normalize
from tests.engines.test_programs import INDEX, batch, by_program, check_bits, made, through_the_graph


class Changed(Transformer):
    """A Transformer that does something more with the rows before its output."""

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> Any:
        x, output = super().before_output(batch, run)
        return self.change(x, batch), output

    def change(self, x: Any, batch: Batch) -> Any:
        return x


def network_of(change: Any, **attributes: Any) -> Any:
    """A Transformer with other rows before its output, and more attributes."""

    def bind(self: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)
        Changed._bind(self)

    network = type("Other", (Changed,), {"change": change, "_bind": bind})(made(source_vocabulary=30).configuration)
    network.theta.values[: len(made(source_vocabulary=30).theta)] = made(source_vocabulary=30).theta.values
    return network


def reason_of(network: Any) -> str:
    (found,) = programs.programs_of(network).made.values()
    return str(found.reason)


def check_equal(network: Any, pairs: Batch, index: LossIndex = INDEX) -> None:
    """Whatever path a network takes, the gradient is that of the graph."""
    np.testing.assert_array_equal(
        index.differentiate(network, pairs)[1], through_the_graph(network, pairs, index=index)[1]
    )


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda x, batch: batch.first_row == 0, "whether first_row is 0 depends on the batch"),
        (lambda x, batch: x.shape[0] == 6, "whether rows is 6"),
        (lambda x, batch: batch.labels == 3, "a comparison needs the values of 'labels'"),
        (lambda x, batch: x.shape[0] == batch.source.labels.shape[0], "whether rows is source_rows"),
    ],
)
def test_a_branch_that_depends_on_the_batch_is_left_to_the_graph(numba: None, condition: Any, reason: str) -> None:
    network = network_of(lambda self, x, batch: add(x, x) if np.all(condition(x, batch)) else x)
    assert by_program(network, batch()) is None
    assert reason in reason_of(network)


def test_values_that_a_network_computes_itself_are_not_taken_for_constants(numba: None) -> None:
    """They were right for the first batch, and would not follow the parameters."""
    table = value_of(made().reference_embedding.table)
    network = network_of(lambda self, x, batch: add(x, embed(np.tanh(self.own), labels=batch.labels)), own=table)
    assert by_program(network, batch()) is None
    assert "embed is given values that the network computed" in reason_of(network)
    whole = network_of(lambda self, x, batch: add(x, embed(self.own, labels=batch.labels)), own=table.copy())
    check_bits(whole, batch())
    whole.own *= 2  # in place: read again for every batch
    check_bits(whole, batch())


def test_parameters_of_another_network_are_left_to_the_graph(numba: None) -> None:
    other = Parameter(np.eye(32, dtype=np.float32))
    Theta([other])
    network = network_of(lambda self, x, batch: linear(x, other))
    check_equal(network, batch())
    assert "linear is given values" in reason_of(network)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda self, x, batch: linear(x, self.decoder[0].cross_attention.projection.weights, activation="relu"),
            "there is no kernel for an activation without biases",
        ),
        (
            lambda self, x, batch: normalize(
                x,
                self.decoder[0].self_attention_normalization.gamma,
                self.decoder[0].self_attention_normalization.beta,
                epsilon=0.0,
            ),
            "the kernel needs an epsilon above 0",
        ),
    ],
    ids=["activation without biases", "epsilon of 0"],
)
def test_what_no_kernel_does_is_left_to_the_graph(numba: None, change: Any, reason: str) -> None:
    network = network_of(change)
    assert by_program(network, batch()) is None
    assert reason in reason_of(network)
    check_equal(network, batch())


def test_a_distance_bias_that_is_no_parameter_is_left_to_the_graph(numba: None) -> None:
    network = network_of(
        lambda self, x, batch: attend_self(
            linear(x, self.decoder[0].self_attention.query_key_value_weights), self.own, offsets=batch.offsets, heads=1
        ),
        own=np.ones((1, 3), np.float32),
    )
    assert by_program(network, batch()) is None
    assert "the distance bias is not a parameter" in reason_of(network)
    check_equal(network, batch())


def test_rows_that_are_not_those_of_the_offsets_are_left_to_the_graph(numba: None) -> None:
    """Keys and values of the targets, but the offsets of the sources: right only where both are equally long."""
    network = network_of(
        lambda self, x, batch: add(
            x, self.decoder[0].cross_attention(x, x, batch.offsets, batch.source.offsets, ForwardContext())
        )
    )
    lengths = 3, 7, 5
    references = [np.concatenate(([2], np.arange(4, 3 + n), [3])) for n in lengths]
    alike, shorter = (Batch.pairs([np.arange(4, 4 + n - less) for n in lengths], references) for less in (0, 1))
    assert by_program(network, alike) is not None
    with pytest.raises(ShapeError):
        INDEX.differentiate(network, shorter)


def test_an_operation_without_a_derivative_gives_none_to_its_input(numba: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(activate, "definition", lambda x, *, activation: (np.tanh(x), lambda dy: (None,)))
    check_bits(network_of(lambda self, x, batch: add(x, activate(x, activation="tanh"))), batch())


@pytest.mark.parametrize("own", [[False], ([False],), {"on": False}, {False}, random.Random(0), bytearray(1)])
def test_an_attribute_that_can_be_changed_in_place_is_left_to_the_graph(numba: None, own: Any) -> None:
    network = network_of(lambda self, x, batch: add(x, x), own=own)
    assert by_program(network, batch()) is None
    assert programs.programs_of(network).reason == "own is an object whose changes would go unnoticed"
    check_equal(network, batch())


@dataclass(frozen=True)
class Hidden(CrossEntropy):
    rate: float = dataclasses.field(default=0.0, compare=False)

    def of_layer(self, *given: Any) -> Any:
        return CrossEntropy(self.rate).of_layer(*given)


class Annealed(CrossEntropy):
    def __init__(self, rate: float) -> None:
        super().__init__()
        object.__setattr__(self, "rate", rate)

    def of_layer(self, *given: Any) -> Any:
        return CrossEntropy(self.rate).of_layer(*given)  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", [Hidden(rate=0.5), Annealed(0.5)])
def test_errors_that_compare_equal_are_not_the_same(numba: None, error: Any) -> None:
    network, pairs = made(), batch()
    first = Hidden(rate=0.0) if isinstance(error, Hidden) else Annealed(0.0)
    assert first == error
    for each in (first, error):
        check_equal(network, pairs, LossIndex(each))


def test_an_error_with_a_list_goes_through_the_graph(numba: None) -> None:
    @dataclass(frozen=True)
    class Weighted(CrossEntropy):
        weights: Any = None

    check_equal(made(), batch(), LossIndex(Weighted(weights=[1, 2])))
    assert by_program(made(), batch(), index=LossIndex(Weighted(weights=[1, 2]))) is None


def test_an_error_that_changes_with_every_step_is_not_traced_each_time(numba: None) -> None:
    network, pairs = made(layers=1), batch(3)
    for step in range(programs.MOST_MADE + 3):
        LossIndex(CrossEntropy(step / 100)).differentiate(network, pairs)
    assert len(programs.programs_of(network).made) == programs.MOST_MADE
    check_equal(network, pairs, LossIndex(CrossEntropy(0.9)))


def test_a_loss_of_another_class_goes_through_the_graph(numba: None) -> None:
    class Twice(LossIndex):
        def error_and_hits(self, *given: Any) -> Any:
            error, hits = super().error_and_hits(*given)
            return add(error, error), hits

    network, pairs = made(), batch()
    one, two = (index.differentiate(network, pairs)[0].error for index in (LossIndex(), Twice()))
    assert two == pytest.approx(2 * one, rel=1e-6)


def test_derived_batches_have_the_width_they_were_said_to_have(numba: None) -> None:
    def narrow(batch: Batch) -> Batch:
        return Batch(np.ones((len(batch.labels), 2), np.float32), batch.offsets)

    network = network_of(lambda self, x, batch: add(x, batch.derive(narrow, 32).labels))
    with pytest.raises(ShapeError):
        INDEX.differentiate(network, batch())
    method = network_of(lambda self, x, batch: add(x, batch.derive(self.wide, 32).labels))
    type(method).wide = lambda self, batch: Batch(np.ones((len(batch.labels), 32), np.float32), batch.offsets)
    check_equal(method, batch())
    assert "Batch.derive is given a function that holds objects" in reason_of(method)


def test_networks_may_read_targets(numba: None) -> None:
    network = network_of(lambda self, x, batch: add(x, embed(self.reference_embedding.table, labels=batch.targets)))
    check_bits(network, batch())


def test_carried_states_that_a_network_does_not_read_stay(numba: None) -> None:
    states = CarriedStates([(np.ones((4, 8), np.float32),)])
    assert by_program(made(), batch(4), ForwardContext(carried=states)) is not None
    assert all((part == 1).all() for part in states.arrays().values())


@pytest.mark.parametrize("without", ["valid labels", "weight"])
def test_a_batch_that_shows_nothing_verifies_nothing(
    numba: None, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.setattr(kernels.Normalizing, "_settings", lambda *_: (1, 1e-5))  # neither form nor epsilon
    network, pairs = made(normalization="outside", epsilon=0.5), batch()
    if without == "weight":
        nothing = dataclasses.replace(pairs, loss_weights=np.zeros(len(pairs.labels), np.float32))
        INDEX.differentiate(network, nothing)
    else:
        with pytest.raises(LabelError):
            INDEX.differentiate(network, dataclasses.replace(pairs, labels=pairs.labels + 1000))
    with pytest.warns(DragomanWarning, match="kernels and definitions disagree"):
        assert by_program(network, pairs) is None


def test_differences_that_rounding_explains_must_show_twice(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pairs = made(), batch(30)
    for found, verified in (
        ([comparison.Comparison("a little", certain=False), comparison.Comparison()], True),
        ([comparison.Comparison("a little", certain=False)] * 2, False),
        ([comparison.Comparison("much", certain=True)], False),
    ):
        left = iter(found)
        monkeypatch.setattr(comparison, "_compare_sequences", lambda *_, left=left: next(left))
        programs._networks.pop(network, None)
        if verified:
            assert by_program(network, pairs) is not None
        else:
            with pytest.warns(DragomanWarning, match=r"a little|much"):
                assert by_program(network, pairs) is None
        assert next(left, None) is None


class Schedule:
    value = 0.0


@dataclass(frozen=True)
class Scheduled(CrossEntropy):
    schedule: Any = None

    def of_layer(self, *given: Any) -> Any:
        rate = self.schedule() if callable(self.schedule) else self.schedule.value
        return CrossEntropy(rate).of_layer(*given)


@pytest.mark.parametrize("kind", ["object", "closure"])
def test_an_error_that_holds_what_may_change_goes_through_the_graph(numba: None, kind: str) -> None:
    schedule, network, pairs = Schedule(), made(), batch()
    index = LossIndex(Scheduled(schedule=schedule if kind == "object" else lambda: schedule.value))
    before = index.differentiate(network, pairs)[0].error
    schedule.value = 0.3
    check_equal(network, pairs, index)
    assert index.differentiate(network, pairs)[0].error != before


def test_errors_with_slots_are_known_by_their_fields(numba: None) -> None:
    @dataclass(frozen=True, slots=True)
    class Smooth:
        rate: float = 0.0

        def __call__(self, outputs: Any, batch: Batch, total: float | None = None) -> Any:
            return CrossEntropy(self.rate)(outputs, batch, total)

    network = made()
    for rate in (0.0, 0.3):
        check_bits(network, batch(), index=LossIndex(Smooth(rate)))


def test_an_array_that_python_reads_goes_through_the_graph(numba: None) -> None:
    network = network_of(lambda self, x, batch: add(x, x) if self.own[0] else x, own=np.array([False, True]))
    check_equal(network, batch())
    assert "own is an array that no operation reads" in reason_of(network)
    network.own[0] = True  # in place
    check_equal(network, batch())


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_a_network_that_draws_is_left_to_the_graph(numba: None, draw: Any) -> None:
    network = network_of(lambda self, x, batch: add(x, x) if draw() < 0.5 else x)
    assert by_program(network, batch()) is None
    assert "it draws random numbers" in reason_of(network)


def test_dropout_of_another_kind_goes_through_the_graph(numba: None) -> None:
    class Decaying(DropoutKey):
        def dropout(self, rate: float, *given: Any) -> Any:
            return super().dropout(rate / 2, *given)

    assert by_program(made(dropout=0.2), batch(), ForwardContext(DropoutKey(1, 2))) is not None
    assert by_program(made(dropout=0.2), batch(), ForwardContext(Decaying(1, 2))) is None


def test_a_number_of_rows_as_an_option_is_left_to_the_graph(numba: None) -> None:
    own = value_of(made().reference_embedding.table).copy()
    network = network_of(lambda self, x, batch: add(x, embed(self.own, labels=batch.labels, scale=x.shape[0])), own=own)
    check_equal(network, batch())
    assert "embed is given scale = rows" in reason_of(network)


def test_a_network_that_refers_to_itself_is_not_kept_alive(numba: None) -> None:
    class Reflexive(Changed):
        def _bind(self) -> None:
            self.own = self.change
            super()._bind()

    network = Reflexive(made().configuration)
    assert by_program(network, batch()) is None
    found = programs.programs_of(network)
    assert found.reason == "own is an object whose changes would go unnoticed"
    assert programs.programs_of(network) is found
    kept = weakref.ref(network)
    del network
    gc.collect()
    assert kept() is None


def test_a_fitted_network_is_not_taken_for_a_wrong_one(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is mostly rounding, on which kernels and definitions need not agree: another batch is compared."""
    monkeypatch.setattr(comparison, "DERIVATIVE_TOLERANCE", 0.0)
    monkeypatch.setattr(comparison, "GRADIENT_TOLERANCE", 0.0)  # they never agree
    rng = np.random.default_rng(0)
    fitted = Batch(rng.normal(size=(9, 5)), np.array([0, 4, 9]), np.array([2, 2]), per="sample")
    network = Encoder(EncoderConfiguration(inputs=5, outputs=3, depth=32, heads=2))
    value_of(network.output.biases)[:] = [0, 0, 16.5]
    assert LossIndex().differentiate(network, fitted)[0].error < comparison.FITTED
    with pytest.warns(DragomanWarning, match="kernels and definitions disagree"):
        LossIndex().differentiate(network, dataclasses.replace(fitted, targets=np.array([0, 2])))
    programs._networks.pop(network)
    for _ in range(programs.MOST_TRIES):
        check_equal(network, fitted, LossIndex())
    assert reason_of(network) == programs.NOTHING_TO_COMPARE


def test_an_array_is_the_same_until_it_is_replaced(numba: None) -> None:
    class Table(Layer):
        def __init__(self) -> None:
            self.rows = np.ones((1, 1), np.float32)

    network = network_of(lambda self, x, batch: embed(self.table.rows, labels=batch.labels), table=Table())
    found = programs.programs_of(network)
    assert programs.programs_of(network) is found
    network.table.change(rows=network.table.rows.copy())
    assert programs.programs_of(network) is not found


def test_kernels_that_fail_are_reported(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any) -> Any:
        raise IndexError("out of a buffer")

    monkeypatch.setattr(ProgramRun, "forward", fail)
    with pytest.warns(DragomanWarning, match=r"kernels fail where definitions do not .*IndexError: out of a buffer"):
        assert by_program(made(), batch()) is None


def test_long_sequences_are_compared_without_the_definitions(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention needs memory that is quadratic in their length there."""

    def refuse() -> Any:
        raise MemoryError

    monkeypatch.setattr(comparison, "definitions", refuse)
    with pytest.raises(MemoryError):
        by_program(made(), batch())
    monkeypatch.setattr(comparison, "MOST_ROWS_DEFINED", 1)
    check_bits(made(), batch())
