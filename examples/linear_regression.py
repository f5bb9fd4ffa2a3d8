"""Linear regression: learn the table of the thesis's Example 2.3 with one layer and no activation.

Run it with `python examples/linear_regression.py`; it takes a second. Explained in docs/examples/linear_regression.md.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import Perceptrons, PerceptronsConfiguration
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

TABLE = np.array(  # three features and a target in each row (Table 2.1)
    [
        [3.4, 5.6, 9.0, 10.1],
        [4.5, 6.7, 10.1, 11.2],
        [14.5, 16.7, 20.1, 21.2],
    ]
)
GOAL = 1e-3


def main() -> None:
    x, y = TABLE[:, :3], TABLE[:, 3:]
    dataset = Batch.rows(x, y)
    network = Perceptrons(PerceptronsConfiguration(depths=(3, 1)), dtype=np.float64)
    loss_index = LossIndex(MeanSquaredError())
    print(f"{len(x)} rows of 3 features, {network.count()} parameters")

    outcome = train(
        network, itertools.repeat(dataset), Adam(), Constant(0.02), Stopping(3000, loss_goal=GOAL), loss_index
    )
    print(f"mean squared error {outcome.losses[0].error:.4f} before, {outcome.losses[-1].error:.4f} after training")
    for target, output in zip(y[:, 0], network.plain(dataset)[:, 0], strict=True):
        print(f"  target {target:.1f}, predicted {output:.2f}")
    assert outcome.losses[-1].error <= GOAL


if __name__ == "__main__":
    main()
