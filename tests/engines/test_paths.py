"""A setting of a network, a layer, an error or a method is honoured, or the network takes the path that honours it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.decoding import Beam, Greedy, decode
from dragoman.engines import Path, explain_path, fused_search, programs
from dragoman.graph import operation, use_engine, value_of
from dragoman.layers import ForwardContext, Perceptron
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import ARCHITECTURES, Network
from dragoman.operations import DropoutKey, add, mean_squared_error

SIZES: dict[str, Any] = {
    "source_vocabulary": 30,
    "target_vocabulary": 30,
    "depth": 32,
    "perceptron_depth": 40,
    "heads": 2,
    "layers": 2,
}
PAIRS = Batch.pairs([[4, 5, 6], [7, 8]], [[2, 9, 10, 3], [2, 11, 3]])
CONTEXT = ForwardContext(DropoutKey(1, 2))
LONGEST, NO_PREFIXES = np.array([5, 5]), np.full((2, 0), -1)
FASTEST = Path("program", "fused")


class Extended(TransformerConfiguration):
    """A later version of the configuration, with a field that no kernel was written for."""

    doubled: bool = False


class Doubling(Transformer):
    """A later version of the network, which reads that field."""

    configuration: Extended

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> Any:
        x, output = super().before_output(batch, run)
        return (add(x, x) if self.configuration.doubled else x), output


def made(**settings: Any) -> Transformer:
    return Transformer(TransformerConfiguration(**(SIZES | settings)))


def trains_by_program(network: Any, run: ForwardContext = CONTEXT, error: Any = CrossEntropy(0.1)) -> bool:  # noqa: B008
    index = LossIndex(error)
    return programs.differentiate(index.error_and_hits, error, network, PAIRS, run, None) is not None


def searches_fused(network: Any, method: Any = Greedy()) -> bool:  # noqa: B008
    source = PAIRS.source
    assert source is not None
    return fused_search.search(network, method, source, LONGEST, NO_PREFIXES) is not None


def through_definitions(network: Transformer, run: ForwardContext) -> Any:
    use_engine("numpy")
    found = LossIndex().differentiate(network, PAIRS, run)[1]
    use_engine("numba")
    return found


def check_gradient(network: Transformer, run: ForwardContext = CONTEXT) -> Any:
    """A program trains the network, with the gradient of the definitions."""
    assert trains_by_program(network, run)
    gradient = LossIndex().differentiate(network, PAIRS, run)[1]
    np.testing.assert_allclose(gradient, through_definitions(network, run), atol=1e-5)
    return gradient


def test_a_known_network_takes_the_fast_paths(numba: None) -> None:
    network = made(dropout=0.1)
    assert trains_by_program(network)
    assert searches_fused(network)
    assert explain_path(network) == FASTEST
    assert explain_path(network).reason == ""


def test_a_new_field_of_the_settings_is_honoured(numba: None) -> None:
    """Training follows from the network, so it needs to know nothing of the field; a search does, and leaves it."""
    gradients = [check_gradient(Doubling(Extended(**SIZES, doubled=doubled))) for doubled in (False, True)]
    assert np.abs(gradients[0] - gradients[1]).max() > 1e-3
    network = Transformer(Extended(**SIZES))
    assert not searches_fused(network)
    path = explain_path(network)
    assert path == Path("program", "step by step", "", "the kernels do not know the setting 'doubled'")


@pytest.mark.parametrize("name", ["dropout", "epsilon", "form"])
def test_a_layer_changed_after_a_step_is_honoured(numba: None, name: str) -> None:
    """All layers are changed in the same way, so the kernels could not see it by comparing them with each other."""
    network = made(dropout=0.1, epsilon=0.1)
    before = check_gradient(network)
    decode(network, [[4, 5]], Greedy(), 3)
    value = {"dropout": 0.6, "epsilon": 0.5, "form": "outside"}[name]
    for block in (*network.encoder, *network.decoder):
        block.perceptron_normalization.change(**{name: value})
    assert np.abs(check_gradient(network) - before).max() > 1e-4
    path = explain_path(network)
    assert path.training == "program"
    assert path.decoding == ("fused" if name == "dropout" else "step by step")
    assert name == "dropout" or f"perceptron_normalization.{name} = {value!r} was changed" in path.decoding_reason
    assert searches_fused(network) == (name == "dropout")


def test_a_layer_changed_back_is_fused_again(numba: None) -> None:
    network = made()
    network.decoder[0].cross_attention.change(scaled=False)
    assert explain_path(network).reason == "decoder.0.cross_attention.scaled = False was changed after construction"
    check_gradient(network)
    network.decoder[0].cross_attention.change(scaled=True)
    assert explain_path(network) == FASTEST


def test_an_attribute_that_a_search_does_not_know_is_not_left_out(numba: None) -> None:
    """Of a layer that a subclass, or code that knows what it does, gave one more."""
    network = made()
    vars(network.encoder[1].self_attention)["window"] = 3
    assert explain_path(network).decoding_reason == "the kernels do not know encoder.1.self_attention.window"
    assert not searches_fused(network)


class Doubled(Perceptron):
    def __call__(self, x: Any) -> Any:
        y = super().__call__(x)
        return add(y, y)


def test_another_class_of_layer_is_not_taken_for_the_one_it_extends(numba: None) -> None:
    def double(network: Any) -> None:
        network.encoder[0].perceptron.hidden.__class__ = Doubled

    before = check_gradient(made())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "_bind", lambda self: (double(self), Network._bind(self)))
        network = made()
    assert np.abs(check_gradient(network) - before).max() > 1e-4
    assert explain_path(network).decoding_reason == "the kernels do not know encoder.0.perceptron.hidden, a Doubled"


class Choosing(Transformer):
    """Reads a setting that it was given before it was bound."""

    given: Any = None

    def _bind(self) -> None:
        self.choice = self.given
        super()._bind()

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> Any:
        x, output = super().before_output(batch, run)
        return (add(x, x) if self.choice.doubled else x), output


@dataclass(frozen=True, slots=True)
class Fixed:
    doubled: bool = True


@dataclass(frozen=True)
class Holding:
    doubled: list[bool]


class Changeable:
    doubled = True


class Viewing(NamedTuple):
    view: MappingProxyType[str, bool]  # of a dictionary that may change
    doubled: bool = True


class Extensible(NamedTuple):
    doubled: bool = True


@pytest.mark.parametrize(
    ("choice", "is_fixed"),
    [
        (Fixed(), True),
        (Holding([True]), False),
        (Changeable(), False),
        (Viewing(MappingProxyType({})), False),
        (type("Extended", (Extensible,), {})(), False),
    ],
)
def test_what_may_change_unnoticed_is_left_to_the_graph(
    numba: None, monkeypatch: pytest.MonkeyPatch, choice: Any, is_fixed: bool
) -> None:
    """Of an object that is no constant nobody knows when it changes."""
    monkeypatch.setattr(Choosing, "given", choice)
    network = Choosing(made().configuration)
    reason = "choice is an object whose changes would go unnoticed"
    assert explain_path(network).training_reason == ("" if is_fixed else reason)
    assert trains_by_program(network) == is_fixed


def test_a_network_that_changes_with_every_step_is_not_traced_each_time(
    numba: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, traced = made(), []
    trace = programs.trace_network
    monkeypatch.setattr(programs, "trace_network", lambda *given: traced.append(1) or trace(*given))
    for step in range(programs.MOST_READ + 5):
        network.encoder[0].self_attention_normalization.change(epsilon=0.1 + step)
        LossIndex().differentiate(network, PAIRS)
    assert len(traced) == programs.MOST_READ
    assert explain_path(network).training_reason == f"it was changed {programs.MOST_READ} times"


def test_an_option_that_no_kernel_knows_falls_back(numba: None) -> None:
    @dataclass(frozen=True)
    class LongBeam(Beam):
        shortest: int = 0

    @dataclass(frozen=True)
    class Traced(ForwardContext):
        trace: bool = False

    network = made()
    assert searches_fused(network, Beam(2))
    assert not searches_fused(network, LongBeam(2))
    assert not trains_by_program(network, run=Traced())
    hypotheses = decode(network, [[4, 5]], LongBeam(2), 4)
    np.testing.assert_array_equal(hypotheses[0][0].labels, decode(network, [[4, 5]], Beam(2), 4)[0][0].labels)


def test_an_error_is_known_by_its_fields(numba: None) -> None:
    """One whose fields may change is left to the graph."""

    class Changing:
        smoothing = 0.2

        def __call__(self, outputs: Any, batch: Batch, total: float | None = None) -> Any:
            return CrossEntropy(self.smoothing)(outputs, batch, total)

    @dataclass(frozen=True)
    class Doubled(CrossEntropy):
        def of_layer(self, *given: Any) -> Any:
            error, hits = super().of_layer(*given)
            return add(error, error), hits

    network = made()
    errors = CrossEntropy(), CrossEntropy(0.2), Doubled(), Changing()
    assert [trains_by_program(network, error=error) for error in errors] == [True, True, False, False]
    found = [LossIndex(error).differentiate(network, PAIRS)[0].error for error in errors]
    assert found[2] == pytest.approx(2 * found[0], rel=1e-6)
    assert found[3] == pytest.approx(found[1], rel=1e-6)
    assert found[1] != found[0]


@operation
def exponential(x: Any) -> Any:
    y = np.exp(x)
    return y, lambda dy: dy * y


@dataclass(frozen=True)
class Exponential:
    """An error of a user that no program knows."""

    def __call__(self, outputs: Any, batch: Batch, total: float | None = None) -> Any:
        return mean_squared_error(exponential(outputs), targets=value_of(outputs) * 0), np.nan


@dataclass(frozen=True)
class Weighted(CrossEntropy):
    weights: Any = (1, 2)


class Open:
    def __call__(self, outputs: Any, batch: Batch, total: float | None = None) -> Any:
        return CrossEntropy()(outputs, batch, total)


class Own(LossIndex):
    """Another loss than the package's."""


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (LossIndex(CrossEntropy(0.2)), ""),
        (LossIndex(Weighted()), ""),
        (LossIndex(Weighted(weights=[1, 2])), "Weighted has a field whose changes would go unnoticed"),
        (LossIndex(Open()), "Open is no frozen dataclass, so its changes would go unnoticed"),
        (LossIndex(Exponential()), "Exponential.__call__: there is no kernel for exponential"),
        (Own(), "Own extends LossIndex and may compute anything"),
    ],
)
def test_paths_are_explained_with_the_loss(
    numba: None, monkeypatch: pytest.MonkeyPatch, loss: LossIndex, reason: str
) -> None:
    """What is said is what happens."""
    network, results = made(), []
    differentiate = programs.differentiate
    monkeypatch.setattr(programs, "differentiate", lambda *given: results.append(differentiate(*given)) or results[-1])
    loss.differentiate(network, PAIRS)
    assert any(result is not None for result in results) == (not reason)
    assert explain_path(network, PAIRS, loss).training_reason == reason
    assert explain_path(network, loss=loss).training == ("graph" if reason else "program")
    assert explain_path(network, PAIRS) == FASTEST


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"activation": "tanh"}, "the kernels do not know activation = 'tanh'"),
        ({"hidden_layers": 2}, "the kernels do not know hidden_layers = '2'"),
        ({"positions": "one_hot", "maximum_length": 9}, "the kernels do not know positions = 'one_hot'"),
        ({"positions": "learned", "maximum_length": 9}, ""),
        ({"depth": 12}, "the kernels need heads whose width is a multiple of 8, not 6"),
        ({"epsilon": 0.0}, "the kernels need an epsilon above 0"),
        ({"block": "pre", "tied": "all", "activation": "gelu"}, ""),
    ],
)
def test_paths_of_decoding_are_explained(numba: None, settings: dict[str, Any], reason: str) -> None:
    network = made(**settings)
    path = explain_path(network)
    assert (path.decoding, path.decoding_reason) == ("step by step" if reason else "fused", reason)
    assert searches_fused(network) == (not reason)


def test_other_paths_are_explained(numba: None) -> None:
    network = made()
    network.freeze("encoder")
    assert explain_path(network) == FASTEST
    double = Transformer(TransformerConfiguration(**SIZES), dtype=np.float64)
    assert explain_path(double).reason == "the kernels compute in float32, not in float64"
    architecture = ARCHITECTURES["lstm"]
    settings = architecture.settings(**{**architecture.presets["small"], **architecture.named}).model_dump()
    recurrent = architecture.build(
        architecture.configured(settings, {"source_vocabulary": 30, "target_vocabulary": 30})
    )
    assert explain_path(recurrent).reason == "fused searches do not know EncoderDecoder"
    use_engine("numpy")
    assert explain_path(made()).reason == "the numpy engine computes one operation after the other"
    use_engine("numba")
