"""Whether a test uses the package's own code, or rests on code of the tests alone, as far as its names tell."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from dragoman.graph import Operation

PACKAGE = "dragoman"
# what measures, checks or holds, and is not what is measured
TOOLS = ("dragoman.graph", "dragoman.batch", "dragoman.errors", "dragoman.operations.shapes")
SCRIPTS = {"examples", "benchmarks"}  # folders of scripts that run the package


def uses_package(item: pytest.Item) -> bool:
    """Look into the test, its fixtures and its parameters, and into whatever of the tests they name."""
    seen: set[int] = set()
    function = getattr(item, "function", None)
    fixtures = getattr(item, "_fixtureinfo", None)
    definitions = [] if fixtures is None else [d[-1].func for d in fixtures.name2fixturedefs.values() if d]
    parameters = list(getattr(getattr(item, "callspec", None), "params", {}).values())
    return any(_reaches(thing, seen) for thing in (function, *parameters, *definitions))


def _reaches(thing: Any, seen: set[int]) -> bool:
    """A thing of the package, or one that names such a thing."""
    if id(thing) in seen:
        return False
    seen.add(id(thing))
    if isinstance(thing, functools.partial):
        return any(_reaches(part, seen) for part in (thing.func, *thing.args, *thing.keywords.values()))
    if isinstance(thing, list | tuple | set):
        return any(_reaches(part, seen) for part in thing)
    if isinstance(thing, dict):
        return any(_reaches(part, seen) for part in thing.values())
    if isinstance(thing, ModuleType):
        return _of_package(thing.__name__)
    if isinstance(thing, Path):
        return not SCRIPTS.isdisjoint(thing.parts)
    if isinstance(thing, Operation):
        return _of_package(thing.definition.__module__)
    module = getattr(thing, "__module__", None) or ""
    if _of_package(module) or _of_package(type(thing).__module__):
        return True
    if inspect.isclass(thing):
        return module.startswith("tests") and any(
            _reaches(part, seen) for part in (*thing.__bases__, *vars(thing).values())
        )
    if type(thing).__module__.startswith("tests"):
        return any(_reaches(part, seen) for part in vars(thing).values())
    found = inspect.unwrap(thing) if callable(thing) else None
    found = getattr(getattr(found, "hypothesis", None), "inner_test", found)
    if isinstance(found, FunctionType) and found.__module__.startswith(("tests", "dragoman")):
        return _names_package(found, seen)
    return False


def _of_package(module: str) -> bool:
    return module.split(".")[0] == PACKAGE and not module.startswith(TOOLS)


def _names_package(function: FunctionType, seen: set[int]) -> bool:
    for name in _names(function.__code__):
        if name in SCRIPTS:
            return True
        thing = function.__globals__.get(name)
        if thing is not None and _reaches(thing, seen):
            return True
    cells = function.__closure__ or ()
    return any(_reaches(cell.cell_contents, seen) for cell in cells)


def _names(code: CodeType) -> Iterator[str]:
    """Global names, and texts, which may be the name of a folder."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, str):
            yield constant
