"""Run something in several processes under torchrun, and find and kill single ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LONGEST = 240.0  # seconds; a launch takes five on a quiet machine
STANDALONE = ("--standalone", "--local-addr", "127.0.0.1")
DRAGOMAN = ("-m", "dragoman")


class Launch:
    """torchrun and its ranks; what they print goes to a file."""

    def __init__(
        self,
        arguments: Sequence[object],
        options: Sequence[str] = STANDALONE,
        ranks: int = 2,
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        command = [*prefix, sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), *options]
        self._file = tempfile.NamedTemporaryFile("w+b", prefix="torchrun-")  # noqa: SIM115
        self.command = [*command, *map(str, arguments)]
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
            cwd=ROOT,
        )

    @property
    def output(self) -> str:
        return Path(self._file.name).read_text(encoding="utf-8", errors="replace")

    def ranks(self) -> dict[int, int]:
        """The process of each rank that runs now."""
        found = {}
        for process in children(self.process.pid):
            variables = environment_of(process)
            if "RANK" in variables:
                found[int(variables["RANK"])] = process
        return found

    def wait(self, longest: float = LONGEST) -> int:
        """The exit code; a launch that takes too long fails the test."""
        try:
            return self.process.wait(longest)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {longest:g} s: {self}") from None

    def finish(self, longest: float = LONGEST) -> str:
        """Wait for a launch that must succeed; return what it printed."""
        assert self.wait(longest) == 0, str(self)
        return self.output

    def wait_until(self, condition: Callable[[], object], longest: float = LONGEST) -> None:
        """Wait while the ranks work."""
        end = time.monotonic() + longest
        while not condition():
            assert self.process.poll() is None, f"ended too early: {self}"
            assert time.monotonic() < end, f"nothing happened for {longest:g} s: {self}"
            time.sleep(0.005)

    def kill(self) -> None:
        """End all that is left of it."""
        processes = [*self.ranks().values(), self.process.pid] if self.process.poll() is None else []
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        self._file.close()

    def __str__(self) -> str:
        return f"{' '.join(self.command)}\nexit code {self.process.poll()}\n{self.output}"


ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    "PYTHONUNBUFFERED": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}


@contextmanager
def launched(
    *arguments: object,
    options: Sequence[str] = STANDALONE,
    ranks: int = 2,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Launch]:
    """A launch that does not outlive the test."""
    launch = Launch(arguments, options, ranks, environment, prefix)
    try:
        yield launch
    finally:
        launch.kill()


def children(process: int) -> list[int]:
    """All processes that a process has started, and those that they have started."""
    found = []
    try:
        direct = [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    for child in direct:
        found += [child, *children(child)]
    return found


def environment_of(process: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{process}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line)
