"""The two-layer network of the custom-net sheet: find the bright line in a small picture, whatever its contrast.

Run it with `python examples/sheet_two_layer.py`; it takes seconds. Explained in docs/examples/sheet_two_layer.md.
"""

import numpy as np

from dragoman import Batch
from dragoman.graph import Array
from dragoman.loss import LossIndex
from dragoman.networks import TwoLayerConfiguration, TwoLayerNetwork
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

SIZE, STEPS = 4, 300  # pictures of 4 x 4 pixels: classes 0 to 3 have a bright row, 4 to 7 a bright column


def draw(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    classes = rng.integers(0, 2 * SIZE, count)
    pictures = 0.5 * rng.standard_normal((count, SIZE, SIZE))
    for picture, label in zip(pictures, classes, strict=True):
        (picture if label < SIZE else picture.T)[label % SIZE] += 2
    return pictures, classes


def batch(pictures: Array, classes: Array) -> Batch:
    """Each picture a sample of SIZE rows, with one target."""
    rows = pictures.reshape(-1, SIZE)
    return Batch(rows, np.arange(0, len(rows) + 1, SIZE), classes)


def main() -> None:
    rng = np.random.default_rng(0)
    network = TwoLayerNetwork(TwoLayerConfiguration(positions=SIZE, inputs=SIZE, depth=8, classes=2 * SIZE))
    for name, array in network.named_arrays():
        print(f"  {name} {list(array.shape)}")
    loss_index = LossIndex()

    batches = (batch(*draw(64, rng)) for _ in range(STEPS))
    train(network, batches, Adam(), Cosine(0.02, STEPS), Stopping(STEPS), loss_index)
    pictures, classes = draw(1000, rng)
    found = loss_index.evaluate(network, batch(pictures, classes))
    print(f"on 1,000 unseen pictures: {found}")
    dim = loss_index.evaluate(network, batch(0.01 * pictures - 7, classes))
    print(f"the same pictures, darker and with a hundredth of the contrast: {dim}")
    assert found.accuracy > 0.95
    assert dim.hits == found.hits


if __name__ == "__main__":
    main()
