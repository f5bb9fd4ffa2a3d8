"""Measure training steps on several processes, and fit the model of docs/scaling.md to them.

    python benchmarks/scaling.py run results.json [--rounds 5] [--presets small,medium,large]
    python benchmarks/scaling.py fit results.json [--plot docs/figures/scaling.png]

`run` (Linux, root; about 11 minutes on 2 quiet cores) times steps on made-up sentences with one process of one and of
two threads, two processes at once that do not speak to each other, two ranks over loopback, and two and four ranks in
network namespaces whose links are limited to some bandwidth; sums of gradients and of single numbers too, with up to
eight ranks. All cases are measured in turn, in each round once. `fit` prints the table, the fitted parameters, and
predictions beside measurements, those that were not used for the fit too.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scaling_fit import report
from scaling_links import INTERFACE, PATH, Links, links

from dragoman.bench.machine import machine_facts

WORKER = Path(__file__).parent / "scaling_worker.py"
RATES = (1e8, 3e8, 1e9, 3e9)
LEAST_STEPS = 3


@dataclass(frozen=True)
class Case:
    """One way to train.

    kind       alone: one process; pair: two that do not speak to each other; ranks: several that train together;
               gradient: ranks that sum a gradient, message: one number, and compute nothing
    bandwidth  of the links in bits per second, or None: loopback
    """

    kind: str
    preset: str
    sentences: int
    processes: int = 1
    threads: int = 1
    bandwidth: float | None = None

    def __str__(self) -> str:
        link = f", {self.bandwidth / 1e6:g} Mbit/s" if self.bandwidth else ""
        return f"{self.preset}, {self.sentences} sentences, {self.kind}, {self.processes} x {self.threads}{link}"


def cases_of(preset: str) -> list[Case]:
    return [
        *(Case("alone", preset, sentences) for sentences in (32, 64, 128)),
        *(Case("alone", preset, sentences, threads=2) for sentences in (32, 64)),
        Case("pair", preset, 64, 2),
        Case("ranks", preset, 64, 2),
        Case("ranks", preset, 128, 2),
        *(Case("ranks", preset, 64, 2, bandwidth=rate) for rate in RATES),
        Case("ranks", preset, 128, 2, bandwidth=3e8),
        *(Case("ranks", preset, 64, 4, bandwidth=rate) for rate in (3e8, 1e9)),
        Case("gradient", preset, 0, 2),
        *(Case("gradient", preset, 0, 2, bandwidth=rate) for rate in (3e8, 1e9, 3e9)),
        *(Case("gradient", preset, 0, 4, bandwidth=rate) for rate in (3e8, 1e9)),
        Case("gradient", preset, 0, 8, bandwidth=3e8),
    ]


class World:
    """Processes that get the same requests at the same time."""

    def __init__(self, stack: ExitStack, count: int, threads: int, ranks: bool, within: Links | None = None) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        port = free_port()
        for i in range(count):
            environment = {**os.environ, "PATH": PATH}
            if ranks:
                address = "127.0.0.1" if within is None else within.address(0)
                environment |= {"RANK": str(i), "WORLD_SIZE": str(count), "MASTER_ADDR": address}
                environment |= {"MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
                environment |= {"GLOO_SOCKET_IFNAME": "lo" if within is None else INTERFACE}
            command = [*([] if within is None else within.within(i)), sys.executable, str(WORKER), str(threads)]
            self.processes.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
            )
        stack.callback(self.close)

    def ask(self, request: dict[str, Any]) -> list[dict[str, float]]:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self.processes if process.stdout is not None]

    def close(self) -> None:
        for process in self.processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:  # another rank failed
                process.kill()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Measurement:
    """All worlds, alive at once: those that are not asked wait for a line."""

    def __init__(self, stack: ExitStack, block: float) -> None:
        self.block = block
        self.links = stack.enter_context(links(8))
        self.links.limit(max(RATES))
        self.worlds = {
            ("alone", 1, 1, False): World(stack, 1, 1, ranks=False),
            ("alone", 1, 2, False): World(stack, 1, 2, ranks=False),
            ("pair", 2, 1, False): World(stack, 2, 1, ranks=False),
            ("ranks", 2, 1, False): World(stack, 2, 1, ranks=True),
            ("ranks", 2, 1, True): World(stack, 2, 1, ranks=True, within=self.links),
            ("ranks", 4, 1, True): World(stack, 4, 1, ranks=True, within=self.links),
            ("ranks", 8, 1, True): World(stack, 8, 1, ranks=True, within=self.links),
        }
        self.steps: dict[Case, int] = {}

    def plan(self, cases: list[Case]) -> None:
        """Find out how many steps of each case fill a block; this also loads the kernels, before anything is timed."""
        for world in self.worlds.values():
            world.ask({"preset": cases[0].preset, "kind": "message", "sentences": 0, "steps": 1})
        for case in cases:
            self.steps[case] = max(LEAST_STEPS, round(self.block / self.ask(case, 1)["seconds"]))

    def ask(self, case: Case, steps: int) -> dict[str, float]:
        """Time steps; ranks end together, of a pair the mean counts."""
        if case.bandwidth is not None:
            self.links.limit(case.bandwidth)
        kind = case.kind if case.kind in ("alone", "pair") else "ranks"
        world = self.worlds[kind, case.processes, case.threads, case.bandwidth is not None]
        found = world.ask({"preset": case.preset, "kind": case.kind, "sentences": case.sentences, "steps": steps})
        return {name: sum(one[name] for one in found) / len(found) for name in found[0]}


def run(options: argparse.Namespace) -> None:
    presets = options.presets.split(",")
    cases = [case for preset in presets for case in cases_of(preset)]
    cases += [Case("message", presets[0], 0, ranks, bandwidth=3e9) for ranks in (2, 4, 8)]
    found: dict[Case, list[dict[str, float]]] = {case: [] for case in cases}
    facts, began = machine_facts(None), time.monotonic()
    with ExitStack() as stack:
        measurement = Measurement(stack, options.block)
        measurement.plan(cases)
        for turn in range(options.rounds):
            for case in cases if turn % 2 == 0 else cases[::-1]:
                found[case].append(measurement.ask(case, measurement.steps[case]))
                print(
                    f"{time.monotonic() - began:5.0f} s  {turn + 1}  {case}: {found[case][-1]['seconds']:.4f} s",
                    flush=True,
                )
    runs = [{**asdict(case), "rounds": rounds} for case, rounds in found.items()]
    options.results.write_text(json.dumps({"machine": facts, "runs": runs}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("run")
    measuring.add_argument("results", type=Path)
    measuring.add_argument("--rounds", type=int, default=5)
    measuring.add_argument("--presets", default="small,medium,large")
    measuring.add_argument("--block", type=float, default=0.7, help="seconds of steps that are timed together")
    fitting = commands.add_parser("fit")
    fitting.add_argument("results", type=Path)
    fitting.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        run(options)
    else:
        report(json.loads(options.results.read_text(encoding="utf-8")), options.plot)


if __name__ == "__main__":
    main()
