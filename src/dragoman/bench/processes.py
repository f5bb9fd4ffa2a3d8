"""Start a process for each contender and send it requests."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from dragoman.bench.rounds import AGAINST, OURS
from dragoman.errors import ConfigurationError, DragomanError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
TAIL = 15  # lines of a failed process's standard error to show


class ContenderError(DragomanError):
    """A contender failed at a request, or its results are wrong."""


def check_installed(module: str, how: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ConfigurationError(f"{module} is not installed; the benchmark compares Dragoman with it: {how}")


class Process:
    """The process of one contender; closed when the context ends."""

    def __init__(self, name: str, directory: Path, threads: int | None, variables: Mapping[str, str]) -> None:
        """variables  of the environment; the contender AGAINST is Dragoman as $PYTHONPATH has it"""
        self.name = name
        contender = OURS if name == AGAINST else name
        if name != AGAINST:
            variables = {key: value for key, value in variables.items() if key != "PYTHONPATH"}
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        kept = {key: value for key, value in os.environ.items() if threads or key not in THREAD_VARIABLES}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dragoman.bench.worker", contender, str(directory), str(threads or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
            env={**kept, **variables},
        )

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line or '{"failed": "its process ended"}')
        if "failed" in answer:
            self.log.seek(0)
            last = "".join(self.log.readlines()[-TAIL:])
            raise ContenderError(f"{self.name} failed at '{do}': {answer['failed']}\n{last}".rstrip())
        return answer

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def start_processes(
    names: list[str], directory: Path, threads: int | None, variables: Mapping[str, str]
) -> Iterator[dict[str, Process]]:
    """Start a process for each name; all are closed when the context ends."""
    processes: dict[str, Process] = {}
    try:
        for name in names:
            processes[name] = Process(name, directory, threads, variables)
        for process in processes.values():
            process.ask("memory")  # wait until all have started
        yield processes
    finally:
        for process in processes.values():
            process.close()


def first_step(name: str, directory: Path, threads: int | None, variables: Mapping[str, str]) -> float:
    """Time a process from its start to the end of its first training step."""
    start = time.perf_counter()
    with Process(name, directory, threads, variables) as process:
        process.ask("steps", count=1)
        return time.perf_counter() - start
