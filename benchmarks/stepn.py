"""A training step of the plain NumPy engine beside PyTorch eager: forward, backward and Adam.

    python benchmarks/step.py --preset small --lengths real

One process for each contender, both with every core; blocks of steps alternate and the order is reversed each round.
Prints the ratio PyTorch time / our time (above 1: we are faster), its median, minimum and spread over the rounds.
Both compute the same first loss and gradient norm from the same weights and batches, which is checked first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.networks import Transformer, preset

SOURCE, REFERENCE, SENTENCES, BATCHES = 4562, 6134, 64, 8


def make_batches(lengths: str) -> list[Batch]:
    """64 sentences: all of length 10, or of lengths about 10 as short sentences have them."""
    rng = np.random.default_rng(0)
    batches = []
    for _ in range(BATCHES):
        sizes = np.full(SENTENCES, 10) if lengths == "equal" else rng.poisson(8, SENTENCES) + 2
        sources = [rng.integers(4, SOURCE, n) for n in sizes]
        references = [[START, *rng.integers(4, REFERENCE, n - 1), END] for n in sizes]
        batches.append(Batch.pairs(sources, references))
    return batches


def our_step(network: Transformer, batches: list[Batch]) -> Callable[[int], tuple[float, float]]:
    from dragoman.loss import LossIndex
    from dragoman.optimization import Adam, gradient_norm

    from threadpoolctl import threadpool_limits
    from dragoman.graph import use_engine
    import dragoman.engines.numba
    from dragoman.training.workers import Workers
    from dragoman.layers import Run
    threadpool_limits(1); use_engine("numba"); workers=Workers(2)
    optimizer, loss_index = Adam(), LossIndex()

    def step(i: int) -> tuple[float, float]:
        loss, gradient = workers.differentiate(loss_index, network, batches[i % BATCHES], Run())
        norm = gradient_norm(network.theta, gradient) if i == 0 else 0.0
        optimizer.update(network.theta, gradient, 1e-4, workers.sweep)
        return loss.error, norm

    return step


def torch_step(network: Transformer, batches: list[Batch]) -> Callable[[int], tuple[float, float]]:
    import torch
    from torch_twin import PaddedBatch, Twin

    twin = Twin(network)
    optimizer = torch.optim.Adam(twin.parameters(), lr=1e-4, fused=True)
    padded = [PaddedBatch(batch) for batch in batches]

    def step(i: int) -> tuple[float, float]:
        optimizer.zero_grad()
        error = twin.error(padded[i % BATCHES])
        error.backward()
        norm = 0.0
        if i == 0:
            norm = sum(float((p.grad**2).sum()) for p in twin.parameters() if p.grad is not None) ** 0.5
        optimizer.step()
        return float(error.detach()), norm

    return step


def work(contender: str, name: str, lengths: str) -> None:
    """One contender: reads how many steps to take, answers with the seconds they took."""
    batches = make_batches(lengths)
    network = Transformer(preset(name, SOURCE, REFERENCE))
    step = (our_step if contender == "numpy" else torch_step)(network, batches)
    print(json.dumps(step(0)), flush=True)
    done = 1
    for line in sys.stdin:
        start = time.perf_counter()
        for i in range(done, done + int(line)):
            step(i)
        done += int(line)
        print(time.perf_counter() - start, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--lengths", choices=("equal", "real"), default="real")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.preset, options.lengths)
        return

    command = [sys.executable, __file__, "--preset", options.preset, "--lengths", options.lengths, "--worker"]
    contenders = {
        name: subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("numpy", "torch")
    }

    def ask(name: str, steps: int) -> float:
        process = contenders[name]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{steps}\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    first = {name: json.loads(process.stdout.readline()) for name, process in contenders.items() if process.stdout}
    if not np.allclose(first["numpy"], first["torch"], rtol=1e-4):
        raise SystemExit(f"the contenders do not compute the same thing: {first}")
    for name in contenders:
        ask(name, 5)  # warm up
    ratios = []
    for turn in range(options.rounds):
        order = ("numpy", "torch") if turn % 2 == 0 else ("torch", "numpy")
        seconds = {}
        for name in order:
            seconds[name] = ask(name, options.steps)
            time.sleep(0.1)
        ratios.append(seconds["torch"] / seconds["numpy"])
    for process in contenders.values():
        process.terminate()
    low, high = np.percentile(ratios, [25, 75])
    print(
        f"{options.preset}, {options.lengths} lengths, {SENTENCES} sentences: loss and gradient norm {first['numpy']}"
    )
    print(
        f"PyTorch time / NumPy time: median {np.median(ratios):.2f}, min {min(ratios):.2f}, "
        f"quartiles {low:.2f} to {high:.2f} over {options.rounds} rounds of {options.steps} steps"
    )


if __name__ == "__main__":
    main()
