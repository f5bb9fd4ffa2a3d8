"""What cannot be recorded for any batch goes through the graph: nothing of the first batch is taken for all of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dragoman import Batch, Transformer
from dragoman.engines import programs
from dragoman.engines.numba.programs import kernels
from dragoman.errors import DragomanWarning, LabelError, ShapeError
from dragoman.graph import Parameter, value_of
from dragoman.layers import ForwardContext, Layer
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.operations import add, embed, linear
from tests.engines.test_programs import INDEX, batch, by_program, check_bits, made, through_the_graph


class Changed(Transformer):
    """A Transformer that does something more with the rows before its output."""

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> Any:
        x, output = super().before_output(batch, run)
        return self.change(x, batch), output

    def change(self, x: Any, batch: Batch) -> Any:
        return x


def network_of(change: Any, **attributes: Any) -> Any:
    network = type("Other", (Changed,), {"change": change})(made(source_vocabulary=30).configuration)
    vars(network).update(attributes)
    network.theta.values[:] = made(source_vocabulary=30).theta.values
    return network


def reason_of(network: Any) -> str:
    (reason,) = programs.programs_of(network).made.values()
    return str(reason)


def check_equal(network: Any, pairs: Batch, index: LossIndex = INDEX) -> None:
    """Whatever path a network takes, the gradient is that of the graph."""
    np.testing.assert_array_equal(
        index.differentiate(network, pairs)[1], through_the_graph(network, pairs, index=index)[1]
    )


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda x, batch: batch.first_row == 0, "whether first_row is 0"),
        (lambda x, batch: x.shape[0] == 6, "whether rows is 6"),
        (lambda x, batch: batch.labels == 3, "NumPy reads 'labels' (a comparison)"),
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
    network = network_of(lambda self, x, batch: linear(x, self.own["weights"]), own={"weights": other})
    check_equal(network, batch())
    assert "linear is given values" in reason_of(network)


def test_layers_out_of_sight_are_left_to_the_graph(numba: None) -> None:
    class Switch(Layer):
        on = False

    network = network_of(lambda self, x, batch: add(x, x) if self.own[0].on else x, own=(Switch(),))
    assert by_program(network, batch()) is None
    assert programs.programs_of(network).reason == "own is an object whose changes would go unnoticed"
    nested = network_of(lambda self, x, batch: add(x, x) if self.own[0][0] else x, own=([False],))
    check_bits(nested, batch())
    nested.own[0][0] = True
    check_bits(nested, batch())


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
    assert first == error or isinstance(error, Annealed)
    for each in (first, error):
        check_equal(network, pairs, LossIndex(each))


def test_an_error_with_a_list_goes_through_the_graph(numba: None) -> None:
    @dataclass(frozen=True)
    class Weighted(CrossEntropy):
        weights: Any = None

    check_equal(made(), batch(), LossIndex(Weighted(weights=[1, 2])))
    assert by_program(made(), batch(), index=LossIndex(Weighted(weights=[1, 2]))) is None


def test_an_error_that_changes_with_every_step_is_not_recorded_each_time(numba: None) -> None:
    network, pairs = made(layers=1), batch(3)
    for step in range(programs.MOST_MADE + 3):
        LossIndex(CrossEntropy(step / 100)).differentiate(network, pairs)
    assert len(programs.programs_of(network).made) == programs.MOST_MADE
    check_equal(network, pairs, LossIndex(CrossEntropy(0.9)))


def test_a_loss_of_another_class_goes_through_the_graph(numba: None) -> None:
    class Twice(LossIndex):
        def recorded_error(self, *given: Any) -> Any:
            error, hits = super().recorded_error(*given)
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
    method = network_of(lambda self, x, batch: add(x, batch.derive(self.wide, 32).labels), wide=None)
    type(method).wide = lambda self, batch: Batch(np.ones((len(batch.labels), 32), np.float32), batch.offsets)
    del method.wide
    check_equal(method, batch())
    assert "Batch.derive is given the method" in reason_of(method)


def test_networks_may_read_targets(numba: None) -> None:
    network = network_of(lambda self, x, batch: add(x, embed(self.reference_embedding.table, labels=batch.targets)))
    check_bits(network, batch())


def test_carried_states_that_a_network_does_not_read_stay(numba: None) -> None:
    class States:
        def widths(self) -> list[list[int]]:
            return [[4]]

        def read(self, batch: Batch) -> list[tuple[Any, ...]]:
            return [(np.zeros((len(batch), 4), np.float32),)]

    run: Any = ForwardContext(carried=States())  # type: ignore[arg-type]
    assert by_program(made(), batch(), run) is not None


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
        ([programs.Comparison("a little", certain=False), programs.Comparison()], True),
        ([programs.Comparison("a little", certain=False)] * 2, False),
        ([programs.Comparison("much", certain=True)], False),
    ):
        left = iter(found)
        monkeypatch.setattr(programs, "_compared", lambda *_, left=left: next(left))
        programs._networks.pop(network, None)
        if verified:
            assert by_program(network, pairs) is not None
        else:
            with pytest.warns(DragomanWarning, match=r"a little|much"):
                assert by_program(network, pairs) is None
        assert next(left, None) is None
