"""Fused kernels run only for networks and options they know; everything else goes through the definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.decoding import Beam, Greedy, decode
from dragoman.engines import Path, explain_path, fused_search, fused_step
from dragoman.graph import use_engine
from dragoman.layers import ForwardContext, Perceptron
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import ARCHITECTURES
from dragoman.operations import DropoutKey

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
FUSED = Path("fused", "fused")


class Extended(TransformerConfiguration):
    """A later version of the configuration, with a field that the kernels were not written for."""

    logit_scale: float = 1.0


def made(**settings: Any) -> Transformer:
    return Transformer(TransformerConfiguration(**(SIZES | settings)))


def trains_fused(network: Any, run: ForwardContext = CONTEXT, error: Any = CrossEntropy(0.1)) -> bool:  # noqa: B008
    return fused_step.differentiate(network, PAIRS, run, error, None) is not None


def searches_fused(network: Any, method: Any = Greedy()) -> bool:  # noqa: B008
    source = PAIRS.source
    assert source is not None
    return fused_search.search(network, method, source, LONGEST, NO_PREFIXES) is not None


def through_definitions(network: Transformer, run: ForwardContext) -> Any:
    use_engine("numpy")
    found = LossIndex().differentiate(network, PAIRS, run)[1]
    use_engine("numba")
    return found


def test_a_known_network_is_fused(numba: None) -> None:
    network = made(dropout=0.1)
    assert trains_fused(network)
    assert searches_fused(network)
    assert explain_path(network) == FUSED
    assert explain_path(network).reason == ""


def test_a_field_that_the_kernels_do_not_know_is_not_left_out(numba: None) -> None:
    network = Transformer(Extended(**SIZES))
    assert not trains_fused(network)
    assert not searches_fused(network)
    path = explain_path(network)
    assert (path.training, path.decoding) == ("graph", "step by step")
    assert path.reason == "the kernels do not know the setting 'logit_scale'"


@pytest.mark.parametrize("name", ["dropout", "epsilon", "form"])
def test_a_layer_changed_after_a_step_is_honoured(numba: None, name: str) -> None:
    """All layers are changed in the same way, so the kernels could not see it by comparing them with each other."""
    network = made(dropout=0.1, epsilon=0.1)
    before = LossIndex().differentiate(network, PAIRS, CONTEXT)[1]
    decode(network, [[4, 5]], Greedy(), 3)
    value = {"dropout": 0.6, "epsilon": 0.5, "form": "outside"}[name]
    for block in (*network.encoder, *network.decoder):
        setattr(block.perceptron_normalization, name, value)
    gradient = LossIndex().differentiate(network, PAIRS, CONTEXT)[1]
    assert np.abs(gradient - before).max() > 1e-4
    np.testing.assert_allclose(gradient, through_definitions(network, CONTEXT), atol=1e-5)
    path = explain_path(network)
    assert path.training == "graph"
    assert path.decoding == ("fused" if name == "dropout" else "step by step")
    assert f"perceptron_normalization.{name} = {value!r} was changed" in path.training_reason
    assert searches_fused(network) == (name == "dropout")


def test_a_layer_changed_back_is_fused_again(numba: None) -> None:
    network = made()
    network.decoder[0].cross_attention.scaled = False
    assert explain_path(network).reason == "decoder.0.cross_attention.scaled = False was changed after construction"
    network.decoder[0].cross_attention.scaled = True
    assert explain_path(network) == FUSED


def test_an_attribute_that_the_kernels_do_not_know_is_not_left_out(numba: None) -> None:
    network = made()
    assert trains_fused(network)
    network.encoder[1].self_attention.window = 3  # type: ignore[attr-defined]
    assert explain_path(network).reason == "the kernels do not know encoder.1.self_attention.window"
    assert not trains_fused(network)


def test_another_class_of_layer_is_not_taken_for_the_one_it_extends(numba: None) -> None:
    class Clipped(Perceptron):
        pass

    network = made()
    network.encoder[0].perceptron.hidden.__class__ = Clipped
    assert explain_path(network).reason == "the kernels do not know encoder.0.perceptron.hidden, a Clipped"
    assert not trains_fused(network)


def test_replaced_layers_are_read_again(numba: None) -> None:
    network = made()
    assert trains_fused(network)
    network.decoder[0], network.decoder[1] = network.decoder[1], network.decoder[0]
    gradient = LossIndex().differentiate(network, PAIRS)[1]
    np.testing.assert_allclose(gradient, through_definitions(network, ForwardContext()), atol=1e-5)
    assert explain_path(network).decoding == "fused"


def test_an_option_that_no_kernel_knows_falls_back(numba: None) -> None:
    @dataclass(frozen=True)
    class LongBeam(Beam):
        shortest: int = 0

    @dataclass(frozen=True)
    class Focal(CrossEntropy):
        gamma: float = 2.0

    @dataclass(frozen=True)
    class Traced(ForwardContext):
        trace: bool = False

    network = made()
    assert searches_fused(network, Beam(2))
    assert not searches_fused(network, LongBeam(2))
    assert not trains_fused(network, error=Focal(0.1))
    assert not trains_fused(network, run=Traced())
    hypotheses = decode(network, [[4, 5]], LongBeam(2), 4)
    np.testing.assert_array_equal(hypotheses[0][0].labels, decode(network, [[4, 5]], Beam(2), 4)[0][0].labels)


@pytest.mark.parametrize(
    ("settings", "training", "decoding", "reason"),
    [
        ({"activation": "tanh"}, "graph", "step by step", "the kernels do not know activation = 'tanh'"),
        ({"hidden_layers": 2}, "graph", "step by step", "the kernels do not know hidden_layers = '2'"),
        (
            {"positions": "one_hot", "maximum_length": 9},
            "graph",
            "step by step",
            "the kernels do not know positions = 'one_hot'",
        ),
        (
            {"positions": "learned", "maximum_length": 9},
            "graph",
            "fused",
            "learned positions are trained through the graph",
        ),
        ({"depth": 12}, "graph", "step by step", "the kernels need heads whose width is a multiple of 8, not 6"),
        ({"epsilon": 0.0}, "graph", "step by step", "the kernels need an epsilon above 0"),
        ({"block": "pre", "tied": "all", "activation": "gelu"}, "fused", "fused", ""),
    ],
)
def test_paths_are_explained(numba: None, settings: dict[str, Any], training: str, decoding: str, reason: str) -> None:
    network = made(**settings)
    path = explain_path(network)
    assert (path.training, path.decoding, path.reason) == (training, decoding, reason)
    assert trains_fused(network) == (training == "fused")
    assert searches_fused(network) == (decoding == "fused")


def test_other_paths_are_explained(numba: None) -> None:
    network = made()
    network.freeze("encoder")
    assert explain_path(network) == Path("graph", "fused", "frozen parameters are left out by the graph")
    double = Transformer(TransformerConfiguration(**SIZES), dtype=np.float64)
    assert explain_path(double).reason == "the kernels compute in float32, not in float64"
    architecture = ARCHITECTURES["lstm"]
    settings = architecture.settings(**{**architecture.presets["small"], **architecture.named}).model_dump()
    recurrent = architecture.build(
        architecture.configured(settings, {"source_vocabulary": 30, "target_vocabulary": 30})
    )
    assert explain_path(recurrent).reason == f"there are no fused kernels for a {type(recurrent).__name__}"
    use_engine("numpy")
    assert explain_path(made()).reason == "the numpy engine has no fused kernels"
    use_engine("numba")
