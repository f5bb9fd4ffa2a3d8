"""Dragoman beside the real LibreTranslate, and the npm packages for LibreTranslate against Dragoman.

    python benchmarks/libretranslate.py EN-ES ES-EN --libretranslate VENV [--out docs/libretranslate-comparison.md]

EN-ES and ES-EN are model directories of `dragoman train`. VENV is an environment that has LibreTranslate:

    python -m venv VENV; VENV/bin/pip install torch==2.13.0; VENV/bin/pip install libretranslate==1.9.6

Every request of benchmarks/libretranslate_requests.py goes to both servers. Statuses, shapes of JSON and messages are
compared, and the values where both have the same. Language packages are not installed: Dragoman translates for
LibreTranslate too (benchmarks/libretranslate_peer.py). Needs node and npm, which installs the packages in a temporary
directory. Exits with 1 if an answer differs without a reason in the table, or a package does not work.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx
from libretranslate_answers import Answer
from libretranslate_requests import CHARACTERS, KEY, RATE, REQUESTS, TOKEN, Asked

HERE = Path(__file__).parent
PACKAGES = {"libretranslate": "1.0.1", "libretranslate-ts": "0.5.12", "translate": "3.1.0"}
START = 180.0  # seconds in which a server answers
SCRIPT = HERE / "libretranslate_npm.mjs"


@contextmanager
def running(command: Sequence[str | Path], port: int, directory: str, **variables: str) -> Iterator[str]:
    """A server in a process of its own; yields its address when it is ready, or refuses to say so too often."""
    url, log = f"http://127.0.0.1:{port}", Path(directory) / f"{port}.log"
    with log.open("wb") as out:
        environment = {**os.environ, **variables}
        process = subprocess.Popen(list(map(str, command)), cwd=directory, env=environment, stdout=out, stderr=out)
    try:
        _wait(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{url}/health").status_code in (200, 429):
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{url} does not answer:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def all_servers(models: Sequence[Path], venv: Path) -> Iterator[dict[tuple[str, str], str]]:
    """Addresses by name and kind of server."""
    dragoman = [Path(sys.executable).with_name("dragoman"), "serve", *(model.resolve() for model in models)]
    peer = [(venv / "bin" / "python").absolute(), "-P", HERE.resolve() / "libretranslate_peer.py"]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())

        def start(command: Sequence[str | Path], *options: str, **variables: str) -> str:
            port = free_port()
            return stack.enter_context(running([*command, *options, "--port", str(port)], port, folder, **variables))

        limit = ("--characters", str(CHARACTERS))
        ours = start(dragoman, *limit)
        locked_options = (*limit, "--suggestions", "suggestions.jsonl", "--metrics")
        locked = start(dragoman, *locked_options, DRAGOMAN_API_KEYS=KEY, DRAGOMAN_METRICS_TOKEN=TOKEN)
        limits = ("--char-limit", str(CHARACTERS), "--alternatives-limit", "3")
        theirs = start([*peer, ours], *limits)
        (Path(folder) / "db").mkdir(exist_ok=True)
        (Path(folder) / "keys.db").touch()
        manage = [
            venv.absolute() / "bin" / "ltmanage",
            "keys",
            "--api-keys-db-path",
            "keys.db",
            "add",
            "1000",
            "--key",
            KEY,
        ]
        subprocess.run(manage, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        keyed = ("--api-keys", "--api-keys-db-path", "keys.db", "--require-api-key-origin", "^https://nowhere$")
        shown = ("--suggestions", "--metrics", "--metrics-auth-token", TOKEN)
        yield {
            ("dragoman", "open"): ours,
            ("dragoman", "locked"): locked,
            ("dragoman", "slow"): start(dragoman, "--rate", str(RATE)),
            ("libretranslate", "open"): theirs,
            ("libretranslate", "locked"): start([*peer, ours], *limits, *keyed, *shown),
            ("libretranslate", "slow"): start([*peer, ours], "--req-limit", str(RATE)),
        }


def compare(asked: Asked, servers: dict[tuple[str, str], str]) -> tuple[str, Answer, Answer]:
    """What the comparison says, and the two answers."""
    found = []
    for name in ("libretranslate", "dragoman"):
        with httpx.Client(timeout=120) as client:
            for _ in range(asked.times):
                response = client.request(asked.method, servers[name, asked.server] + asked.path, **asked.options)
        found.append(Answer.of(response))
    theirs, ours = found
    if (theirs.status, theirs.shape) != (ours.status, ours.shape):
        return asked.why or "DIFFERENT", theirs, ours
    return "same" if theirs.value == ours.value else "same form", theirs, ours


def npm_clients(url: str) -> dict[str, Any]:
    """What the npm packages make of a server's answers."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{name}@{version}" for name, version in PACKAGES.items()]
        quiet = ["--silent", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *quiet, *names], cwd=folder, check=True)
        shutil.copy(SCRIPT, Path(folder) / "run.mjs")  # beside the packages that it imports
        done = subprocess.run(["node", "run.mjs", url], cwd=folder, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def works(name: str, value: Any) -> bool:
    """A package works if it gives its result, or the error that it should."""
    if "unknown" in name or "unserved" in name:
        return "is not supported" in json.dumps(value)
    failed = isinstance(value, dict) and (value.get("thrown") or value.get("error"))
    return bool(value) and not failed


def report(rows: Sequence[tuple[Asked, str, Answer, Answer]], npm: dict[str, Any], version: str) -> str:
    def cell(text: object) -> str:
        return str(text).replace("|", "\\|").replace("\n", " ")

    counts = {word: sum(row[1] == word for row in rows) for word in ("same", "same form", "DIFFERENT")}
    reasons = len(rows) - sum(counts.values())
    lines = [
        "# Dragoman and LibreTranslate, answer by answer",
        "",
        f"Written by `benchmarks/libretranslate.py` on {date.today()}; LibreTranslate {version}, {len(rows)} requests.",
        "Language packages of LibreTranslate were not installed: Dragoman's models translate for both servers.",
        "Compared are the HTTP API, the detection of languages, HTML and files, not the quality of translations.",
        "",
        f"- the same answer, to the letter: {counts['same']}",
        f"- the same status and form, other values: {counts['same form']}",
        f"- different, for the reason given: {reasons}",
        f"- different without a reason: {counts['DIFFERENT']}",
        "",
        "| request | LibreTranslate | Dragoman | |",
        "|---|---|---|---|",
    ]
    for asked, said, theirs, ours in rows:
        both = [f"{answer.status} {cell(answer.shape)}" for answer in (theirs, ours)]
        if said == "same":
            both[1], said = "the same", ""
        if said == "same form":
            both = [f"{one.status} `{cell(json.dumps(one.value, ensure_ascii=False))}`" for one in (theirs, ours)]
        title = asked.title if asked.server == "open" else f"{asked.title} ({asked.server})"
        lines.append(f"| {cell(title)} | {both[0]} | {both[1]} | {cell(said)} |")
    lines += ["", "## npm packages, unchanged, against Dragoman", "", "| call | result | |", "|---|---|---|"]
    for name, value in npm.items():
        text = json.dumps(value, ensure_ascii=False)
        lines.append(f"| {name} | `{cell(text)}` | {'works' if works(name, value) else 'FAILS'} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs=2, type=Path, metavar="MODEL")
    parser.add_argument("--libretranslate", type=Path, required=True, metavar="VENV")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "libretranslate-comparison.md")
    given = parser.parse_args()
    asked_version = "from importlib.metadata import version; print(version('libretranslate'))"
    python = given.libretranslate / "bin" / "python"
    version = subprocess.run([python, "-c", asked_version], check=True, capture_output=True, text=True).stdout.strip()
    with all_servers(given.models, given.libretranslate) as servers:
        rows = [(asked, *compare(asked, servers)) for asked in REQUESTS]
        npm = npm_clients(servers["dragoman", "open"])
    given.out.write_text(report(rows, npm, version), encoding="utf-8")
    wrong = [row[0].title for row in rows if row[1] == "DIFFERENT"]
    wrong += [name for name, value in npm.items() if not works(name, value)]
    print(f"{len(rows)} requests compared, {len(npm)} calls of npm packages; written to {given.out}")
    if wrong:
        raise SystemExit(f"not as they should be: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
