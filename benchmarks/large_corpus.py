"""Prepare a corpus that no single text file should hold, and train on it: pairs/s and peak memory of each stage.

    python benchmarks/large_corpus.py --work /tmp/large [--pairs 20000000] [--workers 2] [--steps 50]

Generates sentence pairs as Parquet files (words by Zipf's law, 2 to 40 of them in a sentence), runs `dragoman data
prepare` on their directory and `dragoman train` for some steps, each in a process of its own. Peak memory is the
largest ru_maxrss of any process of a stage: every worker has at most as much. It counts pages of mapped files, which
the system takes back when others need memory; so the peak of the main process without them is printed too (Linux,
sampled). Files in the work directory are kept, and those that are there already are not made again; 20 million pairs
take 9 GB.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

SYLLABLES = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "án", "er", "io", "us")]
WORDS = 200_000
PAIRS = 500_000  # of a file
ROWS = 50_000  # of a row group
LONGEST = 40
COMMAND = [sys.executable, "-c", "from dragoman.cli import main; main()"]


def vocabulary() -> tuple[list[str], np.ndarray]:
    """Words, and the cumulated probability of each: that of rank r is proportional to 1 / r."""
    rng = np.random.default_rng(0)
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(rng.choice(SYLLABLES, rng.integers(1, 5)))] = None
    ranks = 1 / np.arange(1, WORDS + 1)
    return list(found), np.cumsum(ranks / ranks.sum())


def sentences(rng: np.random.Generator, words: list[str], below: np.ndarray, count: int) -> list[str]:
    lengths = (rng.gamma(3, 3, count) + 2).astype(int).clip(2, LONGEST)
    drawn = np.searchsorted(below, rng.random(int(lengths.sum()))).clip(0, WORDS - 1)
    texts = [words[i] for i in drawn.tolist()]
    ends = np.cumsum(lengths).tolist()
    return [" ".join(texts[end - length : end]) + "." for end, length in zip(ends, lengths.tolist(), strict=True)]


def generate(place: Path, pairs: int) -> None:
    place.mkdir(parents=True, exist_ok=True)
    words, below = vocabulary()
    columns = pyarrow.schema({"source": pyarrow.string(), "target": pyarrow.string()})
    for number, start in enumerate(range(0, pairs, PAIRS)):
        path = place / f"pairs-{number:04}.parquet"
        if path.exists():
            continue
        rng, left = np.random.default_rng([1, number]), min(PAIRS, pairs - start)
        written = place / f".{path.name}"
        with parquet.ParquetWriter(written, columns) as writer:
            for first in range(0, left, ROWS):
                count = min(ROWS, left - first)
                sides = [sentences(rng, words, below, count) for _ in range(2)]
                writer.write_table(pyarrow.table(sides, schema=columns))
        written.rename(path)


def measured(name: str, pairs: int, run: list[str] | tuple[Path, int]) -> None:
    """Run a stage in a process of its own; print its time and memory."""
    began = time.perf_counter()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run, args=(run, theirs))
    process.start()
    theirs.close()
    code, peak, anonymous = ours.recv()
    process.join()
    if code:
        sys.exit(f"{name} failed")
    seconds = time.perf_counter() - began
    rate = f", {pairs / seconds:,.0f} pairs/s" if pairs else ""
    own = f", {anonymous / 1024:,.0f} MB of the main one without mapped files" if anonymous else ""
    print(f"{name}: {seconds:,.0f} s{rate}, peak memory of a process {peak / 1024:,.0f} MB{own}", flush=True)


def _run(run: list[str] | tuple[Path, int], answer: multiprocessing.connection.Connection) -> None:
    """In a process of the stage's own, so that the peak of its children is not that of another stage."""
    if isinstance(run, tuple):
        generate(*run)
        answer.send((0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0))
        return
    process, anonymous = subprocess.Popen(run), 0
    while process.poll() is None:
        anonymous = max(anonymous, memory_without_files(process.pid))
        time.sleep(0.1)
    answer.send((process.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, anonymous))


def memory_without_files(process: int) -> int:
    """Kilobytes of a process that are not those of files; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    files, prepared, model = (options.work / name for name in ("parquet", "prepared", "model"))
    measured("generating", options.pairs, (files, options.pairs))
    size = sum(path.stat().st_size for path in files.iterdir())
    print(f"{options.pairs:,} pairs in {len(list(files.iterdir()))} Parquet files, {size / 2**20:,.0f} MB", flush=True)
    if not prepared.exists():
        few = ["--shares", "99.9,0.05,0.05"]
        prepare = ["data", "prepare", files, "--out", prepared, "--workers", options.workers, *few]
        measured("preparing", options.pairs, [*COMMAND, *map(str, prepare)])
    print(json.dumps(json.loads((prepared / "about.json").read_text())["parts"]), flush=True)
    stored = sum(path.stat().st_size for path in prepared.iterdir())
    print(f"prepared: {stored / 2**20:,.0f} MB on disk", flush=True)
    shutil.rmtree(model, ignore_errors=True)
    train = ["train", prepared, "--out", model, "--preset", "small", "--set", f"stopping.steps={options.steps}"]
    measured(f"training {options.steps} steps", 0, [*COMMAND, *map(str, train)])


if __name__ == "__main__":
    main()
