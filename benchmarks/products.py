"""Compare training steps with our own matrix products and with BLAS, alternating in one process.

    python benchmarks/products.py [--presets small,large] [--workload equal] [--rounds 16] [--threads 2]

Ratios are the time with BLAS divided by the time with ours in the same round: above 1, ours are faster.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.contenders import Ours
from dragoman.bench.preparation import prepare_steps
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import SIZES, TRAINING, network_configuration
from dragoman.engines.numba.gemm import gemm


def measure(preset: str, name: str, rounds: int, threads: int | None, work: Path) -> str:
    size, workload = SIZES[preset], TRAINING[name]
    batches = Sentences().batches(workload, size)
    configuration = network_configuration(size, block=workload.block, dropout=workload.dropout)
    contender = Ours(prepare_steps(work / preset, configuration, batches, workload.smoothing), threads)
    ways: dict[str, Any] = {"ours": lambda: True, "blas": lambda: False}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds + 1):  # the first round is a warm-up
        for way in ways if turn % 2 else reversed(ways):
            gemm.has_own_gemm = ways[way]
            begun = time.perf_counter()
            contender.steps(len(batches))
            seconds[way].append(time.perf_counter() - begun)
    found = np.array(seconds["blas"][1:]) / np.array(seconds["ours"][1:])
    low, middle, high = np.percentile(found, (25, 50, 75))
    return f"{preset}, {name}: {middle:.2f} ({low:.2f} to {high:.2f}), least {found.min():.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="small,medium,large")
    parser.add_argument("--workload", default="equal", choices=sorted(TRAINING))
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for preset in arguments.presets.split(","):
            print(measure(preset, arguments.workload, arguments.rounds, arguments.threads, Path(directory)))


if __name__ == "__main__":
    main()
