"""Ten steps of every task and architecture; threads, ranks, kernels of BLAS, and kills."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.manifest import commands, inner, models, values

# tasks that are also trained in other ways, and sizes at which BLAS computes their products
LARGE = {
    "translation": ("network.depth=128", "network.perceptron_depth=256", "network.heads=4", "optimizer.batch=64"),
    "tagging": ("network.depth=128", "network.units=128", "optimizer.batch=64"),
}
TWO = tuple(LARGE)
STOP = f"stopping.steps={models.STEPS}"
KERNELS = "Sandybridge"  # not those of all other trainings, and for every processor that has those
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
LOCAL = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
# what changes how a step is made: a task, an architecture, assignments
VARIANTS: dict[str, tuple[str, str, list[str]]] = {
    "thesis": ("translation", "transformer", ["recipe=thesis", "data.vocabulary=[150, 160]"]),
    "post-norm": ("translation", "transformer", ["network.block=post"]),
    "accumulated": ("translation", "transformer", ["optimizer.accumulate=2"]),
    "by tokens": ("translation", "transformer", ["optimizer.tokens=120"]),
    "regularized": ("translation", "gru", ["loss.regularization=l2", "loss.coefficient=0.01"]),
    "scheduled sampling": ("translation", "gru-attention", ["optimizer.scheduled_sampling=0.5"]),
    "balanced": ("classification", "bag", ["loss.class_weights=balanced"]),
    "adjusted": ("classification", "bag", ["loss.per_class=true", "loss.clip_logits=5.0"]),
    "scores": ("translation", "transformer", ['progress.scores=["bleu", "chrf"]', "progress.every=5"]),
    "checkpoints averaged": ("translation", "transformer", ["checkpoints.average=2", "progress.every=5"]),
    "carried": ("language-model", "gru", ["data.carried=true"]),
    **{
        f"algorithm {name}": ("regression", "bag", [f"optimizer.algorithm={name}"])
        for name in ("adamw", "momentum", "rmsprop", "adagrad", "gradient_descent")
    },
    **{
        f"schedule {name}": ("regression", "bag", [f"optimizer.schedule={name}"])
        for name in ("thesis", "thesis_as_printed", "plateau", "learned", "constant", "linear")
    },
}


def record() -> Iterator[tuple[str, Any]]:
    for task in inner.tasks().values():
        for architecture in task.architectures:
            for threads in (1, 2):
                name = f"{task.name} / {architecture} / threads {threads}"
                yield name, trained(task.name, architecture, STOP, threads=threads)
    for what, (name, architecture, options) in VARIANTS.items():
        yield f"variants / {what}", trained(name, architecture, STOP, *options, out=f"trained/{what}")
    yield "fine-tuned", fine_tuned()
    yield "kills", killed()
    for name in TWO:
        yield from in_other_ways(name, inner.tasks()[name].architecture)
    for kernels in (None, KERNELS):
        yield f"BLAS kernels / {kernels or 'default'}", blas(kernels)


def in_other_ways(name: str, architecture: str) -> Iterator[tuple[str, Any]]:
    """The definitions instead of kernels, ranks instead of one process, and other kernels of BLAS."""

    def spawned(what: str, command: list[Any], more: dict[str, str], *options: str) -> tuple[str, Any]:
        out = f"trained/{name}-{what.replace(' ', '-')}"
        given = models.arguments(name, architecture, STOP, *options)
        commands.spawn([*command, "train", *given, "--out", out], more)
        return f"{what} / {name}", values.directory(Path(out))

    yield spawned("definitions", commands.DRAGOMAN, {"DRAGOMAN_ENGINE": "numpy"})
    for ranks in (1, 2):
        yield spawned(f"ranks {ranks}", [*TORCHRUN, "--nproc-per-node", ranks, "-m", "dragoman"], LOCAL)
    for engine, kernels in itertools.product(("numba", "numpy"), ("", KERNELS)):
        more = {"DRAGOMAN_ENGINE": engine, **({"OPENBLAS_CORETYPE": kernels} if kernels else {})}
        yield spawned(f"BLAS {kernels or 'default'} {engine}", commands.DRAGOMAN, more, *LARGE[name])


def trained(task: str, architecture: str, *options: str, threads: int = 1, out: str = "") -> dict[str, Any]:
    """A model directory after some steps; on one thread also which path each step took."""
    place = out or f"trained/{task}-{architecture}-{threads}"
    command = ["train", *models.arguments(task, architecture, *options, threads=threads), "--out", place]
    if threads > 1:  # counts of several threads would race
        return {"said": commands.run(*command), **values.directory(Path(place))}
    with inner.paths_counted() as counts:
        said = commands.run(*command)
    return {"said": said, "paths": dict(counts), **values.directory(Path(place))}


def fine_tuned() -> dict[str, Any]:
    """A translator that learns new pairs, with old ones mixed in."""
    base, out = models.answering("translation"), "trained/tuned"
    said = commands.run(
        *("train", "data/noisy.tsv", "--on-bad-line", "skip", "--from", base, "--epochs", "1", "--replay", "20"),
        *("--threads", "1", "--set", "optimizer.batch=16", "--out", out),
    )
    return {"said": said, **values.directory(Path(out))}


def killed() -> Any:
    done = commands.spawn([sys.executable, "-m", "tools.manifest.kills"], {"DRAGOMAN_ENGINE": "numpy"})
    return json.loads(done.stdout.splitlines()[-1])


def blas(kernels: str | None = None) -> str:
    """The kernels that OpenBLAS says it uses."""
    code = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0].get('architecture'))"
    more = {"OPENBLAS_CORETYPE": kernels} if kernels else {}
    return commands.spawn([sys.executable, "-c", code], more).stdout.strip()
