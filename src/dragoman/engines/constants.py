"""Values that cannot change: what a program may rely on without looking again."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from enum import Enum
from numbers import Number
from types import BuiltinFunctionType, EllipsisType, FunctionType, MappingProxyType, NoneType
from typing import Any

import numpy as np

from dragoman.graph.operation import Dispatched

CONSTANT = Number, str, bytes, NoneType, EllipsisType, range, slice, type, np.generic, np.dtype, Dispatched
PURE_MODULES = "builtins", "math", "cmath", "_operator", "_functools", "itertools"
IMPURE_BUILTINS = {
    *("globals", "locals", "vars", "eval", "exec", "compile", "open", "input", "print", "breakpoint", "__import__"),
    *("setattr", "delattr"),
}


def is_constant(value: Any) -> bool:
    """Whether it is what its class and its contents say, and nothing in it can be changed in place."""
    if isinstance(value, Enum):
        return all(map(is_constant, vars(value).values()))
    if isinstance(value, CONSTANT):
        return isinstance(value, type | Dispatched) or not takes_attributes(value)
    if isinstance(value, tuple | frozenset):
        return not takes_attributes(value) and all(map(is_constant, value))
    if isinstance(value, FunctionType):
        return value.__closure__ is None and all(map(is_constant, _defaults(value)))
    if isinstance(value, functools.partial):
        return is_constant(value.func) and all(map(is_constant, (*value.args, *value.keywords.values())))
    if is_known_by_fields(value):
        return all(map(is_constant, fields_of(value).values()))
    if bool(getattr(type(value), "model_config", {}).get("frozen", False)):  # a settings class of pydantic
        more = value.__pydantic_private__ or value.__pydantic_extra__  # attributes that are no fields
        return not more and all(map(is_constant, vars(value).values()))
    return callable(value) and is_pure(value)


def takes_attributes(value: Any) -> bool:
    """Whether any attribute of a number, text or tuple may be set: its class extends the usual one."""
    return hasattr(value, "__dict__")


def is_pure(function: Any) -> bool:
    """Whether a compiled function depends on its arguments alone."""
    module = getattr(function, "__module__", None) or ""
    if module in PURE_MODULES and isinstance(function, BuiltinFunctionType):
        return function.__name__ not in IMPURE_BUILTINS
    is_numpy = type(function).__module__ == "numpy" or isinstance(function, BuiltinFunctionType)
    return is_numpy and module.partition(".")[0] == "numpy" and not module.startswith("numpy.random")


def is_known_by_fields(value: Any) -> bool:
    """Whether nothing counts but the class of an object and its fields, which cannot be changed."""
    parameters = vars(type(value)).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        return False
    fields = fields_of(value)
    return bool(getattr(value, "__dict__", fields).keys() == fields.keys())


def fields_of(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def contents(value: Any) -> Iterator[Any]:
    """What is in containers that cannot be changed, and in the fields of constants, however deep."""
    if isinstance(value, tuple | frozenset):
        parts = list(value)
    elif isinstance(value, MappingProxyType):
        parts = list(value.values())
    elif isinstance(value, functools.partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif is_known_by_fields(value):
        parts = list(fields_of(value).values())
    else:
        parts = []
    yield value
    for part in parts:
        yield from contents(part)


def _defaults(function: FunctionType) -> tuple[Any, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
