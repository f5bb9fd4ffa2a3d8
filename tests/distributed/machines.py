"""Two network namespaces with a cable between them, which stand in for two machines."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.distributed.launch import Launch, launched

IP = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")


def ip(*arguments: str) -> None:
    done = subprocess.run([str(IP), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def why_not() -> str | None:
    """Why there can be no namespaces here, or None."""
    if IP is None:
        return "there is no command ip (iproute2)"
    name = f"dragoman-try-{os.getpid()}"
    done = subprocess.run([IP, "netns", "add", name], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"network namespaces are not permitted here: {done.stderr.strip()}"
    ip("netns", "delete", name)
    return None


class TwoMachines:
    """Two namespaces, each with one end of a cable."""

    def __init__(self) -> None:
        number = os.getpid()
        self.names = [f"dragoman-{number}-{i}" for i in (0, 1)]
        self.ends = [f"dm{number}.{i}" for i in (0, 1)]
        self.addresses = ["10.99.0.1", "10.99.0.2"]

    def build(self) -> None:
        ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1])
        for name, end, address in zip(self.names, self.ends, self.addresses, strict=True):
            ip("netns", "add", name)
            ip("link", "set", end, "netns", name)
            ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "link", "set", "lo", "up")

    def remove(self) -> None:
        for name in self.names:
            if Path("/run/netns", name).exists():
                ip("netns", "delete", name)  # its end of the cable goes with it

    def cut(self) -> None:
        """Take the cable out."""
        ip("-n", self.names[1], "link", "set", self.ends[1], "down")

    @contextmanager
    def launched(self, arguments: Sequence[object], timeout: float = 60) -> Iterator[list[Launch]]:
        """One rank on each machine; they meet at the first."""
        with socket.socket() as found:
            found.bind(("", 0))
            port = str(found.getsockname()[1])
        meeting = ("--nnodes", "2", "--master-addr", self.addresses[0], "--master-port", port)
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    launched(
                        *arguments,
                        options=(*meeting, "--node-rank", str(number)),
                        ranks=1,
                        environment={"GLOO_SOCKET_IFNAME": end, "DRAGOMAN_RANK_TIMEOUT": f"{timeout:g}"},
                        prefix=(str(IP), "netns", "exec", name),
                    )
                )
                for number, (name, end) in enumerate(zip(self.names, self.ends, strict=True))
            ]
