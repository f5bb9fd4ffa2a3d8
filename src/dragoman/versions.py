"""Refuses installed packages that are known to fail, where the package manager did not."""

from __future__ import annotations

import re

from dragoman.errors import VersionError

FAILING = {  # package: the lowest version that works, as in pyproject.toml, and what older ones do
    "numba": ("0.62.1", "abort the process while kernels compile"),
    "typer": ("0.15.4", "end every command with a traceback"),
}


def refuse_failing(package: str, installed: str) -> None:
    """Raise an error if this version of a package is known to fail."""
    lowest, failure = FAILING[package]
    if _numbers(installed) < _numbers(lowest):
        raise VersionError(
            f"{package} {installed} is installed, and versions before {lowest} {failure}; "
            f"pip install '{package}>={lowest}'"
        )


def _numbers(version: str) -> list[int]:
    """The leading numbers of a version: 0.62.0rc1 is [0, 62, 0]."""
    return [int(number) for number in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]
