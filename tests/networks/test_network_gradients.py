"""Every derivative of whole networks, against central differences and the complex step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Array, backpropagate, gradient_check
from dragoman.graph.backpropagate import reverse_order
from dragoman.graph.tensor import replace_value
from dragoman.networks import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    Network,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from tests.networks.small_networks import POSITIONS, RAGGED, error_of, scatter, small_transformer

TINY = Batch.pairs([[4, 3], [1]], [[2, 4, 3], [2, 1, 4, 3]])
STEP = 1e-200


def directional_derivatives(network: Network, batch: Batch, directions: Array) -> Array:
    """Im e(theta + i h v) / h for every direction v: exact to rounding, one pass each."""
    originals = [parameter.value for parameter in network.parameters()]
    found = []
    try:
        for direction in directions:
            for parameter, original in zip(network.parameters(), originals, strict=True):
                replace_value(parameter, original + 1j * STEP * network.theta.view(direction, parameter))
            found.append(float(np.imag(error_of(network, batch).value)) / STEP)
    finally:
        for parameter, original in zip(network.parameters(), originals, strict=True):
            replace_value(parameter, original)
    return np.array(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"block": "post"},
        {"block": "pre", "activation": "gelu"},
        {"block": "post", "tied": "all", "positions": "relative", "normalization": "outside", "epsilon": 0.1},
        {"block": "pre", "tied": "output", "positions": "joint", "attention_biases": False},
    ],
    ids=lambda settings: "-".join(str(value) for value in settings.values()),
)
def test_every_parameter_of_a_transformer(settings: dict[str, Any]) -> None:
    gradient_check(small_transformer(perceptron_depth=2, **settings), TINY).require()


@pytest.mark.ledger("T-3.2-tau")
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize(("block", "tied", "layers"), [("post", "none", 2), ("pre", "none", 2), ("pre", "output", 1)])
def test_random_directions_in_every_architecture(positions: Any, block: str, tied: str, layers: int) -> None:
    """A wrong entry anywhere in the gradient shows in its product with a random direction."""
    if positions in ("one_hot", "concatenated_sinusoid"):
        tied = "none"
    network = small_transformer(positions=positions, block=block, tied=tied, layers=layers)
    directions = np.random.default_rng(5).standard_normal((4, len(network.theta)))
    gradient = backpropagate(error_of(network, RAGGED), network.theta)
    expected = directional_derivatives(network, RAGGED, directions)
    np.testing.assert_allclose(directions @ gradient, expected, rtol=1e-10, atol=1e-12)


def test_custom_networks() -> None:
    rng = np.random.default_rng(0)
    samples = Batch.pack([rng.standard_normal((3, 2)), rng.standard_normal((3, 2))])
    two_layers = TwoLayerNetwork(TwoLayerConfiguration(positions=3, inputs=2, depth=3, classes=2), dtype=np.float64)
    gradient_check(scatter(two_layers), samples).require()
    encoder = ClassTokenEncoder(
        ClassTokenConfiguration(inputs=2, depth=3, attention_depth=3, classes=2), dtype=np.float64
    )
    gradient_check(scatter(encoder), samples).require()


@pytest.mark.ledger("T-3.2-list")
@pytest.mark.parametrize("block", ["post", "pre"])
def test_six_kinds_of_part_make_the_whole_graph(block: str) -> None:
    names = {node.name for node in reverse_order([error_of(small_transformer(block=block, layers=2), RAGGED)])}
    attention, sum_and_norm = {"attend_self", "attend_cross"}, {"add_normalize"}
    first_norm = {"normalize"} if block == "pre" else set()  # before the first branch there is nothing to add
    assert names == {"embed", "linear", "cross_entropy"} | attention | sum_and_norm | first_norm


def test_a_pass_leaves_the_parameters_and_the_batch_alone() -> None:
    network = small_transformer()
    before, labels = network.theta.values.copy(), RAGGED.labels.copy()
    first = backpropagate(error_of(network, RAGGED), network.theta)
    np.testing.assert_array_equal(backpropagate(error_of(network, RAGGED), network.theta), first)
    np.testing.assert_array_equal(network.theta.values, before)
    np.testing.assert_array_equal(RAGGED.labels, labels)
