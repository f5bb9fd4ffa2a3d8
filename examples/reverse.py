"""Train a Transformer to reverse sequences. A correct implementation gets every test sequence right.

The four components of training are put together by hand: dataset, network, loss, optimization algorithm.
Run it with `python examples/reverse.py`; it takes a few seconds.
"""

import sys

import numpy as np

from dragoman import Transformer, TransformerConfiguration
from dragoman.data import Batching, BatchStream, LabelPairs, toy_pairs
from dragoman.decoding import Greedy, decode
from dragoman.loss import LossIndex
from dragoman.optimization import Adam, Cosine
from dragoman.training import Callback, Record, Stopping, train

SYMBOLS, LONGEST, STEPS, BATCH = 8, 7, 1000, 64
LABELS = 4 + SYMBOLS  # pad, unknown, start, end, and the symbols


class Tell(Callback):
    def record(self, record: Record) -> None:
        print(f"  epoch {record.epoch:g}: {record.training}")


def main() -> int:
    rng = np.random.default_rng(0)
    pairs = toy_pairs("reverse", 20_000, SYMBOLS, LONGEST, rng)
    training, testing = pairs[:-500], pairs[-500:]

    network = Transformer(
        TransformerConfiguration(
            source_vocabulary=LABELS, target_vocabulary=LABELS, depth=32, perceptron_depth=64, block="pre"
        )
    )
    print(f"reverse a sequence: {len(training):,} training pairs, {network.count():,} parameters")

    batches = BatchStream(LabelPairs(training), Batching(BATCH, grouped=False))
    outcome = train(
        network, batches, Adam(), Cosine(0.003, STEPS, 100), Stopping(STEPS), LossIndex(), clip=1.0, watch=Tell()
    )
    print(f"stopped: {outcome.reason}")

    sources = [source for source, _ in testing]
    written = [best.labels.tolist() for best, *_ in decode(network, sources, Greedy(), LONGEST)]
    right = sum(ours == source[::-1] for ours, source in zip(written, sources, strict=True))
    print(f"{sources[0]} backwards is {written[0]}")
    print(f"{right} of {len(testing)} unseen sequences written without a mistake: {right / len(testing):.1%}")
    return 0 if right == len(testing) else 1


if __name__ == "__main__":
    sys.exit(main())
