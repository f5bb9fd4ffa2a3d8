"""Prove a derivative: compare it with central differences and, where the function is analytic, the complex step."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.errors import GradientError
from dragoman.graph.backpropagate import backpropagate
from dragoman.graph.tensor import Array, Parameter, Tensor, value_of

DIFFERENCE_STEP = 1e-6
COMPLEX_STEP = 1e-200
FLOOR = 1e-12  # float64: a difference below this is rounding, however small the reference
DIFFERENCE_TOLERANCE = 1e-6
COMPLEX_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Comparison:
    """One derivative beside one reference. `error` = largest absolute difference / largest absolute reference."""

    name: str
    method: str
    error: float
    tolerance: float
    index: tuple[int, ...]
    found: float
    reference: float

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.method}: error {self.error:.1e} (allowed {self.tolerance:.0e}), worst at index "
            f"{self.index}: derivative {self.found:.12g}, reference {self.reference:.12g}"
        )


@dataclass(frozen=True)
class GradientReport:
    """Every comparison of one gradient check."""

    comparisons: tuple[Comparison, ...]

    @property
    def passed(self) -> bool:
        return all(comparison.passed for comparison in self.comparisons)

    @property
    def worst(self) -> Comparison:
        """The comparison closest to (or furthest beyond) its tolerance."""
        return max(self.comparisons, key=lambda comparison: comparison.error / comparison.tolerance)

    def error(self, method: str) -> float:
        """The largest error of one method, NaN if it was not used."""
        return max((c.error for c in self.comparisons if c.method == method), default=float("nan"))

    def require(self) -> GradientReport:
        """Raise GradientError, naming the worst index and its two values, unless everything passed."""
        if not self.passed:
            raise GradientError(f"wrong derivative of {self.worst}")
        return self

    def __str__(self) -> str:
        return "\n".join(str(comparison) for comparison in self.comparisons)


def compare(
    name: str, method: str, found: Array, reference: Array, tolerance: float, floor: float = FLOOR
) -> Comparison:
    """The worst disagreement of two arrays of one shape.

    A difference up to `floor` always passes: references smaller than floor / tolerance are counted as that large
    (the gradient of a key bias is exactly zero, and nothing can be measured relative to it).
    """
    if found.shape != reference.shape:
        raise GradientError(f"{name}: derivative of shape {found.shape} for a value of shape {reference.shape}")
    if not found.size:
        return Comparison(name, method, 0.0, tolerance, (), 0.0, 0.0)
    difference = np.nan_to_num(np.abs(found - reference), nan=np.inf, posinf=np.inf)
    index = np.unravel_index(int(difference.argmax()), difference.shape)
    largest, scale = float(difference[index]), float(np.abs(reference).max())
    error = largest / max(scale, floor / tolerance)
    place = tuple(int(i) for i in index)
    return Comparison(name, method, error, tolerance, place, float(found[index]), float(reference[index]))


def gradient_check(
    function: Callable[..., Any],
    *inputs: Array,
    analytic: bool = True,
    seed: int = 0,
    **options: Any,
) -> GradientReport:
    """Check every derivative of an operation, a layer or any function of tensors, in float64.

    Differentiates sum(c * y), with c random and fixed, by each floating-point input and, for a layer or a network, by
    each of its parameters. `analytic=False` leaves the complex step out, for functions with kinks or comparisons
    that depend on the input. `options` are passed on to the function.

        gradient_check(linear, x, weights, biases).require()
    """
    leaves = [Tensor(np.array(x, np.float64)) if _is_real(x) else x for x in inputs]
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    names = _input_names(function, len(leaves))
    labels = [name for name, leaf in zip(names, leaves, strict=True) if isinstance(leaf, Tensor)]
    for name, parameter in _parameters(function):
        if parameter.wants_gradient:
            tensors.append(parameter)
            labels.append(name)

    originals = [tensor.value for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.value = tensor.value.astype(np.float64)
        return _check(function, leaves, options, tensors, labels, analytic, seed)
    finally:
        for tensor, original in zip(tensors, originals, strict=True):
            tensor.value = original


def _check(
    function: Callable[..., Any],
    leaves: list[Any],
    options: dict[str, Any],
    tensors: list[Tensor],
    labels: list[str],
    analytic: bool,
    seed: int,
) -> GradientReport:
    outputs = _outputs(function(*leaves, **options))
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal(y.shape) for y in outputs]
    recorded = [(y, c) for y, c in zip(outputs, weights, strict=True) if isinstance(y, Tensor)]
    if not recorded:
        raise GradientError("nothing to check: no output depends on an input or parameter that wants a gradient")
    found = backpropagate([y for y, _ in recorded], tensors, [c for _, c in recorded])

    def evaluate() -> list[Any]:
        """sum(c * y) kept apart by output element, so that those an input does not touch cancel exactly."""
        values = _outputs(function(*[value_of(leaf) for leaf in leaves], **options))
        return [c * value_of(y) for c, y in zip(weights, values, strict=True)]

    comparisons = []
    for label, tensor, derivative in zip(labels, tensors, found, strict=True):
        reference, noise = measured_differences(evaluate, tensor)
        comparisons.append(
            compare(label, "central differences", derivative, reference, DIFFERENCE_TOLERANCE, max(FLOOR, noise))
        )
        if analytic:
            reference = complex_step(lambda: sum(y.sum() for y in evaluate()), tensor)
            comparisons.append(compare(label, "complex step", derivative, reference, COMPLEX_TOLERANCE))
    return GradientReport(tuple(comparisons))


def central_differences(scalar: Callable[[], Any], tensor: Tensor) -> Array:
    """(L(x + h) - L(x - h)) / 2h for every element of a tensor that `scalar` reads."""
    return measured_differences(lambda: [np.asarray(scalar())], tensor)[0]


def complex_step(scalar: Callable[[], Any], tensor: Tensor) -> Array:
    """Im L(x + ih) / h: no subtraction, hence exact to rounding. A silent cast to real is an error."""
    original = tensor.value
    reference = np.empty(original.shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            for index in np.ndindex(original.shape):
                tensor.value = original.astype(np.complex128)
                tensor.value[index] += 1j * COMPLEX_STEP
                reference[index] = np.imag(scalar()) / COMPLEX_STEP
    finally:
        tensor.value = original
    return reference


def measured_differences(evaluate: Callable[[], list[Any]], tensor: Tensor) -> tuple[Array, float]:
    """Central differences of the sum of all that `evaluate` returns, and what rounding may have added to them.

    Each output element is subtracted by itself: one that the input does not touch cancels exactly, and only the last
    digits of the others are lost.
    """
    original, precision = tensor.value, np.finfo(np.float64).eps
    reference, noise = np.empty(original.shape), 0.0
    try:
        for index in np.ndindex(original.shape):
            pair = []
            for sign in (1.0, -1.0):
                tensor.value = original.copy()
                tensor.value[index] += sign * DIFFERENCE_STEP
                pair.append(evaluate())
            changes = [after - before for after, before in zip(*pair, strict=True)]
            reference[index] = sum(change.sum() for change in changes) / (2 * DIFFERENCE_STEP)
            touched = sum(float(np.abs(y[change != 0]).sum()) for y, change in zip(pair[0], changes, strict=True))
            noise = max(noise, 2 * precision * touched / DIFFERENCE_STEP)
    finally:
        tensor.value = original
    return reference, noise


def _is_real(x: Any) -> bool:
    return isinstance(x, np.ndarray) and np.issubdtype(x.dtype, np.floating)


def _input_names(function: Any, count: int) -> list[str]:
    """The function's own argument names, in order."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return (names + [f"input {i}" for i in range(len(names), count)])[:count]


def _parameters(function: Any) -> list[tuple[str, Parameter]]:
    return list(function.named_parameters()) if hasattr(function, "named_parameters") else []


def _outputs(result: Any) -> list[Any]:
    """The array outputs of a call; counts and the like have no derivative."""
    outputs = result if isinstance(result, tuple) else (result,)
    return [y for y in outputs if hasattr(y, "shape")]
