"""Layers as they were when a network was recorded, to notice that one has been changed since."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator
from numbers import Number
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from dragoman.graph import Array, Tensor, Theta

CACHE = "plain"  # the attribute of a network that follows from the others
SHOWS_CHANGES = (Number, str, bytes, NoneType, type, FunctionType, Tensor, Theta, np.ndarray, np.generic, np.dtype)


class Snapshot:
    """A layer as it was read: its attributes, and the classes of its layers.

    reason  why a change of it could go unnoticed; empty if none could
    """

    def __init__(self, name: str, layer: Any) -> None:
        self.attributes: dict[str, Any] = vars(layer)
        self.layers = [child for _, child in _children(layer)]
        self.classes = [type(child) for child in self.layers]
        self.names = [attribute for attribute in self.attributes if attribute != CACHE]
        self.read = operator.itemgetter(*self.names) if self.names else lambda attributes: ()
        values = tuple(_copied(self.attributes[attribute]) for attribute in self.names)
        self.values = values if len(values) != 1 else values[0]
        unknown = [attribute for attribute, value in zip(self.names, values, strict=True) if not _shows_changes(value)]
        self.reason = f"{name}{unknown[0]} is an object whose changes would go unnoticed" if unknown else ""

    def holds(self) -> bool:
        attributes = self.attributes
        return (
            len(attributes) - (CACHE in attributes) == len(self.names)
            and self.read(attributes) == self.values
            and list(map(type, self.layers)) == self.classes
        )


def _copied(value: Any) -> Any:
    """A copy of containers, whose contents may be changed; anything else is kept as it is."""
    if isinstance(value, list | set | tuple):
        kind: Any = tuple if isinstance(value, tuple) else type(value)
        return kind(map(_copied, value))
    return {key: _copied(part) for key, part in value.items()} if isinstance(value, dict) else value


def _contents(value: Any) -> Iterator[Any]:
    """What is in containers, however deep."""
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _contents(part)
    elif isinstance(value, dict):
        yield from _contents(list(value.values()))
    else:
        yield value


def arrays_in(values: Any) -> list[Array]:
    return [value for value in _contents(values) if isinstance(value, np.ndarray)]


def _shows_changes(value: Any) -> bool:
    """Whether changes of an attribute show: it holds layers, or what cannot be changed in place.

    Arrays may be changed: programs read them again for every batch.
    """
    if _is_layer(value) or (isinstance(value, list) and all(map(_is_layer, value))):
        return True
    return all(isinstance(part, SHOWS_CHANGES) or _is_frozen(part) for part in _contents(value))


def _is_frozen(value: Any) -> bool:
    return is_known_by_fields(value) or bool(getattr(value, "model_config", {}).get("frozen", False))


def _is_layer(value: Any) -> bool:
    return hasattr(value, "named_parameters")


def _children(layer: Any) -> Iterator[tuple[str, Any]]:
    """The layers of a layer, with their names."""
    for name, value in vars(layer).items():
        if name == CACHE:
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
    return parameters is not None and parameters.frozen and vars(value).keys() == fields_of(value).keys()


def fields_of(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
