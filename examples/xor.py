"""XOR: no linear model gets all four points right; one hidden layer does.

Run it with `python examples/xor.py`; it takes a second. Explained in docs/examples/xor.md.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex
from dragoman.networks import Perceptrons, PerceptronsConfiguration
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
CLASSES = np.array([0, 1, 1, 0])


def trained(*depths: int, seed: int = 0) -> tuple[Perceptrons, float]:
    """A trained network and its accuracy."""
    dataset, loss_index = Batch.rows(POINTS, CLASSES), LossIndex()
    network = Perceptrons(PerceptronsConfiguration(depths=depths), seed, np.float64)
    train(network, itertools.repeat(dataset), Adam(), Constant(0.05), Stopping(300, loss_goal=0.05), loss_index)
    return network, loss_index.evaluate(network, dataset).accuracy


def main() -> None:
    _, accuracy = trained(2, 2)
    print(f"linear model: {accuracy:.0%} of the points right")
    assert accuracy < 1

    network, accuracy = trained(2, 8, 2)
    print(f"8 hidden units: {accuracy:.0%} of the points right")
    assert accuracy == 1

    hidden = network.plain.layers[0](POINTS)  # the feature map: here a line separates the classes
    print("what the first hidden units make of the points:")
    for point, units, label in zip(POINTS, hidden, CLASSES, strict=True):
        print(f"  {point} -> {np.abs(units[:6]).round(1)}: class {label}")
    mapped = Batch.rows(hidden, CLASSES)
    linear = Perceptrons(PerceptronsConfiguration(depths=(8, 2)), dtype=np.float64)
    train(linear, itertools.repeat(mapped), Adam(), Constant(0.05), Stopping(300, loss_goal=0.05))
    accuracy = LossIndex().evaluate(linear, mapped).accuracy
    print(f"a new linear model on the hidden units: {accuracy:.0%} of the points right")
    assert accuracy == 1


if __name__ == "__main__":
    main()
