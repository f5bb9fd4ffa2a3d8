"""What things cost on this machine now: printed side by side, never compared as equal."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.manifest import commands, corpora, inner, models, server

CLIENTS, SECONDS = 16, 5.0
# put before everything else on the path of a server: notes the sentences of every batch that a worker begins
SITE = """
import importlib.abc, importlib.util, os, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != {module!r}:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def counted(module):
            execute(module)
            original = getattr(module, {function!r})

            def count(model, taken):
                with open({log!r}, "a") as file:
                    print(len(taken), file=file)
                return original(model, taken)

            setattr(module, {function!r}, count)

        spec.loader.exec_module = counted
        return spec

sys.meta_path.insert(0, Finder())
"""


def record() -> Iterator[tuple[str, Any]]:
    yield "microseconds / eager operation", round(eager(), 2)
    for name, command in (
        ("python -c pass", [sys.executable, "-c", "pass"]),
        ("import numpy", [sys.executable, "-c", "import numpy"]),
        ("import dragoman", [sys.executable, "-c", "import dragoman"]),
        ("dragoman --help", [*commands.DRAGOMAN, "--help"]),
        ("dragoman train --help", [*commands.DRAGOMAN, "train", "--help"]),
    ):
        yield f"milliseconds / {name}", round(1000 * least(lambda command=command: timed(command)), 1)
    yield from cold_compilation()
    yield from serving()


def least(run: Callable[[], float], times: int = 5) -> float:
    return min(run() for _ in range(times))


def timed(command: list[str], **more: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        command, env={**os.environ, **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def eager() -> float:
    """Microseconds of one small operation."""
    run, _ = inner.eager_operation()

    def several(count: int = 2000) -> float:
        began = time.perf_counter()
        for _ in range(count):
            run()
        return 1e6 * (time.perf_counter() - began) / count

    return least(several, 9)


def cold_compilation() -> Iterator[tuple[str, Any]]:
    """One step of a Transformer, with no kernel in the cache and then with all."""
    command = [*commands.DRAGOMAN, "train", *models.arguments("translation", "transformer", "stopping.steps=1")]
    cache = {"NUMBA_CACHE_DIR": str(Path("numba").resolve())}
    for name in ("cold", "warm"):
        yield f"seconds / train one step, {name} kernels", round(timed([*command, "--out", f"step-{name}"], **cache), 1)


def serving() -> Iterator[tuple[str, Any]]:
    """Memory of the processes of a server, and sentences of a batch, while clients send one sentence at a time."""
    place, log = Path("site").resolve(), Path("batches.txt").resolve()
    place.mkdir(exist_ok=True)
    module, function = inner.BATCHES
    (place / "sitecustomize.py").write_text(SITE.format(module=module, function=function, log=str(log)), "utf-8")
    path = os.pathsep.join([str(place), os.environ["PYTHONPATH"]])
    with server.served(models.answering("translation"), environment={"PYTHONPATH": path}) as running:
        yield "megabytes / serving, before requests", megabytes(running)
        log.write_text("", encoding="utf-8")  # those of the start are not counted
        answered = load(running.port)
        sizes = [int(line) for line in log.read_text(encoding="utf-8").split()]
        yield "megabytes / serving, after requests", megabytes(running)
    yield f"sentences per second / {CLIENTS} clients", round(answered / SECONDS, 1)
    yield f"sentences per batch / {CLIENTS} clients, mean", round(statistics.mean(sizes), 2) if sizes else None
    yield f"sentences per batch / {CLIENTS} clients, median", statistics.median(sizes) if sizes else None


def megabytes(running: server.Served) -> dict[str, float]:
    """Resident memory of the front process and of its worker."""
    kilobytes = []
    for process in running.processes():
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
        kilobytes += [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    return {("front", *("worker",) * 9)[i]: round(each / 1024, 1) for i, each in enumerate(kilobytes)}


def load(port: int) -> int:
    """How many sentences were translated for clients that send the next one when they have their answer."""
    until, counts = time.monotonic() + SECONDS, [0] * CLIENTS

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < until:
            sentence = corpora.PAIRS[(number * 7 + counts[number]) % len(corpora.PAIRS)][0]
            body = json.dumps({"q": sentence, "source": "en", "target": "es"})
            connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            counts[number] += answer.status == 200
        connection.close()

    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return sum(counts)
