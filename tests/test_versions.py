"""The locked environments are those that pyproject.toml allows, and what is known to fail is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from dragoman import versions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USERS = ("formats", "images", "plot", "remote", "serve", "tensorboard")
LOCKS = {"test": ("test",), "core": ("test-core",), "lowest": ("test-core", *USERS)}


def direct(extras: tuple[str, ...]) -> list[Requirement]:
    """The requirements of the package and of some extras; torch is pinned without hashes."""
    found, left = list(map(Requirement, PROJECT["dependencies"])), list(extras)
    for extra in left:
        for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
            if requirement.name == "dragoman":
                left += [name for name in requirement.extras if name not in left]
            elif requirement.name != "torch":
                found.append(requirement)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_the_locked_versions_are_allowed_and_have_hashes_but_no_addresses(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|^ *--(?!hash=sha256:)|^torch", text, re.MULTILINE)
    packages = re.split(r"^(?=[\w])", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in package for package in packages)
    locked = [Requirement(package.partition("\\")[0]) for package in packages]
    for requirement in direct(LOCKS[name]):
        for pin in (found for found in locked if found.name.lower() == requirement.name.lower()):
            (version,) = [each.version for each in pin.specifier]
            assert requirement.specifier.contains(version), f"{requirement} is locked to {version}; run `make lock`"
            if name == "lowest" and pin.marker is None:
                (bound,) = [each.version for each in requirement.specifier]
                assert Version(version) == Version(bound), f"{requirement} is tried with {version}; raise the bound"
            break
        else:
            pytest.fail(f"{requirement} is not locked; run `make lock`")


PROGRAM = """
import sys, {package}
{package}.__version__ = {version!r}
from dragoman.cli import main
sys.argv = ["dragoman", "inspect", "--preset", "small", *"--source-vocabulary 9 --target-vocabulary 9".split()]
main()
"""


@pytest.mark.parametrize(("package", "older"), [("numba", "0.61.2"), ("typer", "0.12.5")])
def test_versions_that_fail_are_refused(package: str, older: str) -> None:
    lowest, failure = versions.FAILING[package]
    assert {each.name: str(each.specifier) for each in direct(())}[package] == f">={lowest}"
    for accepted in (lowest, "1.0"):
        versions.refuse_failing(package, accepted)
    command = [sys.executable, "-c", PROGRAM.format(package=package, version=older)]
    environment = {**os.environ, "DRAGOMAN_ENGINE": "numba"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    said = f"{package} {older} is installed, and versions before {lowest} {failure}; pip install '{package}>={lowest}'"
    assert done.stderr == f"dragoman: {said}\n"
