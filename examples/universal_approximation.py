"""Universal approximation: one hidden layer of ReLUs fits the sine, the closer the wider it is.

Run it with `python examples/universal_approximation.py`; it takes seconds. Explained in
docs/examples/universal_approximation.md.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import Perceptrons, PerceptronsConfiguration
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

X = np.linspace(-np.pi, np.pi, 201)[:, None]
DATASET = Batch.rows(X, np.sin(X))
STEPS = 1500


def new_network(width: int) -> Perceptrons:
    """Hidden units that start to rise at evenly spread points."""
    network = Perceptrons(PerceptronsConfiguration(depths=(1, width, 1)), dtype=np.float64)
    hidden = network.layers[0]
    hidden.weights.value[...] = 1
    hidden.biases.value[...] = -np.linspace(-np.pi, np.pi, width, endpoint=False)
    return network


def worst_error(network: Perceptrons) -> float:
    return float(np.abs(network.plain(DATASET) - np.sin(X)).max())


def trained(width: int) -> float:
    """The largest error after training all weights."""
    network, loss_index = new_network(width), LossIndex(MeanSquaredError())
    train(network, itertools.repeat(DATASET), Adam(), Cosine(0.03, STEPS), Stopping(STEPS), loss_index)
    return worst_error(network)


def solved(width: int) -> float:
    """The largest error with the best output weights for hidden units that stay as they are."""
    network = new_network(width)
    output = network.layers[1]
    features = np.column_stack((network.plain.layers[0](X), np.ones(len(X))))
    solution, *_ = np.linalg.lstsq(features, np.sin(X), rcond=None)
    output.weights.value[...], output.biases.value[...] = solution[:-1], solution[-1]
    return worst_error(network)


def main() -> None:
    errors = []
    for width in (2, 8, 32):
        errors.append(trained(width))
        print(f"{width} hidden units, trained: largest error {errors[-1]:.4f}")
    assert all(wide < narrow / 2 for narrow, wide in itertools.pairwise(errors))
    assert errors[-1] < 0.1

    errors = []
    for width in (8, 16, 32, 64):
        errors.append(solved(width))
        print(f"{width} fixed hidden units, output weights solved for: largest error {errors[-1]:.4f}")
    assert all(wide < narrow / 3 for narrow, wide in itertools.pairwise(errors))
    assert errors[-1] < 2e-3


if __name__ == "__main__":
    main()
