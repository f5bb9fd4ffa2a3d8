"""Train a language model by characters beside its PyTorch twin: bits per character, and time, in one run.

    python benchmarks/language_model.py war-and-peace.txt.gz [--architectures transformer,lstm,gru] [--preset medium]
        [--steps 1200] [--block 20] [--threads 2] [--contenders dragoman,torch] [--json FILE]

All contenders have the same size, first weights, batches in the same order, dropout rate, Adam, clipping, rate of every
step, and moving average of the weights; each runs in its own process. They take turns of some steps, in alternating
order, until all are done, so whatever else the machine does disturbs all alike. Errors of the first batch are compared
first. A ratio is a twin's time divided by ours in the same turn: above 1, Dragoman is faster. `gemm` is nothing but the
matrix products of our step, on the same threads: no implementation on these products can be faster. It includes those
inside attention, of which a causal one needs half; `gemm linear` is without them. In the end the
validation part is evaluated; those bits per character are by the average of the weights.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.machine import machine_facts
from dragoman.bench.rounds import LINEAR_PRODUCTS, OURS, PRODUCTS, ratios
from dragoman.tasks import components, decisions
from dragoman.tasks.configuration import configuration
from dragoman.tasks.task import find_task

TOLERANCE = 1e-4


class Setup:
    """What all contenders share, made from the same settings in every process."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given, self.task = given, find_task("language-model")
        asked = configuration(given)
        corpus = self.task.open_corpus(self.task.data_settings(asked, None))
        self.dataset = self.task.prepare(corpus, asked)
        settings = decisions.choose_size(given, self.dataset, None)
        self.settings = decisions.plan_schedule(settings, self.dataset, lambda text: None)[0]
        self.stream = self.task.batches(self.settings, self.dataset)
        self.schedule = components.schedule(self.settings.optimizer)

    def network(self) -> Any:
        architecture = self.task.architectures[self.settings.architecture]
        sizes = self.task.sizes(self.dataset.encoders)
        return architecture.build(
            architecture.configured(self.settings.network.model_dump(), sizes), self.settings.seed
        )

    def validation(self) -> Iterator[Any]:
        yield from self.task.fixed_batches(self.settings, self.dataset.part("validation"))

    @property
    def bits(self) -> float:
        """Bits per character of an error of 1."""
        first, last = self.dataset.about["bounds"][1:3]
        return (last - first) / self.dataset.about["characters"]["validation"] / math.log(2)


class Ours:
    def __init__(self, setup: Setup, threads: int) -> None:
        from dragoman.engines.compute import fast_compute
        from dragoman.training.step import TrainingStep
        from dragoman.training.workers import Workers, keep_freed_memory

        keep_freed_memory()
        self.compute = fast_compute()
        self.compute.__enter__()
        s = setup.settings
        self.setup, self.network, self.workers = setup, setup.network(), Workers(threads)
        index = components.loss_index(s.loss, setup.task.error(s, setup.dataset))
        step_settings = components.step_settings(s.optimizer, s.seed)
        self.step = TrainingStep(self.network, components.optimizer(s.optimizer), index, self.workers, step_settings)

    def first_error(self) -> float:
        from dragoman.loss import LossIndex

        stream = self.setup.task.batches(self.setup.settings, self.setup.dataset)
        return LossIndex().evaluate(self.network, next(stream)).error

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step.take([next(self.setup.stream)], self.setup.schedule)

    def evaluate(self) -> float:
        from dragoman.training.averaging import averaged
        from dragoman.training.validation import Validation

        with averaged(self.network.theta, self.step.average):
            return Validation(self.setup.validation).evaluate(self.network, self.workers).error


