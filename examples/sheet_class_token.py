"""The class-token encoder of the custom-net sheet: find the marked row of a sequence and say what it holds.

Run it with `python examples/sheet_class_token.py`; it takes seconds. Explained in docs/examples/sheet_class_token.md.
"""

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex
from dragoman.networks import ClassTokenConfiguration, ClassTokenEncoder
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

CLASSES, STEPS = 3, 200


def draw(count: int, lengths: tuple[int, int], rng: np.random.Generator) -> Batch:
    """Rows (mark, unit vector of a class): the class of a sequence is that of its only marked row."""
    sequences, targets = [], []
    for length in rng.integers(lengths[0], lengths[1] + 1, count):
        held, marked = rng.integers(0, CLASSES, length), rng.integers(0, length)
        sequences.append(np.column_stack((np.arange(length) == marked, np.eye(CLASSES)[held])))
        targets.append(held[marked])
    packed = Batch.pack(sequences)
    return Batch(packed.labels, packed.offsets, np.array(targets), per="sample")


def main() -> None:
    rng = np.random.default_rng(0)
    network = ClassTokenEncoder(
        ClassTokenConfiguration(inputs=1 + CLASSES, depth=16, attention_depth=16, classes=CLASSES)
    )
    for name, array in network.named_arrays():
        print(f"  {name} {list(array.shape)}")
    loss_index = LossIndex()

    batches = (draw(64, (2, 6), rng) for _ in range(STEPS))
    train(network, batches, Adam(), Cosine(0.02, STEPS), Stopping(STEPS), loss_index)
    found = loss_index.evaluate(network, draw(1000, (2, 6), rng))
    print(f"on 1,000 unseen sequences of 2 to 6 rows: {found}")
    longer = loss_index.evaluate(network, draw(1000, (8, 10), rng))
    print(f"on longer sequences than it was trained on, 8 to 10 rows: {longer}")
    assert found.accuracy > 0.98
    assert longer.accuracy > 0.9


if __name__ == "__main__":
    main()
