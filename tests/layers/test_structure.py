"""Layers and parameters are found wherever a layer keeps them, and fixed once the network is bound."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from dragoman import Batch
from dragoman.errors import ConfigurationError, GradientError, GraphError, ShapeError
from dragoman.graph import Parameter, Tensor, Value, gradient_check, value_of
from dragoman.layers import ForwardContext, Initializer, Layer, Perceptron
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import Network
from dragoman.operations import add, linear

X = np.random.default_rng(0).normal(size=(5, 4))
ROWS = Batch.rows(X, X)


class Pair(NamedTuple):
    first: Any
    second: Any


def perceptron(seed: int) -> Perceptron:
    return Perceptron(4, 4, Initializer(seed, np.float64), "tanh")


class Residual(Layer):
    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers

    def __call__(self, x: Value) -> Value:
        return add(x, one_after_the_other(self.layers, x))


class Branches(Network):
    """One layer after the other, which are kept in `structure`; `run` finds them there."""

    def __init__(self, structure: Any, run: Callable[[Any, Value], Value], rate: float = 1.0) -> None:
        self.structure, self.compute, self.rate = structure, run, rate
        self.last = perceptron(9)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return self.last(self.compute(self.structure, batch.labels))


def table(seed: int) -> Parameter:
    return Parameter(Initializer(seed, np.float64).glorot(4, 4))


def one_after_the_other(layers: Any, x: Value) -> Value:
    for layer in layers:
        x = layer(x)
    return x


STRUCTURES: dict[str, tuple[Callable[[], Any], Any, list[str]]] = {
    "list": (lambda: [perceptron(1), perceptron(2)], one_after_the_other, ["0", "1"]),
    "tuple": (lambda: (perceptron(1), perceptron(2)), one_after_the_other, ["0", "1"]),
    "named tuple": (lambda: Pair(perceptron(1), perceptron(2)), lambda s, x: s.second(s.first(x)), ["0", "1"]),
    "dictionary": (
        lambda: {"left": perceptron(1), "right": perceptron(2)},
        lambda s, x: add(s["left"](x), s["right"](x)),
        ["left", "right"],
    ),
    "nested": (
        lambda: {"deep": [(perceptron(1),), perceptron(2)]},
        lambda s, x: s["deep"][1](s["deep"][0][0](x)),
        ["deep.0.0", "deep.1"],
    ),
}
TABLES: dict[str, tuple[Callable[[], Any], Any, list[str]]] = {
    "list": (lambda: [table(1), table(2)], lambda s, x: linear(linear(x, s[0]), s[1]), ["0", "1"]),
    "tuple": (lambda: (table(1), table(2)), lambda s, x: linear(linear(x, s[0]), s[1]), ["0", "1"]),
    "dictionary": (
        lambda: {"a": table(1), "b": table(2)},
        lambda s, x: linear(linear(x, s["a"]), s["b"]),
        ["a", "b"],
    ),
}


def check_trained(network: Network, names: list[str]) -> None:
    assert [name for name, _ in network.named_parameters()] == [*names, "last.weights", "last.biases"]
    assert network.count() == len(network.theta) == sum(value.size for _, value in network.named_arrays())
    gradient = LossIndex(MeanSquaredError()).differentiate(network, ROWS)[1]
    for name, parameter in network.named_parameters():
        assert np.abs(network.theta.view(gradient, parameter)).max() > 0, name
    np.testing.assert_array_equal(value_of(network(ROWS)), network.plain(ROWS))
    assert not isinstance(network.plain(ROWS), Tensor)
    twin = copy.deepcopy(network)
    twin.theta.values[:] = 0
    assert np.abs(network.theta.values).max() > 0
    assert np.abs(value_of(network(ROWS))).max() > 0 == np.abs(value_of(twin(ROWS))).max()


@pytest.mark.parametrize("name", STRUCTURES)
def test_layers_are_trained_wherever_they_are_kept(name: str) -> None:
    structure, run, names = STRUCTURES[name]
    parts = [f"structure.{each}.{part}" for each in names for part in ("weights", "biases")]
    check_trained(Branches(structure(), run), parts)


@pytest.mark.parametrize("name", TABLES)
def test_parameters_are_trained_wherever_they_are_kept(name: str) -> None:
    structure, run, names = TABLES[name]
    check_trained(Branches(structure(), run), [f"structure.{each}" for each in names])


@dataclass
class Holder:
    part: Any


class Slotted:
    __slots__ = ("part",)

    def __init__(self, part: Any) -> None:
        self.part = part


def closing(layer: Any) -> Callable[[Any], Any]:
    return lambda x: layer(x)


def circular(layer: Any) -> Holder:
    holder = Holder([1, "one"])
    holder.part += [holder, holder.part, layer]
    return holder


@pytest.mark.parametrize(
    "hide",
    [
        lambda layer: {layer},
        lambda layer: frozenset([layer.weights]),
        lambda layer: deque([layer]),
        lambda layer: [Holder(layer)],
        lambda layer: Holder({"own": layer}),
        lambda layer: Slotted(layer.weights),
        lambda layer: partial(linear, weights=layer.weights),
        lambda layer: partial(layer),
        lambda layer: layer.__call__,
        closing,
        circular,
    ],
)
def test_what_cannot_be_walked_is_refused(hide: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Branches.structure holds Parameter\(shape=\(4,.*lists, tuples"):
        Branches(hide(perceptron(1)), lambda s, x: x)


def test_what_is_trained_may_also_be_referred_to() -> None:
    layer = perceptron(1)
    Branches([layer], partial(one_after_the_other))
    network = Branches([layer := perceptron(1)], lambda s, x: x)
    assert Branches(layer.weights.slot, lambda s, x: x).count() == network.last.count()


def test_two_parameters_have_two_names() -> None:
    with pytest.raises(ConfigurationError, match=r"two parameters of Branches have the name 'structure.1'"):
        Branches({1: table(1), "1": table(2)}, lambda s, x: x)


def bound() -> Branches:
    return Branches([perceptron(1), perceptron(2)], one_after_the_other)


def test_a_layer_is_open_until_its_network_is_bound() -> None:
    layer = perceptron(1)
    layer.activation = "relu"
    layer.note = "mine"  # type: ignore[attr-defined]
    del layer.note  # type: ignore[attr-defined]
    assert not hasattr(layer, "note")
    assert not layer.sealed
    network = Branches([layer], one_after_the_other)
    assert layer.sealed
    assert network.sealed
    assert network.plain.sealed
    with pytest.raises(ConfigurationError, match=r"^last.activation cannot be set"):
        network.plain.last.activation = "relu"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: setattr(n, "rate", 2.0), r"^rate cannot be set, .* bound: .* _bind\(\).*; later, change\(rate="),
        (
            lambda n: setattr(n, "own", 2.0),
            r"^own cannot be set, because the network is bound: set it before _bind\(\)[^;]*$",
        ),
        (lambda n: setattr(n, "last", perceptron(1)), "^last cannot be set, .* build another network for other layers"),
        (lambda n: setattr(n.last, "activation", "relu"), "^last.activation cannot be set"),
        (lambda n: setattr(n.structure[1], "weights", None), "^structure.1.weights cannot be set"),
        (lambda n: delattr(n.last, "biases"), "^last.biases cannot be set"),
        (lambda n: setattr(n.last, "__class__", Layer), "^last.__class__ cannot be set"),
        (lambda n: setattr(n, "theta", None), "^theta cannot be set"),
        (lambda n: n.change(own=1), "Branches has no setting 'own'"),
        (lambda n: n.change(rate=perceptron(1)), "rate holds layers or parameters"),
        (lambda n: n.change(rate=[perceptron(1)]), "rate holds layers or parameters"),
        (lambda n: n.change(last=None), "last holds layers or parameters"),
        (lambda n: n.last.change(weights=1.0), "weights holds layers or parameters"),
    ],
)
def test_a_bound_network_is_fixed(change: Any, message: str) -> None:
    network = bound()
    before, version = dict(vars(network)), network.theta.version.number
    with pytest.raises(ConfigurationError, match=message):
        change(network)
    assert vars(network) == before
    assert network.theta.version.number == version


def test_lists_and_dictionaries_of_layers_are_fixed_too() -> None:
    layers = [perceptron(1), perceptron(2)]
    network = Branches(layers, one_after_the_other)
    layers.clear()
    assert len(network.structure) == 2
    with pytest.raises(TypeError, match="does not support item assignment"):
        network.structure[0] = perceptron(3)
    named = Branches({"a": perceptron(1)}, lambda s, x: s["a"](x))
    with pytest.raises(TypeError, match="does not support item assignment"):
        named.structure["a"] = perceptron(3)


def test_values_stay_writable() -> None:
    network = bound()
    weights: Any = network.last.weights
    version = network.theta.version.number
    weights.value = np.full((4, 4), 3)
    weights.value *= 2
    weights.value[0] += 1
    np.testing.assert_array_equal(network.theta.values[weights.slot].reshape(4, 4), [[7] * 4] + [[6] * 4] * 3)
    assert np.shares_memory(weights.value, network.theta.values)
    assert network.theta.version.number == version
    for wrong in (np.zeros(4), np.zeros((4, 4), complex)):
        with pytest.raises(
            ShapeError, match=r"belongs to a network's theta; expected real values .* got (float64|compl)"
        ):
            weights.value = wrong
    np.testing.assert_array_equal(weights.value[1], 6)
    free = Parameter(np.ones(2))
    free.value = np.zeros(3)
    assert free.shape == (3,)


@pytest.mark.parametrize(
    "change",
    [
        lambda network: network.freeze("last"),
        lambda network: setattr(network.structure[0].biases, "frozen", True),
        lambda network: network.change(rate=2.0),
        lambda network: network.last.change(activation="relu"),
    ],
)
def test_freezing_and_settings_raise_the_version(change: Any) -> None:
    network = bound()
    version, plain = network.theta.version.number, network.plain
    assert network.plain is plain
    change(network)
    assert network.theta.version.number > version
    assert network.plain is not plain


def test_plain_networks_have_changed_settings() -> None:
    network = bound()
    before = network.plain(ROWS)
    network.last.change(activation="identity")
    assert np.abs(network.plain(ROWS) - before).max() > 0
    np.testing.assert_array_equal(network.plain(ROWS), value_of(network(ROWS)))


def test_a_copy_is_bound_to_a_theta_of_its_own() -> None:
    network = bound()
    network.freeze("last")
    twin = copy.deepcopy(network)
    assert twin.sealed
    assert twin.theta.version is not network.theta.version
    assert [each.frozen for each in twin.parameters()] == [each.frozen for each in network.parameters()]
    version = network.theta.version.number
    twin.last.change(activation="relu")
    assert (network.theta.version.number, network.last.activation) == (version, "tanh")
    nested = Branches({"deep": [(Residual([perceptron(1)]),)]}, lambda s, x: s["deep"][0][0](x))
    names = ["", "structure.deep.0.0", "structure.deep.0.0.layers.0", "last"]
    assert [name for name, _ in nested.named_layers()] == names
    opened = copy.copy(Residual([perceptron(1)]))
    opened.layers.append(perceptron(2))
    assert len(list(opened.named_parameters())) == 4
    layer = copy.deepcopy(network.last)
    layer.activation = "relu"
    assert not layer.sealed
    assert copy.copy(network.last).sealed is False
    with pytest.raises(GraphError, match="already belongs to another network's theta"):
        Branches([network.last], one_after_the_other)


class InSet(Layer):
    def __init__(self) -> None:
        self.hidden = {Parameter(np.ones((4, 4)))}
        self.shown = Parameter(np.ones((4, 4)))

    def __call__(self, x: Value) -> Value:
        (weights,) = self.hidden
        return linear(linear(x, weights), self.shown)


def test_gradient_check_compares_the_parameters_that_the_graph_reached() -> None:
    with pytest.raises(GradientError, match=r"InSet computes with a parameter of shape \(4, 4\) .* does not find"):
        gradient_check(InSet(), X)
    gradient_check(lambda x: InSet()(x), X).require()  # a function has no parameters of its own


HIDDEN = table(1)


@pytest.mark.parametrize(
    ("structure", "compute"),
    [
        ((), lambda structure, x: linear(x, HIDDEN)),
        ({table(1): "a key"}, lambda structure, x: linear(x, next(iter(structure)))),
        ((), lambda structure, x, weights=HIDDEN: linear(x, weights)),
    ],
    ids=["global", "key", "default value"],
)
def test_a_training_refuses_parameters_of_no_network(structure: Any, compute: Any) -> None:
    """Also those that stand where nobody looks for any."""
    network = Branches(structure, compute)
    with pytest.raises(GraphError, match=r"computes with Parameter\(shape=\(4, 4\).* which belongs to no network"):
        LossIndex(MeanSquaredError()).differentiate(network, ROWS)


def test_a_parameter_of_no_network_may_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HIDDEN, "frozen", True)
    LossIndex(MeanSquaredError()).differentiate(Branches((), lambda structure, x: linear(x, HIDDEN)), ROWS)
