"""The process of one contender: python -m dragoman.bench.worker CONTENDER DIRECTORY THREADS

It reads one request per line and writes one answer per line, both JSON:
    check                   {"error", "norm"} of the first batch, without dropout
    steps, count            {"seconds"} of this many training steps
    epoch                   {"seconds", "tokens"} of an epoch over the dataset beside the material (Dragoman only)
    decode, method, batch, count, times, show   {"seconds"} for this many sentences, and their {"labels"} with `show`
    memory                  {"bytes"}: peak memory of this process, imports included
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.bench.material import Material
from dragoman.bench.rounds import LINEAR_PRODUCTS, PRODUCTS


def make_contender(name: str, material: Material, threads: int | None) -> Any:
    """Create a contender; its library is imported here only, in its own process."""
    if name == "dragoman":
        from dragoman.bench.contenders import Ours

        return Ours(material, threads)
    if name in (PRODUCTS, LINEAR_PRODUCTS):
        from dragoman.bench.contenders import MatrixProducts

        return MatrixProducts(material, threads, attention=name == PRODUCTS)
    if name in ("torch", "torch.compile"):
        from dragoman.bench.torch_worker import Torch

        return Torch(material, threads, compiled=name == "torch.compile")
    from dragoman.bench.ctranslate2_worker import CTranslate2

    return CTranslate2(material, threads, name.removeprefix("ctranslate2-"))


def peak_memory() -> int:
    """Return the peak memory in bytes. On Linux ru_maxrss includes memory of the parent before exec; VmHWM does not."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def answer(contender: Any, request: dict[str, Any]) -> dict[str, Any]:
    what = request["do"]
    if what == "check":
        error, norm = contender.check()
        return {"error": error, "norm": norm}
    if what == "steps":
        seconds, _ = timed(lambda: contender.steps(request["count"]))
        return {"seconds": seconds}
    if what == "epoch":
        seconds, tokens = timed(contender.epoch)
        return {"seconds": seconds, "tokens": tokens}
    if what == "decode":
        question = request["method"], request["batch"], request["count"]
        seconds, labels = timed(lambda: [contender.decode(*question) for _ in range(request.get("times", 1))][-1])
        return {"seconds": seconds, "labels": labels if request.get("show") else None}
    return {"bytes": peak_memory()}


class Failed(dict[str, str]):
    """The answer to a request that failed."""


def attempt(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        traceback.print_exc()
        return Failed(failed=f"{type(error).__name__}: {error}")


def main() -> None:
    name, directory, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keep what libraries print out of the answers
    made = attempt(lambda: make_contender(name, Material(Path(directory)), int(threads) or None))
    for line in sys.stdin:
        reply = made if isinstance(made, Failed) else attempt(partial(answer, made, json.loads(line)))
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
