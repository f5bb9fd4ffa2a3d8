"""The servers of benchmarks/serving.py: started, asked, watched and stopped."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PEER = Path(__file__).with_name("serving_peer.py")
START = 120.0  # seconds in which a server is ready
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def peer_settings(cores: int) -> list[tuple[int, int, int]]:
    """Processes, translations beside each other in each of them (inter_threads), threads of each (intra_threads)."""
    return sorted({(1, cores, 1), (1, 1, cores), (cores, 1, 1)})


class Server:
    """A running server."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], port: int) -> None:
        self.name, self.process, self.port = name, process, port

    def processes(self) -> list[int]:
        """The first process, and those it started."""
        parents = {int(place.name): _parent(place) for place in Path("/proc").glob("[0-9]*")}
        found = [self.process.pid]
        for number in found:
            found += [child for child, parent in parents.items() if parent == number]
        return found

    def cpu_seconds(self) -> dict[str, float]:
        """What the front process has used, and all others together."""
        used = [_fields(number) for number in self.processes()]
        times = [(int(fields[11]) + int(fields[12])) / TICKS for fields in used]
        return {"front": times[0], "worker": sum(times[1:])}

    def memory(self) -> int:
        """Resident bytes of all processes."""
        return sum(PAGE * int(_fields(number)[21]) for number in self.processes())

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = json.dumps({"q": list(texts), "source": source, "target": target})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "translatedText" not in answer:
            raise SystemExit(f"{self.name} does not translate: {answer}")
        found: list[str] = answer["translatedText"]
        return found


def _fields(number: int) -> list[str]:
    """What the system says of a process, after its name."""
    return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def _parent(place: Path) -> int:
    try:
        return int(_fields(int(place.name))[1])
    except OSError:  # it has ended
        return 0


def converted(model: Path, directory: Path) -> None:
    """Write a CTranslate2 model with the weights of ours."""
    subprocess.run([sys.executable, str(PEER), "convert", str(model), str(directory)], check=True)


@contextmanager
def dragoman_server(model: Path, languages: str, options: Sequence[str]) -> Iterator[Server]:
    port = _free_port()
    command = ["-m", "dragoman", "serve", str(model), "--port", str(port), "--languages", languages, *options]
    with _running("dragoman", command, port, "/health") as server:
        yield server


@contextmanager
def peer_server(model: Path, directory: Path, setting: tuple[int, int, int]) -> Iterator[Server]:
    port = _free_port()
    command = [str(PEER), "serve", str(model), str(directory), str(port), *map(str, setting)]
    with _running("ctranslate2", command, port, "/docs") as server:
        yield server


@contextmanager
def _running(name: str, command: Sequence[str], port: int, path: str) -> Iterator[Server]:
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, *command], stdout=log, stderr=log)
        try:
            until = time.monotonic() + START
            while not _answers(port, path):
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise SystemExit(f"{name} did not start:\n{log.read().decode(errors='replace')}")
                time.sleep(0.2)
            yield Server(name, process, port)
        finally:
            process.terminate()
            process.wait(30)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
