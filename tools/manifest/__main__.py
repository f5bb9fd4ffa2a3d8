"""Record or compare a manifest: see the package."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from tools.manifest import commands, comparing, corpora, values

SECTIONS = ("settings", "data", "networks", "training", "answers", "costs")  # each is a module with `record()`
SILENT = 5  # seconds after which it is said how far a section has come


def main() -> int:
    parser = argparse.ArgumentParser(prog="manifest", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="record this checkout")
    recording.add_argument("out", type=Path)
    recording.add_argument("--only", default=",".join(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    comparison = actions.add_parser("compare", help="print the differences of two recordings; exit code 1 if any")
    comparison.add_argument("old", type=Path)
    comparison.add_argument("new", type=Path)
    comparison.add_argument("--all", action="store_true", help="show every difference of a section with many")
    alone = actions.add_parser("section", help="one section, in a working directory with the corpora")
    alone.add_argument("name", choices=SECTIONS)
    alone.add_argument("out", type=Path)
    given = parser.parse_args()
    if given.action == "compare":
        return comparing.compare(given.old, given.new, None if given.all else comparing.MOST)
    if given.action == "section":
        return section(given.name, given.out)
    chosen = given.only.split(",")
    if unknown := [name for name in chosen if name not in SECTIONS]:
        parser.error(f"there is no section {unknown[0]}; choose from {', '.join(SECTIONS)}")
    return record(given.out.resolve(), chosen)


def record(out: Path, chosen: list[str]) -> int:
    """Record each section in a process of its own, all in one working directory."""
    out.mkdir(parents=True, exist_ok=True)
    codes = []
    with tempfile.TemporaryDirectory(prefix="manifest-") as work:
        corpora.write_all(Path(work) / "data")
        variables = commands.environment(Path(work))
        where = [sys.executable, "-c", "import dragoman; print(dragoman.__file__)"]
        print(
            "recording", subprocess.run(where, env=variables, cwd=work, capture_output=True, text=True).stdout, end=""
        )
        for name in chosen:
            began = time.perf_counter()
            print(f"{name} ...", flush=True)
            command = [sys.executable, "-m", "tools.manifest", "section", name, str(out / f"{name}.json")]
            codes.append(subprocess.run(command, env=variables, cwd=work, check=False).returncode)
            ended = "" if codes[-1] == 0 else ", with failures"
            print(f"{name}: {time.perf_counter() - began:.0f} s{ended}", flush=True)
    return 1 if any(codes) else 0


def section(name: str, out: Path) -> int:
    """Write everything that a section finds; what fails is recorded as its error."""
    found: dict[str, Any] = {}
    items = importlib.import_module(f"tools.manifest.{name}").record()
    began, failed = time.perf_counter(), False
    try:
        for key, value in items:
            found[key] = values.plain(value)
            if time.perf_counter() - began > SILENT:
                began = time.perf_counter()
                print(f"  {name}: {len(found)} so far, now {key}", flush=True)
    except Exception as error:
        traceback.print_exc()
        found[comparing.FAILED], failed = f"{type(error).__name__}: {error}", True
    out.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
