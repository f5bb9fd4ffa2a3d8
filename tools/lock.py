"""Write the locked test environments (requirements): versions, hashes for every platform and Python, no addresses.

`make lock` keeps the versions that still fit pyproject.toml; `make lock UPGRADE=1` takes the newest.
Run inside an environment that has uv.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("formats", "images", "plot", "remote", "serve", "tensorboard")
LOCKS: dict[str, tuple[str, list[str]]] = {
    "test.txt": (
        "the environment of `make test`, but for torch: a machine takes the build for its processor, each has hashes\n"
        "# of its own, and pip accepts hashes for all packages or for none; pyproject.toml pins its version",
        ["--extra=test"],
    ),
    "core.txt": (
        "what the core of the suite (tests/core.txt) needs beside the package, on any Python; without extras",
        ["--extra=test-core", "--constraints=requirements/test.txt"],
    ),
    "lowest.txt": (
        "the lowest versions that pyproject.toml allows, of the package and of its extras, for Python 3.11",
        ["--resolution=lowest-direct", "--extra=test-core", *(f"--extra={extra}" for extra in EXTRAS)],
    ),
}
WITH_TORCH = re.compile(r"(torch|triton|cuda|nvidia)\b")  # torch, and what its builds for graphics cards need


def lock(name: str, says: str, options: list[str]) -> None:
    path = ROOT / "requirements" / name
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate", "--no-header"]
    subprocess.run(
        [*command, "--python-version=3.11", "pyproject.toml", *options, "-o", str(path)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    packages = re.split(r"^(?=\S)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = [package for package in packages if not WITH_TORCH.match(package)]
    path.write_text(f"# Written by `make lock`: {says}.\n" + "".join(kept), encoding="utf-8")


if __name__ == "__main__":
    for file, (meaning, arguments) in LOCKS.items():
        lock(file, meaning, [*arguments, *sys.argv[1:]])
