"""Layers as they were when a network was read, to notice that one has been changed since."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator
from numbers import Number
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from dragoman.graph import Array, Parameter, Tensor, Theta

CACHE = "plain"  # the attribute of a network that follows from the others
CONSTANT = (Number, str, bytes, NoneType, type, np.generic, np.dtype)
READ_AGAIN = (Parameter, Theta, np.ndarray)  # may be changed in place: programs read them again for every batch


class Snapshot:
    """A layer as it was read: its attributes, and the classes of its layers.

    caches  names of attributes that follow from the others
    reason  why a change of it could go unnoticed; empty if none could
    """

    def __init__(self, name: str, layer: Any, caches: tuple[str, ...] | None = None) -> None:
        self.attributes: dict[str, Any] = vars(layer)
        self.caches = _caches(layer) if caches is None else caches
        read = {attribute: value for attribute, value in dict(vars(layer)).items() if attribute not in self.caches}
        self.layers = [child for _, child in _children(layer)]
        self.classes = [type(child) for child in self.layers]
        self.names = list(read)
        self.values = tuple(_copied(value) for value in read.values())
        get = operator.itemgetter(*self.names) if len(self.names) > 1 else None  # of one name it gives no tuple
        self.read = get or (lambda attributes: tuple(attributes[attribute] for attribute in self.names))
        self.arrays = {f"{name}{attribute}": arrays_in(value) for attribute, value in read.items()}
        self.array_ids = _array_ids(self.values) if any(self.arrays.values()) else []
        unknown = [attribute for attribute, value in read.items() if not _shows_changes(value)]
        self.reason = f"{name}{unknown[0]} is an object whose changes would go unnoticed" if unknown else ""

    def holds(self) -> bool:
        """Whether the layer is as it was read. Arrays must be the same ones, whatever they contain."""
        attributes, more = self.attributes, len(self.attributes) - len(self.names)
        return (
            (more == 0 or more == sum(cache in attributes for cache in self.caches))
            and (values := self.read(attributes)) == self.values
            and list(map(type, self.layers)) == self.classes
            and (not self.array_ids or _array_ids(values) == self.array_ids)
        )


def _caches(layer: Any) -> tuple[str, ...]:
    return (CACHE,) if "theta" in vars(layer) else ()


def _copied(value: Any) -> Any:
    """A copy of containers, whose contents may be changed; anything else is kept as it is."""
    if isinstance(value, list | set | tuple):
        kind: Any = tuple if isinstance(value, tuple) else type(value)
        return kind(map(_copied, value))
    return {key: _copied(part) for key, part in value.items()} if isinstance(value, dict) else value


def contents(value: Any) -> Iterator[Any]:
    """What is in containers, however deep."""
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from contents(part)
    elif isinstance(value, dict):
        yield from contents(list(value.values()))
    else:
        yield value


def arrays_in(values: Any) -> list[Array]:
    return [value for value in contents(values) if isinstance(value, np.ndarray)]


def _array_ids(values: Any) -> list[int]:
    return list(map(id, arrays_in(values)))


def _shows_changes(value: Any) -> bool:
    """Whether changes of an attribute show: it holds layers, or what cannot be changed in place or is read again."""
    if _is_layer(value) or (isinstance(value, list) and all(map(_is_layer, value))):
        return True
    return all(isinstance(part, READ_AGAIN) or is_constant(part) for part in contents(value))


def is_constant(value: Any) -> bool:
    """Whether it is what its class and its contents say, and nothing in it can be changed in place."""
    if isinstance(value, CONSTANT):
        return True
    if isinstance(value, tuple | frozenset):
        return all(map(is_constant, value))
    if isinstance(value, FunctionType):
        return value.__closure__ is None
    if isinstance(value, functools.partial):
        return is_constant(value.func) and all(map(is_constant, (*value.args, *value.keywords.values())))
    if is_known_by_fields(value):
        return all(map(is_constant, fields_of(value).values()))
    is_frozen_model = bool(getattr(value, "model_config", {}).get("frozen", False))
    return is_frozen_model and all(map(is_constant, vars(value).values()))


def _is_layer(value: Any) -> bool:
    return not isinstance(value, Tensor) and hasattr(value, "named_parameters")


def _children(layer: Any) -> Iterator[tuple[str, Any]]:
    """The layers of a layer, with their names."""
    caches = _caches(layer)
    for name, value in dict(vars(layer)).items():
        if name in caches:
            continue
        if _is_layer(value):
            yield name, value
        elif isinstance(value, list):
            yield from ((f"{name}.{i}", item) for i, item in enumerate(value) if _is_layer(item))


def layers_of(layer: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A network and all its layers, each once or more, with the prefix of their attributes."""
    yield prefix, layer
    for name, child in _children(layer):
        yield from layers_of(child, f"{prefix}{name}.")


def is_known_by_fields(value: Any) -> bool:
    """Whether nothing counts but the class of an object and its fields, which cannot be changed."""
    parameters = vars(type(value)).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        return False
    fields = fields_of(value)
    return bool(getattr(value, "__dict__", fields).keys() == fields.keys())


def fields_of(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def fingerprint(network: Any) -> list[Any]:
    """What a network consists of, by the addresses of objects: it keeps none of them alive."""
    layers = (layer for _, layer in layers_of(network))
    return [(id(type(layer)), [(name, id(value)) for name, value in dict(vars(layer)).items()]) for layer in layers]
