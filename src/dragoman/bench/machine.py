"""Describe the machine that a benchmark ran on."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from dragoman import __version__
from dragoman.engines import ENGINES, VARIABLE
from dragoman.training.workers import physical_cores

PACKAGES = ("numpy", "numba", "torch", "ctranslate2")
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}
BUSY = 0.5  # load average of the last minute above which other processes disturb the measurement


def machine_facts(threads: int | None) -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": physical_cores(),
        "threads": threads or physical_cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "dragoman": __version__,
        "engine": os.environ.get(VARIABLE, ENGINES[0]),
        "commit": commit(),
        "blas": sorted({f"{found['internal_api']} {found['version']}" for found in threadpool_info()}),
        "versions": {name: version(name) for name in PACKAGES},
        "load": load(),
    }


def cpu_model(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the CPU and, where known, its widest vector instructions: names do not always tell."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = known.get("model name") or platform.processor() or platform.machine()
    features = known.get("flags", "").split()
    vectors = next((name for feature, name in VECTORS.items() if feature in features), None)
    return name if vectors is None else f"{name} ({vectors})"


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit() -> str | None:
    """Return the commit of this checkout, marked if files have changed since; None outside a checkout."""
    here = Path(__file__).parents[1]

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True, timeout=20)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    if git("ls-files", "__init__.py") != "__init__.py":  # installed inside another repository
        return None
    found = git("rev-parse", "HEAD")
    return f"{found} (changed since)" if found and git("status", "--porcelain", "-uno") else found


def load() -> float | None:
    """Return the load average of the last minute; above about 0 before a measurement, other processes are running."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
