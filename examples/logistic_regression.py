"""Logistic regression: the probability of a class from two numbers, where the right answer is known.

Run it with `python examples/logistic_regression.py`; it takes a second. Explained in
docs/examples/logistic_regression.md.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.loss import LogError, LossIndex
from dragoman.networks import Perceptrons, PerceptronsConfiguration
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

CENTRE = np.array([1.0, 0.5])  # of class 1; class 0 is around -CENTRE, and both spread with variance 1


def draw(count: int, rng: np.random.Generator) -> Batch:
    classes = rng.integers(0, 2, (count, 1))
    points = rng.standard_normal((count, 2)) + np.where(classes, CENTRE, -CENTRE)
    return Batch.rows(points, classes)


def main() -> None:
    rng = np.random.default_rng(0)
    training, testing = draw(4000, rng), draw(4000, rng)
    configuration = PerceptronsConfiguration(depths=(2, 1), output_activation="logistic")
    network = Perceptrons(configuration, dtype=np.float64)
    loss_index = LossIndex(LogError())

    train(network, itertools.repeat(training), Adam(), Constant(0.05), Stopping(300), loss_index)
    weights, bias = network.layers[0].weights.value[:, 0], network.layers[0].biases.value[0]
    print(f"learnt log-odds: {weights[0]:.2f} x1 + {weights[1]:.2f} x2 + {bias:.2f}")
    print("true log-odds:   2.00 x1 + 1.00 x2 + 0.00")
    found = loss_index.evaluate(network, testing)
    true_log_odds = testing.labels @ (2 * CENTRE)
    best = ((true_log_odds > 0) == testing.targets[:, 0]).mean()
    print(f"on unseen points: {found}; with the true log-odds: accuracy {best:.1%}")
    assert np.abs(weights - 2 * CENTRE).max() < 0.2
    assert abs(found.accuracy - best) < 0.01


if __name__ == "__main__":
    main()
