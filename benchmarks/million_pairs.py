"""Measure peak memory of checking, encoding and iterating over a million generated pairs.

    python benchmarks/million_pairs.py [--pairs 1000000]

Writes a TSV file of generated sentence pairs, checks it, prepares a dataset (WordPiece, split, encoding) and iterates
over an epoch of batches. Each stage runs in its own process and prints its peak resident memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SYLLABLES = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "án", "er", "io", "us")]


def write_pairs(path: Path, pairs: int) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(40_000)])
    ranks = 1 / np.arange(1, len(words) + 1)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(0, pairs, 10_000):
            lengths = rng.poisson(7, (10_000, 2)) + 2
            drawn = rng.choice(words, int(lengths.sum()), p=ranks / ranks.sum())
            ends = np.cumsum(lengths.ravel())
            texts = [" ".join(part) + "." for part in np.split(drawn, ends[:-1])]
            for source, reference in zip(texts[::2], texts[1::2], strict=True):
                file.write(f"{source}\t{reference}\n")


def check(path: Path) -> str:
    from dragoman.data.corpus import Corpus
    from dragoman.data.doctor import examine
    from dragoman.data.readers import read_records

    with tempfile.TemporaryDirectory() as directory:
        report = examine(Corpus(read_records([str(path)]), Path(directory)))
    return f"{report.pairs:,} pairs examined"


def encode(path: Path) -> str:
    from dragoman.data.dataset import prepare
    from dragoman.data.readers import read_records

    pairs = ((record.fields[0], record.fields[1]) for record in read_records([str(path)]))
    dataset = prepare(pairs, path.parent / "dataset")
    return f"{len(dataset):,} pairs encoded, vocabularies {dataset.about['vocabularies']}"


def iterate(path: Path) -> str:
    from dragoman.data.batching import Batching, BatchStream
    from dragoman.data.dataset import Dataset

    stream = BatchStream(Dataset(path.parent / "dataset").part("training"), Batching())
    rows = 0
    for _ in range(stream.batches_in_epoch):
        batch = next(stream)
        rows += len(batch.labels)
    return f"{stream.batches_in_epoch:,} batches, {rows:,} reference rows in an epoch"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--stage", choices=("check", "encode", "iterate"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        start = time.perf_counter()
        told = {"check": check, "encode": encode, "iterate": iterate}[options.stage](options.file)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{options.stage}: {told}; peak {peak:.0f} MB, {time.perf_counter() - start:.0f} s", flush=True)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pairs.tsv"
        write_pairs(path, options.pairs)
        for stage in ("check", "encode", "iterate"):
            subprocess.run([sys.executable, __file__, "--stage", stage, "--file", str(path)], check=True)


if __name__ == "__main__":
    main()
