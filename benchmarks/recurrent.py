"""Compare one LSTM and one GRU layer, forward and backward, with torch.nn.LSTM and torch.nn.GRU on the CPU.

    python benchmarks/recurrent.py [--rounds 15] [--steps 3] [--kinds lstm,gru] [--threads 1,2]

64 sequences, 256 inputs and 256 units, with 20 steps each and with 5 to 35 steps; torch gets the latter both packed and
padded. Each contender runs in its own process, in alternating order. Outputs and derivatives are compared first. Ratios
are torch's time divided by ours in the same round: above 1, Dragoman is faster. The last column is the median ratio of
processor time, which other work on the machine disturbs less. With two threads, each of ours takes one shard of the
batch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from recurrent_contenders import Ours, Torch, draw

from dragoman.bench.machine import machine_facts
from dragoman.bench.rounds import OURS, alternate, ratios

TOLERANCE = 2e-4  # relative to the largest value


def serve(contender: str, kind: str, directory: Path, threads: int) -> None:
    """Answer requests, one per line: a path to write outputs and gradients to, or a number of steps to time."""
    name, _, form = contender.partition(" ")
    given = dict(np.load(directory / "given.npz"))
    made: Any = (Ours if name == OURS else Torch)(kind, form, given, threads)
    for line in sys.stdin:
        request = json.loads(line)
        if isinstance(request, str):
            np.savez(request, **made.found())
            print("0", flush=True)
            continue
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(request):
            made.step()
        print(json.dumps([time.perf_counter() - wall, time.process_time() - processor]), flush=True)


class Contender:
    """A process that runs `serve`."""

    def __init__(self, name: str, kind: str, directory: Path, threads: int) -> None:
        self.name, self.processor = name, list[float]()
        command = [sys.executable, __file__, "--serve", name, kind, str(directory), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request: str | int) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def seconds(self, steps: int) -> float:
        wall, processor = self.ask(steps)
        self.processor.append(processor)
        return float(wall)

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def compare(contenders: list[Contender], directory: Path) -> None:
    """Check that all outputs and derivatives equal those of the first contender, up to rounding."""
    found = []
    for i, contender in enumerate(contenders):
        contender.ask(str(directory / f"found{i}.npz"))
        found.append(np.load(directory / f"found{i}.npz"))
    for contender, theirs in zip(contenders[1:], found[1:], strict=True):
        for name, ours in found[0].items():
            error = np.abs(ours - theirs[name]).max() / np.abs(ours).max()
            assert error < TOLERANCE, f"{contender.name} and ours differ in {name}: {error:.1e}"


def measure(kind: str, ragged: bool, threads: int, rounds: int, steps: int) -> Iterator[str]:
    names = [OURS, "torch packed", "torch padded"] if ragged else [OURS, "torch"]
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        directory = Path(place)
        draw(kind, ragged, directory / "given.npz")
        contenders = [stack.enter_context(Contender(name, kind, directory, threads)) for name in names]
        compare(contenders, directory)
        for contender in contenders:
            contender.ask(2)
        blocks = {c.name: (lambda c=c: c.seconds(steps)) for c in contenders}
        seconds = alternate(blocks, rounds, 0.05)
        ours = np.median(seconds[OURS]) / steps * 1e3
        for contender in contenders[1:]:
            least, median, (low, high) = ratios(seconds, contender.name)
            processor = np.median(np.array(contender.processor) / np.array(contenders[0].processor))
            lengths = "5 to 35" if ragged else "20"
            yield (
                f"| {kind} | {lengths} | {threads} | {contender.name} | {ours:.1f} | "
                f"{np.median(seconds[contender.name]) / steps * 1e3:.1f} | {median:.2f} | {least:.2f} | "
                f"{low:.2f} to {high:.2f} | {min(seconds[contender.name]) / min(seconds[OURS]):.2f} | {processor:.2f} |"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=3, help="of a block")
    parser.add_argument("--kinds", default="lstm,gru")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        contender, kind, directory, threads = arguments.serve
        serve(contender, kind, Path(directory), int(threads))
        return 0
    facts = machine_facts(None)
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f}, {facts['versions']}, {facts['commit']}\n")
    print("| layer | steps | threads | peer | ours, ms | its, ms | median | least | quartiles | best by best | cpu |")
    print("|---|" + 10 * "---|")
    for threads in map(int, arguments.threads.split(",")):
        for kind in arguments.kinds.split(","):
            for ragged in (False, True):
                for line in measure(kind, ragged, threads, arguments.rounds, arguments.steps):
                    print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
