"""Compares a kernel that a user registered with the definition it replaces, before it is believed."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dragoman.errors import DragomanWarning
from dragoman.graph.tensor import Array, DeferredGradient

PACKAGE = "dragoman.engines."  # whose kernels the tests compare
DOUBLE, SINGLE = (1e-6, 1e-12), (1e-3, 1e-6)  # of a norm: relative to it, and for each element
MOST_KINDS = 256  # of calls that are compared


class Compared:
    """A kernel that is compared with its definition in the first call of each kind; one that disagrees is left out.

    A kind is the types, layouts, columns and, up to a factor of 2, rows of the arrays, and options that are no arrays.
    """

    def __init__(self, name: str, engine: str, kernel: Callable[..., Any], definition: Callable[..., Any]) -> None:
        functools.update_wrapper(self, kernel)
        self.name, self.engine, self.kernel, self.definition = name, engine, kernel, definition
        self.verified: set[Any] = set()
        self.refused = False

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        if self.refused:
            return NotImplemented
        kind = tuple(map(_kind, arrays)), tuple((name, _kind(option)) for name, option in options.items())
        if kind in self.verified or len(self.verified) >= MOST_KINDS:
            return self.kernel(*arrays, **options)
        if self._agrees(kind, arrays, options):
            return self.kernel(*arrays, **options)
        return NotImplemented

    def _agrees(self, kind: Any, arrays: Sequence[Any], options: dict[str, Any]) -> bool:
        """Whether the kernel covers the arguments and does what the definition does, on copies that both may change."""
        (theirs, their_options), (own, own_options) = _copied((arrays, options)), _copied((arrays, options))
        expected = self.definition(*own, **own_options)  # which raises the errors for invalid input
        try:
            outcome = self.kernel(*theirs, **their_options)
            if outcome is NotImplemented:
                return False
            written = list(_arrays_in((theirs, their_options))), list(_arrays_in((own, own_options)))
            difference = _compared(outcome, expected) or _difference(*written)
        except MemoryError:
            raise
        except Exception as exception:
            difference = f"it fails where the definition does not ({type(exception).__name__}: {exception})"
        if difference:
            self.refused = True
            warnings.warn(
                f"the kernel of {self.name} that is registered for '{self.engine}' disagrees with its definition: "
                f"{difference}. The definition computes {self.name} from now on; correct the kernel, or let it return "
                "NotImplemented for what it does not cover",
                DragomanWarning,
                stacklevel=5,
            )
        elif any(array.size for array in _arrays_in((arrays, options))):
            self.verified.add(kind)
        return not difference


def believed(name: str, engine: str, kernel: Callable[..., Any], definition: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel itself, if it belongs to this package; one of a user is compared first."""
    is_own = getattr(kernel, "__module__", "").startswith(PACKAGE)
    return kernel if is_own else Compared(name, engine, kernel, definition)


def _kind(value: Any) -> Any:
    """What is the same for calls that one comparison stands for."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.flags.c_contiguous, value.shape[1:], len(value).bit_length() if value.ndim else 0
    return value if isinstance(value, str | int | float | bool | None) else type(value)


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy("K") if value.flags.forc else _copied_apart(value)
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    return type(value)(map(_copied, value)) if type(value) in (list, tuple) else value


def _copied_apart(array: Array) -> Array:
    """A copy that is not contiguous either."""
    copy: Array = np.repeat(array, 2, axis=-1)[..., ::2]
    return copy


def _arrays_in(value: Any) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        yield from _arrays_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _arrays_in(each)


def _compared(outcome: Any, expected: Any) -> str:
    """What a kernel and the definition do not agree on: their values, or their derivatives."""
    if not _is_differentiable(expected):
        return _difference(list(_flat(outcome)), list(_flat(expected)))
    if not _is_differentiable(outcome):
        return "it returns no value with its backward"
    difference = _difference(list(_flat(outcome[0])), list(_flat(expected[0])))
    values = list(_flat(expected[0]))
    if difference or any(map(np.iscomplexobj, values)):  # those of a complex step are not differentiated
        return difference
    rng = np.random.default_rng(0)
    deltas = [np.asarray(rng.standard_normal(y.shape), y.dtype) if hasattr(y, "shape") else None for y in values]
    found, wanted = outcome[1](*deltas), expected[1](*deltas)
    return _difference(list(_flat((found,))), list(_flat((wanted,))))


def _is_differentiable(outcome: Any) -> bool:
    return isinstance(outcome, tuple) and len(outcome) == 2 and callable(outcome[1])


def _flat(value: Any) -> Iterator[Any]:
    """Arrays and numbers, in order; of optional derivatives None."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
    else:
        yield value.value() if isinstance(value, DeferredGradient) else value


def _difference(found: list[Any], expected: list[Any]) -> str:
    """What two calls do not agree on; empty if they agree."""
    if len(found) != len(expected):
        return f"it returns {len(found)} results, not {len(expected)}"
    for one, other in zip(found, expected, strict=True):
        if not isinstance(other, np.ndarray | np.number | float | int):
            continue  # no derivative is wanted, or an object
        if not isinstance(one, np.ndarray | np.number | float | int):
            return f"it returns {type(one).__name__} for {_described(other)}"
        if np.shape(one) != np.shape(other) or (isinstance(other, np.ndarray) and np.asarray(one).dtype != other.dtype):
            return f"it returns {_described(one)} for {_described(other)}"
        share = _distance(np.asarray(one), np.asarray(other))
        if share:
            return f"{_described(other)} differs by {share:.2%} of its norm"
    return ""


def _described(value: Any) -> str:
    array = np.asarray(value)
    return f"an array of shape {array.shape} and type {array.dtype}" if array.shape else f"a number ({array.dtype})"


def _distance(found: Array, expected: Array) -> float:
    """The norm of the difference relative to that of what is expected, infinite where only one of them is finite; 0 if
    rounding explains it."""
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return math.inf
    relative, absolute = DOUBLE if expected.dtype in (np.float64, np.complex128) else SINGLE
    wide = np.result_type(expected, np.float64)
    difference = float(np.linalg.norm(found[finite].astype(wide) - expected[finite].astype(wide)))
    norm = float(np.linalg.norm(expected[finite].astype(wide)))
    if difference <= relative * norm + absolute * math.sqrt(expected.size):
        return 0.0
    return difference / norm if norm else math.inf
