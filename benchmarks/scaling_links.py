"""Network namespaces on this machine, joined by a bridge, each with a link of limited bandwidth. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
INTERFACE = "eth0"
BURST = 1e-3  # seconds at full speed that a link may send at once
LEAST_BURST = 128 * 1024  # bytes; two of the largest packets that TCP hands to a link


def run(*arguments: str) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()} (namespaces and links need root)")


class Links:
    """Namespaces with the addresses 10.99.0.1, 10.99.0.2 ..."""

    def __init__(self, count: int) -> None:
        self.hub = f"dragoman-{os.getpid()}"
        self.names = [f"{self.hub}-{i}" for i in range(count)]
        self.bandwidth = 0.0

    def add(self) -> None:
        for name in (self.hub, *self.names):
            run("ip", "netns", "add", name)
        run("ip", "-n", self.hub, "link", "add", "name", "bridge", "type", "bridge")
        run("ip", "-n", self.hub, "link", "set", "bridge", "up")
        for i, name in enumerate(self.names):
            port = f"port{i}"
            run(
                "ip",
                "-n",
                self.hub,
                "link",
                "add",
                "name",
                port,
                "type",
                "veth",
                "peer",
                "name",
                INTERFACE,
                "netns",
                name,
            )
            run("ip", "-n", self.hub, "link", "set", port, "master", "bridge", "up")
            run("ip", "-n", name, "address", "add", f"{self.address(i)}/24", "dev", INTERFACE)
            run("ip", "-n", name, "link", "set", INTERFACE, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")

    def remove(self) -> None:
        for name in (*self.names, self.hub):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False, env={"PATH": PATH})

    @staticmethod
    def address(i: int) -> str:
        return f"10.99.0.{i + 1}"

    def within(self, i: int) -> list[str]:
        """What to put before a command that is to run in a namespace."""
        return ["ip", "netns", "exec", self.names[i]]

    def limit(self, bandwidth: float) -> None:
        """Let every namespace send so many bits per second."""
        if bandwidth == self.bandwidth:
            return
        burst = max(LEAST_BURST, int(BURST * bandwidth / 8))
        for name in self.names:
            run(
                "tc", "-n", name, "qdisc", "replace", "dev", INTERFACE, "root", "tbf",
                "rate", f"{bandwidth:.0f}bit", "burst", str(burst), "latency", "50ms",
            )  # fmt: skip
        self.bandwidth = bandwidth


@contextmanager
def links(count: int) -> Iterator[Links]:
    made = Links(count)
    try:
        made.add()
        yield made
    finally:
        made.remove()
