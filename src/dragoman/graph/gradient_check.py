"""Check a derivative against central differences and, where the function is analytic, the complex step."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dragoman.errors import GradientError
from dragoman.graph.backpropagate import backpropagate, reverse_order
from dragoman.graph.tensor import Array, Parameter, Tensor, replace_value, value_of

DIFFERENCE_STEP = 1e-6
COMPLEX_STEP = 1e-200
FLOOR = 1e-12  # float64: a difference below this is rounding, however small the reference
DIFFERENCE_TOLERANCE = 1e-6
COMPLEX_TOLERANCE = 1e-10
CLEARLY = 10  # times the uncertainty of central differences: a disagreement that they cannot explain
JUDGED_ALONE = "judged by central differences alone"


@dataclass(frozen=True)
class Comparison:
    """One derivative beside one reference. `error` = largest absolute difference / largest absolute reference.

    `not_applicable`: why the method cannot judge this derivative, if it cannot. Other methods then decide.
    """

    name: str
    method: str
    error: float
    tolerance: float
    index: tuple[int, ...]
    found: float
    reference: float
    not_applicable: str = ""

    @property
    def passed(self) -> bool:
        return bool(self.not_applicable) or self.error <= self.tolerance

    def __str__(self) -> str:
        if self.not_applicable:
            return f"{self.name}, {self.method}: not applicable: {self.not_applicable}; {JUDGED_ALONE}"
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
    def applied(self) -> tuple[Comparison, ...]:
        """The comparisons whose method could judge the derivative."""
        return tuple(comparison for comparison in self.comparisons if not comparison.not_applicable)

    @property
    def worst(self) -> Comparison:
        """The comparison closest to (or furthest beyond) its tolerance."""
        return max(self.applied, key=lambda comparison: comparison.error / comparison.tolerance)

    def error(self, method: str) -> float:
        """Return the largest error of one method, NaN if it was not used or not applicable."""
        return max((c.error for c in self.applied if c.method == method), default=float("nan"))

    def require(self) -> GradientReport:
        """Raise GradientError, naming the worst index and its two values, unless everything passed."""
        if not self.passed:
            raise GradientError(f"FAIL: wrong derivative of {self.worst}{self._hint()}")
        return self

    def _hint(self) -> str:
        """Return a hint if only the complex step disagrees."""
        if any(not c.passed and c.method == "central differences" for c in self.comparisons):
            return ""
        return (
            "; central differences agree within their tolerance, which is wider. If the function is not analytic there "
            "(abs, conj, comparisons), pass analytic=False"
        )

    def __str__(self) -> str:
        """Format one line per comparison, then the verdict."""
        lines = [f"{_verdict(comparison)}  {comparison}" for comparison in self.comparisons]
        count = sum(comparison.passed for comparison in self.applied)
        lines.append(f"{'PASS' if self.passed else 'FAIL'}: {count} of {len(self.applied)} comparisons passed")
        return "\n".join(lines)


def _verdict(comparison: Comparison) -> str:
    if comparison.not_applicable:
        return "----"
    return "PASS" if comparison.passed else "FAIL"


def compare(
    name: str, method: str, found: Array, reference: Array, tolerance: float, floor: float = FLOOR
) -> Comparison:
    """Return the worst disagreement of two arrays of equal shape.

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
    each of its parameters. Where the function turns out not to be analytic (abs, conj, real...), or does not take
    complex numbers, the report says so and central differences judge alone; `analytic=False` leaves the complex step
    out from the start. `options` are passed on to the function.

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
            replace_value(tensor, tensor.value.astype(np.float64))
        return _check(function, leaves, options, tensors, labels, analytic, seed)
    finally:
        for tensor, original in zip(tensors, originals, strict=True):
            replace_value(tensor, original)


def _check(
    function: Callable[..., Any],
    leaves: list[Any],
    options: dict[str, Any],
    tensors: list[Tensor],
    labels: list[str],
    analytic: bool,
    seed: int,
) -> GradientReport:
    names = [*_input_names(function, len(leaves)), *options, *labels]
    arrays = [x.value if isinstance(x, Tensor) else x for x in (*leaves, *options.values(), *tensors)]
    given = [(name, x, x.copy()) for name, x in zip(names, arrays, strict=False) if isinstance(x, np.ndarray)]
    outputs = _outputs(function(*leaves, **options))
    _check_reached(function, outputs, tensors)
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal(y.shape) for y in outputs]
    recorded = [(y, c) for y, c in zip(outputs, weights, strict=True) if isinstance(y, Tensor)]
    if not recorded:
        raise GradientError("nothing to check: no output depends on an input or parameter that wants a gradient")
    found = backpropagate([y for y, _ in recorded], tensors, [c for _, c in recorded])
    for name, now, before in given:
        if now.tobytes() != before.tobytes():
            raise GradientError(
                f"{name} was changed in place: an operation, and its backward, leave their inputs as they are, because "
                f"others read them too; compute a new array (x * 2, not x *= 2)"
            )

    def evaluate() -> list[Any]:
        """Return the terms of sum(c * y) separately, so that those an input does not affect cancel exactly."""
        values = _outputs(function(*[value_of(leaf) for leaf in leaves], **options))
        return [c * value_of(y) for c, y in zip(weights, values, strict=True)]

    comparisons = []
    for label, tensor, derivative in zip(labels, tensors, found, strict=True):
        differences, noise = measured_differences(evaluate, tensor)
        by_differences = compare(
            label, "central differences", derivative, differences, DIFFERENCE_TOLERANCE, max(FLOOR, noise)
        )
        comparisons.append(by_differences)
        if analytic:
            comparisons.append(_by_complex_step(evaluate, tensor, derivative, differences, by_differences))
    return GradientReport(tuple(comparisons))


