"""Forecasting: a recurrent network continues a sine by reading its own predictions.

Run it with `python examples/forecasting.py`; it takes seconds. Explained in docs/examples/forecasting.md.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.graph import Array
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

FREQUENCY, READ, AHEAD, STEPS = 0.3, 20, 60, 800


def wave(phase: float, length: int) -> Array:
    return np.sin(FREQUENCY * np.arange(length) + phase)[:, None]


def main() -> None:
    series = [wave(phase, READ + 1) for phase in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
    x, y = np.concatenate([s[:-1] for s in series]), np.concatenate([s[1:] for s in series])
    known = (np.arange(len(x)) % READ > 0).astype(float)  # one value alone does not tell whether the sine rises
    dataset = Batch(x, np.arange(0, len(x) + 1, READ), y, known)
    configuration = RecurrentNetworkConfiguration(inputs=1, units=8, outputs=1)
    network = RecurrentNetwork(configuration, dtype=np.float64)
    loss_index = LossIndex(MeanSquaredError())

    outcome = train(
        network, itertools.repeat(dataset), Adam(beta2=0.98), Cosine(0.05, STEPS), Stopping(STEPS), loss_index
    )
    print(f"one step ahead: mean squared error {outcome.losses[-1].error:.1e}")
    unseen = wave(1.0, READ + AHEAD)
    predicted = network.forecast(unseen[:READ], AHEAD)
    for ahead in (1, 10, 30, 60):
        print(f"  {ahead} steps ahead: {predicted[ahead - 1, 0]:.3f}, true {unseen[READ + ahead - 1, 0]:.3f}")
    worst = np.abs(predicted - unseen[READ:]).max()
    print(f"largest error of {AHEAD} steps: {worst:.4f}")
    assert worst < 0.05


if __name__ == "__main__":
    main()
