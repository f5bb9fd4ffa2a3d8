"""The first task of every sequence model: write a sequence backwards. A sound network gets all of it right.

The four components of a training, composed by hand: dataset, network, loss index, optimization algorithm.
Run it with `python examples/reverse.py`; it takes some seconds.
"""

import sys
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.batch import END, START
from dragoman.data import epoch, toy_pairs
from dragoman.loss import Loss, LossIndex
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

SYMBOLS, LONGEST, STEPS, BATCH = 8, 7, 1000, 64
LABELS = START + 2 + SYMBOLS  # pad, unknown, start, end, and the symbols


def batches(pairs: list[tuple[list[int], list[int]]], rng: np.random.Generator) -> Iterator[Batch]:
    """Epoch after epoch, each in a new order."""
    while True:
        for chosen in epoch(len(pairs), BATCH, rng):
            yield Batch.pairs([pairs[i][0] for i in chosen], [pairs[i][1] for i in chosen])


def write(network: Transformer, sources: list[list[int]], longest: int) -> list[list[int]]:
    """The most probable label at every step, until each sequence has its end label."""
    state = network.encode(Batch.pack(sources))
    labels = np.full(len(sources), START)
    written = []
    for _ in range(longest):
        logits, state = network.step(state, labels)
        labels = logits.argmax(axis=1)
        written.append(labels)
    columns = np.stack(written, axis=1).tolist()
    return [row[: row.index(END)] if END in row else row for row in columns]


def main() -> int:
    rng = np.random.default_rng(0)
    pairs = toy_pairs("reverse", 20_000, SYMBOLS, LONGEST, rng)
    training, testing = pairs[:-500], pairs[-500:]

    network = Transformer(
        TransformerConfiguration(
            source_vocabulary=LABELS, reference_vocabulary=LABELS, depth=32, perceptron_depth=64, block="pre"
        )
    )
    print(f"reverse a sequence: {len(training):,} training pairs, {network.count():,} parameters")

    def tell(t: int, loss: Loss) -> None:
        if t % 200 == 0:
            print(f"  step {t:4d}: {loss}")

    outcome = train(
        network,
        batches(training, rng),
        Adam(),
        Cosine(0.003, STEPS, 100),
        Stopping(STEPS),
        LossIndex(),
        1.0,
        on_step=tell,
    )
    print(f"stopped: {outcome.reason}")

    sources = [source for source, _ in testing]
    written = write(network, sources, LONGEST + 1)
    right = sum(ours == source[::-1] for ours, source in zip(written, sources, strict=True))
    print(f"{sources[0]} backwards is {written[0]}")
    print(f"{right} of {len(testing)} unseen sequences written without a mistake: {right / len(testing):.1%}")
    return 0 if right == len(testing) else 1


if __name__ == "__main__":
    with threadpool_limits(1):  # matrices this small are not worth a second thread
        sys.exit(main())
