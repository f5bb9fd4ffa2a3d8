"""A set network: an encoder without positions says whether a number occurs twice, in whatever order it reads them.

Run it with `python examples/set_network.py`; it takes seconds. Explained in docs/examples/set_network.md.
"""

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex
from dragoman.networks import Encoder, EncoderConfiguration
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

NUMBERS, SIZE, STEPS = 10, 4, 400


def draw(count: int, rng: np.random.Generator) -> Batch:
    """Sets of SIZE numbers; class 1: one of them is there twice."""
    sets = np.array([rng.permutation(NUMBERS)[:SIZE] for _ in range(count)])
    twice = rng.integers(0, 2, count)
    sets[twice == 1, 0] = sets[twice == 1, 1]
    sets = rng.permuted(sets, axis=1)
    return Batch(sets.reshape(-1), np.arange(0, sets.size + 1, SIZE), twice, per="sample")


def main() -> None:
    rng = np.random.default_rng(0)
    configuration = EncoderConfiguration(
        vocabulary=NUMBERS, outputs=2, depth=16, perceptron_depth=32, heads=2, positions="none", pooling="mean"
    )
    network, loss_index = Encoder(configuration), LossIndex()
    print(f"{network.count():,} parameters")

    batches = (draw(64, rng) for _ in range(STEPS))
    train(network, batches, Adam(), Cosine(0.01, STEPS), Stopping(STEPS), loss_index)
    testing = draw(1000, rng)
    found = loss_index.evaluate(network, testing)
    print(f"on 1,000 unseen sets: {found}")
    backwards = Batch.pack(testing.labels.reshape(-1, SIZE)[:, ::-1])
    difference = np.abs(network.plain(backwards) - network.plain(testing)).max()
    print(f"read backwards: outputs differ by less than 1e-4: {difference < 1e-4}")
    assert found.accuracy > 0.98
    assert difference < 1e-4


if __name__ == "__main__":
    main()
