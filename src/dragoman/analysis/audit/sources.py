"""The code that an equation of the audit runs: the operations that its check calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import dragoman

AUDIT, OPERATIONS = "dragoman.analysis.audit", "dragoman.operations"
# what measures or checks, and is not what is measured
TOOLS = (
    "dragoman.graph",
    "dragoman.batch",
    "dragoman.errors",
    f"{AUDIT}.claim",
    f"{OPERATIONS}.shapes",
    f"{OPERATIONS}.teaching.jacobians.numerical",
)


@dataclass(frozen=True)
class Code:
    """A piece of the package: its name, its file below the package's folder, and its lines."""

    name: str
    file: str
    source: str


def code_of(check: Callable[[], Any] | None) -> list[Code]:
    """The operations that a check calls; if none, what else of the package it calls; if nothing, the check itself."""
    function = _function(check)
    if function is None:
        return []
    used = list(_used(function, set()))
    operations = [thing for thing in used if inspect.isfunction(thing) and thing.__module__.startswith(OPERATIONS)]
    return [_code(thing) for thing in operations or used or [function]]


def _function(thing: Any) -> FunctionType | None:
    """What is below an operation, partial, cache and other wrappers."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    found = inspect.unwrap(thing) if callable(thing) else None
    return found if isinstance(found, FunctionType) else None


def _used(function: FunctionType, seen: set[Any]) -> Iterator[Any]:
    """What a function calls, as far as its names tell. Helpers of the audit and operations are looked into."""
    for named in _named(function):
        thing = named if inspect.isclass(named) else _function(named)
        if thing is None or thing in seen or not thing.__module__.startswith("dragoman.") or _is_tool(thing):
            continue
        seen.add(thing)
        if not thing.__module__.startswith(AUDIT):
            yield thing
        if isinstance(thing, FunctionType) and thing.__module__.startswith((AUDIT, OPERATIONS)):
            yield from _used(thing, seen)


def _named(function: FunctionType) -> Iterator[Any]:
    """Globals that a function names, and what it takes from the modules among them."""
    names = list(dict.fromkeys(_names(function.__code__)))
    for name in names:
        thing = function.__globals__.get(name)
        if isinstance(thing, ModuleType):
            yield from (getattr(thing, other) for other in names if hasattr(thing, other))
        elif thing is not None:
            yield thing


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_tool(thing: Any) -> bool:
    return f"{thing.__module__}.{thing.__name__}".startswith(TOOLS)


def _code(thing: Any) -> Code:
    file = inspect.getsourcefile(thing) or ""
    try:
        source = inspect.getsource(thing)
    except OSError:  # a package without its source files
        source = "(the source is not installed)"
    return Code(thing.__name__, Path(file).relative_to(Path(dragoman.__file__).parents[1]).as_posix(), source.rstrip())
