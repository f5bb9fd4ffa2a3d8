"""A layer owns parameters and calls operations; it never writes a derivative."""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, value_of
from dragoman.graph.tensor import Version
from dragoman.layers.carried import CarriedStates
from dragoman.operations import Dropout, DropoutKey

SIMPLE = str, bytes, int, float, complex, type(None), np.ndarray, type, ModuleType  # they hold no parameter


@dataclass(frozen=True)
class ForwardContext:
    """Context of one forward pass.

    noise  the randomness of a training step; None drops nothing
    maps   where attention layers leave their weights, in the order they are reached; None keeps none
    carried  the states with which recurrent language models begin, and where they leave those they end with
    """

    noise: DropoutKey | None = None
    maps: list[Array] | None = None
    carried: CarriedStates | None = None

    def dropout(self, rate: float, site: int, first_row: int) -> Dropout | None:
        return None if self.noise is None else self.noise.dropout(rate, site, first_row)


class Initializer:
    """Draws initial parameter values, the same in every precision."""

    def __init__(self, seed: int = 0, dtype: Any = np.float32) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)

    def glorot(self, inputs: int, outputs: int, blocks: int = 1) -> Array:
        """[inputs, blocks * outputs], uniform with variance 2 / (inputs + outputs)."""
        bound = (6 / (inputs + outputs)) ** 0.5
        return self.rng.uniform(-bound, bound, (inputs, blocks * outputs)).astype(self.dtype)

    def normal(self, rows: int, columns: int, deviation: float) -> Array:
        return (self.rng.standard_normal((rows, columns)) * deviation).astype(self.dtype)

    def orthogonal(self, size: int) -> Array:
        """Draw an orthogonal matrix [size, size], which keeps the norm of what is multiplied with it repeatedly."""
        q, r = np.linalg.qr(self.rng.standard_normal((size, size)))
        return (q * np.sign(np.diag(r))).astype(self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, self.dtype)

    def ones(self, *shape: int) -> Array:
        return np.ones(shape, self.dtype)


class Seal(NamedTuple):
    """What a layer of a bound network knows of it: its own name there, and the network's version."""

    name: str
    version: Version

    def refuse(self, layer: Layer, attribute: str) -> ConfigurationError:
        name = f"{self.name}.{attribute}" if self.name else attribute
        advice = "set it before _bind(), which ends the constructor"
        if any(True for _ in _parts("", getattr(layer, attribute, None))):
            advice += "; later, build another network for other layers, and write values by parameter.value[...] = ..."
        elif hasattr(layer, attribute):
            advice += f"; later, change({attribute}=...) changes a setting"
        return ConfigurationError(f"{name} cannot be set, because the network is bound: {advice}")