class Torch:
    def __init__(self, setup: Setup, threads: int, form: str) -> None:
        from language_model_twins import RecurrentTwin, TorchTraining, TransformerTwin

        self.setup, s = setup, setup.settings
        ours = setup.network()
        weights = {name: np.ascontiguousarray(view) for name, view in ours.named_arrays()}
        if ours.configuration.model_dump().get("tied") == "output":
            weights["output.weights"] = weights["embedding.table"].T
        c = ours.configuration.model_dump()
        if s.architecture == "transformer":
            network: Any = TransformerTwin(c, weights, form, setup.dataset.schema.context)
        else:
            network = RecurrentTwin(c, weights)
        self.training = TorchTraining(network, s.optimizer.model_dump(), threads)

    def _arrays(self, batch: Any) -> tuple[Any, Any, Any]:
        shape = (len(batch), -1)
        return (
            batch.labels.reshape(shape).astype(np.int64),
            batch.targets.reshape(shape).astype(np.int64),
            batch.continues,
        )

    def first_error(self) -> float:
        stream = self.setup.task.batches(self.setup.settings, self.setup.dataset)
        kept, self.training.average = self.training.average, [p.detach().clone() for p in self.training.parameters]
        found = self.training.evaluate([self._arrays(next(stream))])
        self.training.average = kept
        return found

    def steps(self, count: int) -> None:
        for _ in range(count):
            labels, targets, continues = self._arrays(next(self.setup.stream))
            self.training.step(labels, targets, self.setup.schedule(self.training.t + 1), continues)

    def evaluate(self) -> float:
        even = [batch for batch in self.setup.validation() if len(set(batch.lengths.tolist())) == 1]
        return self.training.evaluate([self._arrays(batch) for batch in even])


class Products:
    """The matrix products of our step: y = x W, dx = dy W', dW = x' dy of every layer, shard by shard.

    attention  whether those inside attention are among them
    """

    def __init__(self, setup: Setup, threads: int, attention: bool) -> None:
        from threadpoolctl import threadpool_limits

        from dragoman.bench.contenders import Buffers, attention_products
        from dragoman.engines import use_fastest
        from dragoman.training.workers import Workers

        threadpool_limits(1)
        use_fastest()
        self.workers = Workers(threads)
        shards, c = next(setup.stream).shards(threads), setup.network().configuration
        self.layers = [self._layers(c, len(shard.labels)) for shard in shards]
        if attention:
            self.layers = [
                layers + attention_products(c, shard) for layers, shard in zip(self.layers, shards, strict=True)
            ]
        self.buffers = [Buffers([self.layers], number) for number in range(len(shards))]

    def _layers(self, c: Any, rows: int) -> list[tuple[int, int, int]]:
        if not hasattr(c, "units"):
            d, k = c.depth, c.perceptron_depth
            each = [(rows, d, 3 * d), (rows, d, d), (rows, d, k), (rows, k, d)]
            return [*each * c.layers, (rows, d, c.vocabulary)]
        blocks = {"lstm": 4, "gru": 3, "rnn": 1}[c.cell]
        widths = [c.depth] + [c.units] * (c.layers - 1)
        each = [layer for w in widths for layer in ((rows, w, blocks * c.units), (rows, c.units, blocks * c.units))]
        return [*each, (rows, c.units, c.vocabulary)]

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.workers.map(lambda pair: pair[0].multiply(pair[1]), list(zip(self.buffers, self.layers, strict=True)))


def serve(contender: str, given: dict[str, Any], threads: int) -> None:
    """Answer requests, one per line: "first", "evaluate", or a number of steps to time."""
    setup, (name, _, form) = Setup(given), contender.partition(" ")
    made: Any = Ours(setup, threads) if name == OURS else None
    if name == PRODUCTS:
        made = Products(
            setup, threads, attention=contender == PRODUCTS and setup.settings.architecture == "transformer"
        )
    made = made or Torch(setup, threads, form)
    for line in sys.stdin:
        request, started, processor = json.loads(line), time.perf_counter(), time.process_time()
        found: Any = None
        if request == "first":
            found = made.first_error()
        elif request == "evaluate":
            found = made.evaluate() * setup.bits
        else:
            made.steps(request)
            found = [time.perf_counter() - started, time.process_time() - processor]
        print(json.dumps(found), flush=True)


