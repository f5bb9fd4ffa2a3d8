"""Data preparation: time of each stage, share of padding, and time to deliver a batch compared with a training step.

    python benchmarks/data.py eng-spa.tsv

Reads, checks, splits, tokenizes and encodes the file, then iterates over an epoch of batches and runs a few training
steps of the preset small on them (plain NumPy engine). Times depend on the machine; ratios are comparable.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dragoman.data import Batching, BatchStream, Encoding, Splitting, prepare, read_records
from dragoman.data.corpus import Corpus
from dragoman.data.doctor import examine
from dragoman.networks import Transformer, preset
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

T = TypeVar("T")
STEPS = 30


def timed(name: str, work: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(f"{name:<34}{seconds:8.2f} s", flush=True)
    return result, seconds


def padding_waste(stream: BatchStream) -> float:
    """The share of padding over an epoch, if batches were padded."""
    real = padded = 0
    for _ in range(stream.batches_in_epoch):
        batch = next(stream)
        assert batch.source is not None
        real += len(batch.labels) + len(batch.source.labels)
        padded += len(batch) * int(batch.lengths.max() + batch.source.lengths.max())
    return 1 - real / padded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        corpus, reading = timed("reading", lambda: Corpus(read_records([str(file)]), work))
        _, checking = timed("checking", lambda: examine(corpus))
        pairs = ((r.fields[0], r.fields[1]) for r in read_records([str(file)]))
        encoding = Encoding(sizes=(4562, 6134))
        dataset, preparing = timed(
            "reading, splitting, encoding", lambda: prepare(pairs, work / "data", encoding, Splitting(by="sample"))
        )
        print(f"{'together':<34}{reading + checking + preparing:8.2f} s for {len(corpus):,} pairs")
        part = dataset.part("training")
        for name, batching in (("64 unsorted", Batching(grouped=False)), ("64 grouped", Batching())):
            stream = BatchStream(part, batching)
            waste, seconds = timed(f"an epoch of batches, {name}", lambda stream=stream: padding_waste(stream))
            delivery = seconds / stream.batches_in_epoch
            print(f"    padded, {waste:.1%} of it would be padding; {1000 * delivery:.2f} ms a batch")
        network = Transformer(preset("small", *dataset.about["vocabularies"]))
        stream = BatchStream(part, Batching())
        _, stepping = timed(
            f"{STEPS} steps of Small", lambda: train(network, stream, Adam(), Constant(1e-4), Stopping(STEPS))
        )
        print(f"a step takes {stepping / STEPS / delivery:.0f} times as long as delivering its batch")


if __name__ == "__main__":
    main()