class Layer:
    """Base of layers and networks: finds the parameters among its attributes, in the order they were set.

    Layers and parameters may also stand in lists, tuples and dictionaries, however deep: `decoder.0`, `heads.name`.
    The layers of a bound network are sealed: their attributes can no longer be set, and those lists and dictionaries
    become tuples and read-only views.
    """

    __slots__ = ("__dict__", "__weakref__", "_seal")
    _seal: Seal | None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        layer = super().__new__(cls)
        object.__setattr__(layer, "_seal", None)
        return layer

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if self._seal is None:
                object.__setattr__(self, name, value)
            elif vars(self).get(name) is not value:  # `layer.array *= 2` sets what is there
                raise self._seal.refuse(self, name)

        def __delattr__(self, name: str) -> None:
            if self._seal is not None:
                raise self._seal.refuse(self, name)
            object.__delattr__(self, name)

    @property
    def sealed(self) -> bool:
        """Whether it belongs to a bound network, so that its attributes are fixed."""
        return self._seal is not None

    def change(self, **settings: Any) -> None:
        """Change settings of a layer of a bound network (a dropout rate, ...); its programs are made anew."""
        for name, value in settings.items():
            if not hasattr(self, name):
                raise ConfigurationError(f"{type(self).__name__} has no setting '{name}'")
            if any(True for each in (value, getattr(self, name)) for _ in _parts("", each)):
                raise ConfigurationError(f"{name} holds layers or parameters, which are fixed; build another network")
        vars(self).update(settings)
        if self._seal is not None:
            self._seal.version.increase()

    def seal(self, version: Version, name: str = "") -> None:
        """Fix the attributes of this layer and of those in it; called when a network is bound."""
        if self._seal is not None:
            return
        for attribute, value in vars(self).items():
            if any(True for _ in _parts("", value)):
                vars(self)[attribute] = _map_parts(value, lambda part: part, fixed=True)
        object.__setattr__(self, "_seal", Seal(name, version))
        for attribute, value in vars(self).items():
            for part_name, part in _parts(f"{name}.{attribute}" if name else attribute, value):
                if isinstance(part, Layer):
                    part.seal(version, part_name)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield every parameter once, with its dotted name; a tied one under its first name."""
        seen: set[int] = set()
        for name, parameter in self._walk(prefix):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def named_layers(self, name: str = "") -> Iterator[tuple[str, Layer]]:
        """Yield this layer and all in it, each once or more, with their dotted names."""
        yield name, self
        for attribute, value in vars(self).items():
            for part_name, part in _parts(f"{name}.{attribute}" if name else attribute, value):
                if isinstance(part, Layer):
                    yield from part.named_layers(part_name)

    def _walk(self, prefix: str) -> Iterator[tuple[str, Parameter]]:
        for attribute, value in vars(self).items():
            for name, part in _parts(prefix + attribute, value):
                if isinstance(part, Parameter):
                    yield name, part
                else:
                    yield from part._walk(f"{name}.")

    def parameters(self) -> list[Parameter]:
        return [parameter for _, parameter in self.named_parameters()]

    def named_arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield the parameters as views, under the names they are saved by."""
        for name, parameter in self.named_parameters():
            yield from parameter.split(name)

    def count(self) -> int:
        """Return the exact number of parameters, p."""
        return sum(parameter.value.size for parameter in self.parameters())

    def without_gradient(self) -> Self:
        """Return the same layer on the same memory with plain arrays, so that nothing is recorded."""
        return self._copied(lambda part: part.without_gradient() if isinstance(part, Layer) else value_of(part))

    def __copy__(self) -> Self:
        return self._copied(lambda part: part)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = memo[id(self)] = type(self).__new__(type(self))
        copied = functools.partial(copy.deepcopy, memo=memo)
        vars(twin).update((name, _map_parts(value, copied, copied)) for name, value in vars(self).items())
        return twin

    def _copied(self, change: Callable[[Any], Any]) -> Self:
        """Another layer, not sealed, with what `change` makes of each layer and parameter."""
        twin = type(self).__new__(type(self))
        vars(twin).update((name, _map_parts(value, change)) for name, value in vars(self).items())
        return twin


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The layers and parameters of an attribute, with their names."""
    if isinstance(value, Layer | Parameter):
        yield name, value
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _parts(f"{name}.{i}", item)
    elif isinstance(value, dict | MappingProxyType):
        for key, item in value.items():
            yield from _parts(f"{name}.{key}", item)


def _map_parts(
    value: Any, change: Callable[[Any], Any], rest: Callable[[Any], Any] = lambda value: value, fixed: bool = False
) -> Any:
    """What `change` makes of the layers and parameters of an attribute, in the same containers.

    rest   makes something of everything that holds none
    fixed  whether lists become tuples, and dictionaries read-only
    """
    if isinstance(value, Layer | Parameter):
        return change(value)
    if not any(True for _ in _parts("", value)):
        return rest(value)
    if isinstance(value, dict | MappingProxyType):
        mapped = {key: _map_parts(item, change, rest, fixed) for key, item in value.items()}
        return MappingProxyType(mapped) if fixed else mapped
    items = [_map_parts(item, change, rest, fixed) for item in value]
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*items)
    return items if isinstance(value, list) and not fixed else tuple(items)


def hidden_parameters(layer: Layer) -> Iterator[tuple[str, Parameter]]:
    """Parameters that belong to no network and stand where a layer does not look: in sets, objects and functions."""
    known = {id(parameter) for parameter in layer.parameters()}
    for name, each in layer.named_layers():
        for attribute, value in vars(each).items():
            reached: dict[int, Any] = {}
            _reach(value, reached)
            for found in reached.values():
                if isinstance(found, Parameter) and found.slot is None and id(found) not in known:
                    yield f"{name}.{attribute}" if name else attribute, found


def _closed_over(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it has no value yet
            yield cell.cell_contents


def _reach(value: Any, reached: dict[int, Any]) -> None:
    """Collect all objects that an attribute refers to, however deep."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if id(value) in reached or isinstance(value, SIMPLE):
            continue
        reached[id(value)] = value
        if isinstance(value, dict | MappingProxyType):
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset | deque):
            waiting += value
        elif isinstance(value, functools.partial):
            waiting += (value.func, *value.args, *value.keywords.values())
        elif isinstance(value, MethodType):
            waiting.append(value.__self__)
        elif isinstance(value, FunctionType):
            waiting += _closed_over(value)
        else:
            waiting += getattr(value, "__dict__", {}).values()
            waiting += (getattr(value, name, None) for name in getattr(type(value), "__slots__", ()))
