"""Training speed on a busy machine: Dragoman and PyTorch with one and two threads, while other programs use the cores.

    python benchmarks/busy.py [--presets small,medium] [--busy 0,1,2] [--rounds 5] [--seconds 4]

Each contender runs in its own process. They take turns while --busy other processes run an endless loop. "fixed" is
Dragoman with always as many system threads as shards; otherwise it adapts the number (training/pace.py). Tokens per
second are medians over the rounds. The last column is Dragoman with two threads divided by the better of its other two.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

CONTENDERS = (
    ("dragoman", 2, "adapts"),
    ("dragoman", 1, "adapts"),
    ("dragoman", 2, "fixed"),
    ("torch", 1, ""),
    ("torch", 2, ""),
)


def count_upwards() -> None:
    n = 0
    while True:
        n += 1


def serve(name: str, threads: int, way: str, directory: Path, pipe: Connection) -> None:
    """For each number of seconds received, run training steps that long and send back the tokens per second."""
    from dragoman.bench.material import Material
    from dragoman.bench.worker import make_contender
    from dragoman.training.pace import Pace

    class Fixed(Pace):
        def _kept_waiting(self) -> bool:
            return False

    material = Material(directory)
    contender: Any = make_contender(name, material, threads)
    if way == "fixed":
        contender.training.workers._pace = Fixed(threads)
    tokens = [len(arrays["source"]) + len(arrays["labels"]) for arrays in material.batches()]
    done = 0
    while seconds := pipe.recv():
        began, read = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            contender.steps(1)
            read += tokens[done % len(tokens)]
            done += 1
        pipe.send(read / (time.perf_counter() - began))


def measure(preset: str, busy: list[int], rounds: int, seconds: float, directory: Path) -> list[str]:
    from dragoman.bench.preparation import prepare_steps
    from dragoman.bench.sentences import Sentences
    from dragoman.bench.workloads import SIZES, TRAINING, network_configuration

    size, workload = SIZES[preset], TRAINING["grouped"]
    batches = Sentences().batches(workload, size)
    configuration = network_configuration(
        size, block=workload.block, dropout=workload.dropout, positions=workload.positions
    )
    prepare_steps(directory, configuration, batches, workload.smoothing)
    context, pipes = multiprocessing.get_context("spawn"), {}
    for contender in CONTENDERS:
        pipes[contender], end = context.Pipe()
        context.Process(target=serve, args=(*contender, directory, end), daemon=True).start()
        _ask(pipes[contender], 2.0)  # warm up, one contender at a time
    lines = []
    for others in busy:
        at_work = [context.Process(target=count_upwards, daemon=True) for _ in range(others)]
        for process in at_work:
            process.start()
        time.sleep(2.0 if at_work else 0.0)
        found: dict[Any, list[float]] = {contender: [] for contender in CONTENDERS}
        for turn in range(rounds):
            for contender in CONTENDERS if turn % 2 else reversed(CONTENDERS):
                _ask(pipes[contender], 0.5)  # warm up the caches after the previous contender
                found[contender].append(_ask(pipes[contender], seconds))
        for process in at_work:
            process.kill()
        lines.append(_line(preset, others, found))
    for pipe in pipes.values():
        pipe.send(0)
    return lines


def _ask(pipe: Connection, seconds: float) -> float:
    pipe.send(seconds)
    return float(pipe.recv())


def _line(preset: str, others: int, found: dict[Any, list[float]]) -> str:
    middle = [statistics.median(found[contender]) for contender in CONTENDERS]
    shown = " | ".join(
        f"{value / 1000:.1f}k ({min(found[contender]) / 1000:.1f} to {max(found[contender]) / 1000:.1f})"
        for value, contender in zip(middle, CONTENDERS, strict=True)
    )
    return f"| {preset} | {others} | {shown} | {middle[0] / max(middle[1], middle[2]):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="small,medium")
    parser.add_argument("--busy", default="0,1,2", help="how many other programs, one table row each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each contender in each round")
    arguments = parser.parse_args()
    names = [f"{name}, {threads}{f' ({way})' if way == 'fixed' else ''}" for name, threads, way in CONTENDERS]
    print(f"| preset | busy programs | {' | '.join(names)} | ratio |\n|---|---|{'---|' * (len(names) + 1)}")
    busy = [int(number) for number in arguments.busy.split(",")]
    for preset in arguments.presets.split(","):
        with tempfile.TemporaryDirectory() as directory:
            for line in measure(preset, busy, arguments.rounds, arguments.seconds, Path(directory)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