class Contender:
    """A process that runs `serve`."""

    def __init__(self, name: str, given: dict[str, Any], threads: int) -> None:
        command = [sys.executable, __file__, "--serve", name, json.dumps(given), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request: str | int) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("a contender ended with an error, printed above")
        return json.loads(answer)

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def measure(architecture: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    given = {
        "task": "language-model",
        "architecture": architecture,
        "preset": arguments.preset,
        "seed": arguments.seed,
        "data": {"files": [arguments.text], "context": arguments.context, "tokenizer": arguments.tokenizer},
        "optimizer": {"batch": arguments.batch} | ({} if arguments.rate is None else {"rate": arguments.rate}),
        "stopping": {"steps": arguments.steps},
    }
    peers = ["torch relative", "torch learned"] if architecture == "transformer" else ["torch"]
    products = [PRODUCTS, LINEAR_PRODUCTS] if architecture == "transformer" else [PRODUCTS]
    names = [name for name in (OURS, *peers, *products) if name in (arguments.contenders or [name])]
    with ExitStack() as stack:
        contenders = {name: stack.enter_context(Contender(name, given, arguments.threads)) for name in names}
        first = contenders[OURS].ask("first")
        same = contenders[peers[0]].ask("first")
        if not math.isclose(first, same, rel_tol=TOLERANCE):
            raise SystemExit(f"{OURS} and {peers[0]} do not compute the same error: {first:.6f} and {same:.6f}")
        rounds = arguments.steps // arguments.block
        seconds: dict[str, list[float]] = {name: [] for name in names}
        processor: dict[str, list[float]] = {name: [] for name in names}
        for turn in range(rounds):
            for name in names if turn % 2 == 0 else names[::-1]:
                if name in products and turn == 0:
                    contenders[name].ask(2)
                wall, cpu = contenders[name].ask(arguments.block)
                seconds[name].append(wall)
                processor[name].append(cpu)
                time.sleep(0.05)
        warm = {name: times[1:] or times for name, times in seconds.items()}  # the first turn compiles and warms up
        warm_cpu = {name: times[1:] or times for name, times in processor.items()}
        for name in names:
            least, median, quartiles = ratios(warm, name)
            yield {
                "architecture": architecture,
                "preset": arguments.preset,
                "contender": name,
                "step_ms": float(np.median(warm[name])) / arguments.block * 1e3,
                "median": median,
                "least": least,
                "quartiles": quartiles,
                "cpu_ratio": ratios(warm_cpu, name)[1],
                "bits_per_character": None if name in products else contenders[name].ask("evaluate"),
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?")
    parser.add_argument("--architectures", default="transformer,lstm,gru")
    parser.add_argument("--preset", default="medium")
    parser.add_argument("--tokenizer", default="characters")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int, default=0, help="of first weights and order of the batches")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--block", type=int, default=20, help="steps of a turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--contenders",
        type=lambda names: names.split(","),
        help="some of dragoman, torch relative, torch learned, torch, gemm; the first peer must be among them",
    )
    parser.add_argument("--json", type=Path, help="write all rows to a file")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        contender, given, threads = arguments.serve
        serve(contender, json.loads(given), int(threads))
        return 0
    if arguments.text is None:
        parser.error("name a text")
    facts, rows = machine_facts(arguments.threads), []
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f}, {facts['versions']}, {facts['commit']}")
    print(f"{Path(arguments.text).name}, {arguments.steps} steps of {arguments.batch} x {arguments.context} tokens\n")
    print("| architecture | contender | bits/char | ms a step | median ratio | quartiles | least | cpu ratio |")
    print("|---|" + 7 * "---|")
    for architecture in arguments.architectures.split(","):
        for row in measure(architecture, arguments):
            rows.append(row)
            bits = "" if row["bits_per_character"] is None else f"{row['bits_per_character']:.4f}"
            low, high = row["quartiles"]
            print(
                f"| {architecture} {arguments.preset} | {row['contender']} | {bits} | {row['step_ms']:.1f} | "
                f"{row['median']:.2f} | {low:.2f} to {high:.2f} | {row['least']:.2f} | {row['cpu_ratio']:.2f} |",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": facts, "rows": rows}, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
