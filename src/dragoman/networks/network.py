"""Base class of networks: parameters in one flat vector, built from a validated configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Parameter, Theta, Value
from dragoman.graph.tensor import Version
from dragoman.layers import ForwardContext, Layer
from dragoman.layers.layer import hidden_parameters


class Configuration(BaseModel):
    """Validated settings; the error lists every mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigurationError(_readable(type(self).__name__, error)) from None


def _readable(name: str, error: ValidationError) -> str:
    lines = []
    for mistake in error.errors():
        place = ".".join(str(part) for part in mistake["loc"]) or "the settings together"
        message = mistake["msg"].removeprefix("Value error, ")
        given = "" if mistake["type"] in ("missing", "value_error") else f" (got {mistake['input']!r})"
        lines.append(f"{place}: {message}{given}")
    return f"{name}: " + "; ".join(lines)


class Network(Layer, ABC):
    """Layers wired into one function of a batch, y(x; theta) (Definition 3.1)."""

    __slots__ = ("_plain",)
    _plain: tuple[int, Self | None]
    theta: Theta

    def __new__(cls, *_: Any, **__: Any) -> Self:
        network = super().__new__(cls)
        object.__setattr__(network, "_plain", (0, None))
        return network

    @abstractmethod
    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Compute the outputs for a batch; recorded if parameters want gradients."""

    def _bind(self) -> None:
        """Place all parameters in theta and fix all attributes; called at the end of a constructor."""
        named = [name for name, _ in self.named_arrays()]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ConfigurationError(f"two parameters of {type(self).__name__} have the name '{twice[0]}'")
        for name, parameter in hidden_parameters(self):
            raise ConfigurationError(
                f"{type(self).__name__}.{name} holds {parameter!r} where no parameter is looked for, so it would not "
                "be trained or saved; keep layers and parameters in attributes, lists, tuples or dictionaries"
            )
        self.theta = Theta(self.parameters())
        self.seal(self.theta.version)

    @property
    def plain(self) -> Self:
        """This network on the same memory without gradients, for prediction and decoding."""
        number, twin = self._plain
        if twin is None or number != self.theta.version.number:
            number, twin = self.theta.version.number, self.without_gradient()
            twin.seal(Version())
            object.__setattr__(self, "_plain", (number, twin))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the network, with its own theta."""
        memo.setdefault(id(self.theta), None)  # made anew from the copied parameters
        twin = super().__deepcopy__(memo)
        if twin.theta is None:
            twin._bind()
            memo[id(self.theta)] = twin.theta
        return twin

    def freeze(self, *prefixes: str) -> None:
        """Exclude the parameters whose names begin with a prefix ('encoder', 'decoder.0', ...) from training."""
        for parameter in self._starting_with(prefixes):
            parameter.frozen = True

    def unfreeze(self, *prefixes: str) -> None:
        for parameter in self._starting_with(prefixes):
            parameter.frozen = False

    def _starting_with(self, prefixes: Iterable[str]) -> list[Parameter]:
        found: list[Parameter] = []
        for prefix in prefixes:
            named = [p for name, p in self._walk("") if f"{name}.".startswith(f"{prefix.rstrip('.')}.")]
            if not named:
                first = sorted({name.split(".")[0] for name, _ in self.named_parameters()})
                raise ConfigurationError(
                    f"no parameter's name begins with '{prefix}'; available: {', '.join(first)} "
                    "(queries, keys and values of an attention layer share one matrix and are frozen together)"
                )
            found += named
        return found