def _check_reached(function: Any, outputs: list[Any], tensors: list[Tensor]) -> None:
    """Raise an error if a layer computes with parameters that are not among its own, so that nothing trains them."""
    if not hasattr(function, "named_parameters"):
        return
    known = {id(tensor) for tensor in tensors}
    for node in reverse_order([y for y in outputs if isinstance(y, Tensor)]):
        for x in node.inputs:
            if isinstance(x, Parameter) and x.wants_gradient and id(x) not in known:
                raise GradientError(
                    f"{type(function).__name__} computes with a parameter of shape {x.shape} (in {node.name}) that "
                    "named_parameters() does not find, so it would not be trained; keep layers and parameters in "
                    "attributes, lists, tuples or dictionaries, and give networks that are not trained as .plain"
                )


def _by_complex_step(
    evaluate: Callable[[], list[Any]],
    tensor: Tensor,
    derivative: Array,
    differences: Array,
    by_differences: Comparison,
) -> Comparison:
    """Compare with the complex step, or say why it does not apply."""
    name, method = by_differences.name, "complex step"
    try:
        reference = complex_step(lambda: sum(y.sum() for y in evaluate()), tensor)
    except TypeError as error:  # it took real numbers just now: floor, hypot, cbrt... have no complex version
        reason = f"the function does not take complex numbers ({error})"
        return replace(by_differences, method=method, tolerance=COMPLEX_TOLERANCE, not_applicable=reason)
    comparison = compare(name, method, derivative, reference, COMPLEX_TOLERANCE)
    if comparison.passed or not by_differences.passed:
        return comparison
    if not _violates_cauchy_riemann(evaluate, tensor, differences, reference):
        return comparison
    return replace(comparison, not_applicable="the function is not analytic here (abs, conj, real...)")


def _violates_cauchy_riemann(
    evaluate: Callable[[], list[Any]], tensor: Tensor, differences: Array, reference: Array
) -> bool:
    """Return whether real and imaginary steps differ by more than the error of central differences.

    An analytic function has the same derivative in both directions. What the differences may be off by is seen from a
    smaller step, which has a hundredth of their truncation error and ten times their rounding error.
    """
    finer, noise = measured_differences(evaluate, tensor, DIFFERENCE_STEP / 10)
    uncertainty = np.maximum(np.abs(differences - finer) + noise, DIFFERENCE_TOLERANCE * np.abs(differences).max())
    return bool((np.abs(reference - differences) > CLEARLY * uncertainty).any())


def central_differences(scalar: Callable[[], Any], tensor: Tensor) -> Array:
    """(L(x + h) - L(x - h)) / 2h for every element of a tensor that `scalar` reads."""
    return measured_differences(lambda: [np.asarray(scalar())], tensor)[0]


def complex_step(scalar: Callable[[], Any], tensor: Tensor) -> Array:
    """Im L(x + ih) / h: no subtraction, hence exact to rounding. A silent cast to real raises GradientError."""
    original = tensor.value
    reference = np.empty(original.shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            for index in np.ndindex(original.shape):
                replace_value(tensor, original.astype(np.complex128))
                tensor.value[index] += 1j * COMPLEX_STEP
                reference[index] = np.imag(scalar()) / COMPLEX_STEP
    except np.exceptions.ComplexWarning as warning:
        raise GradientError(
            f"the function drops the imaginary part of a complex number silently ({warning}), so the complex step "
            "cannot judge it; keep the type of the input (np.empty_like(x), x.dtype), or pass analytic=False"
        ) from warning
    finally:
        replace_value(tensor, original)
    return reference


def measured_differences(
    evaluate: Callable[[], list[Any]], tensor: Tensor, step: float = DIFFERENCE_STEP
) -> tuple[Array, float]:
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
                replace_value(tensor, original.copy())
                tensor.value[index] += sign * step
                pair.append(evaluate())
            changes = [after - before for after, before in zip(*pair, strict=True)]
            reference[index] = sum(change.sum() for change in changes) / (2 * step)
            touched = sum(float(np.abs(y[change != 0]).sum()) for y, change in zip(pair[0], changes, strict=True))
            noise = max(noise, 2 * precision * touched / step)
    finally:
        replace_value(tensor, original)
    return reference, noise


def _is_real(x: Any) -> bool:
    return isinstance(x, np.ndarray) and np.issubdtype(x.dtype, np.floating)


def _input_names(function: Any, count: int) -> list[str]:
    """Return the argument names of the function, in order."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return (names + [f"input {i}" for i in range(len(names), count)])[:count]


def _parameters(function: Any) -> list[tuple[str, Parameter]]:
    return list(function.named_parameters()) if hasattr(function, "named_parameters") else []


def _outputs(result: Any) -> list[Any]:
    """Return the array outputs of a call; counts and the like have no derivative."""
    outputs = result if isinstance(result, tuple) else (result,)
    return [y for y in outputs if hasattr(y, "shape")]
