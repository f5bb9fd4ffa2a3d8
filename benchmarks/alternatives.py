"""Compare two ways of computing the same training steps, alternating in one process.

    python benchmarks/alternatives.py products [--presets small,large] [--workloads equal] [--rounds 16] [--threads 2]
    python benchmarks/alternatives.py programs --workloads language-model,classifier

products  our own matrix products, and those of OpenBLAS
programs  programs of traced networks, and the graph

Ratios are the time of the second way divided by that of the first in the same round: above 1, the first is faster.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.contenders import Ours
from dragoman.bench.preparation import prepare_steps
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import TRAINING, Settings, new_network
from dragoman.engines import programs
from dragoman.engines.numba.gemm import gemm

WAYS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "products": (
        partial(setattr, gemm, "has_own_gemm", lambda: True),
        partial(setattr, gemm, "has_own_gemm", lambda: False),
    ),
    "programs": (
        partial(setattr, programs, "differentiate", programs.differentiate),
        partial(setattr, programs, "differentiate", lambda *_: None),
    ),
}


def measure(what: str, preset: str, name: str, rounds: int, threads: int | None, work: Path) -> str:
    size, workload = Settings().size(preset), TRAINING[name]
    batches = Sentences().batches(workload, size)
    material = prepare_steps(work / f"{preset}-{name}", new_network(workload, size), batches, workload.smoothing)
    contender = Ours(material, threads)
    seconds: list[list[float]] = [[], []]
    for turn in range(rounds + 1):  # the first round is a warm-up
        for way in (0, 1) if turn % 2 else (1, 0):
            WAYS[what][way]()
            contender.steps(2)
            begun = time.perf_counter()
            contender.steps(len(batches))
            seconds[way].append(time.perf_counter() - begun)
    found = np.array(seconds[1][1:]) / np.array(seconds[0][1:])
    low, middle, high = np.percentile(found, (25, 50, 75))
    step = 1000 * float(np.median(seconds[0][1:])) / len(batches)
    return f"{preset}, {name}: {middle:.3f} ({low:.3f} to {high:.3f}), least {found.min():.3f}; a step {step:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WAYS)
    parser.add_argument("--presets", default="small,medium,large")
    parser.add_argument("--workloads", default="equal")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for preset in arguments.presets.split(","):
            for name in arguments.workloads.split(","):
                print(
                    measure(arguments.what, preset, name, arguments.rounds, arguments.threads, Path(directory)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
