"""Conditions for the convergence of Adam (thesis 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array


def a_priori_conditions(beta1: float, beta2: float) -> list[str]:
    """List the conditions of (5.2.3) that the coefficients violate: b1 < sqrt(b2) and b1^2 < sqrt(b2)."""
    root = beta2**0.5
    broken = []
    if not beta1 < root:
        broken.append(f"beta1 < sqrt(beta2) = {root:.6g}")
    if not beta1**2 < root:
        broken.append(f"beta1^2 < sqrt(beta2) = {root:.6g}")
    return broken


@dataclass(frozen=True)
class LocalConvergence:
    """The two sides of (5.2.2), and whether the point is a minimum at all: every curvature above 0."""

    left: float
    right: float
    minimum: bool

    @property
    def holds(self) -> bool:
        """Adam converges locally and exponentially."""
        return self.minimum and self.left < self.right


def local_convergence(
    rate: float,
    curvatures: Array | float,
    beta1: float = 0.9,
    epsilon: float = 1e-8,
    form: Literal["outside", "inside"] = "outside",
) -> LocalConvergence:
    """Theorem 5.8: eta max(lambda) (1 - b1) / D < 2 b1 + 2, lambda the eigenvalues of the Hessian at the minimum.

    inside   D = sqrt(eps), as the theorem prints; it is about the denominator sqrt(v + eps)
    outside  D = eps, for the denominator sqrt(vhat) + eps of (5.2.1), to which the printed condition does not
             apply. Confirmed by simulation on quadratics; a proof would need sqrt(v) to be smooth at 0.

    The theorem supposes a minimum with all lambda > 0; `curvatures` finds them for a small problem.
    """
    values = np.atleast_1d(np.asarray(curvatures, np.float64))
    if form not in ("outside", "inside"):
        raise ConfigurationError(f"epsilon stands 'outside' or 'inside' the root, got '{form}'")
    below = epsilon if form == "outside" else epsilon**0.5
    left = rate * float(values.max()) * (1 - beta1) / below
    return LocalConvergence(left, 2 * beta1 + 2, bool(values.min() > 0))


def curvatures(gradient: Callable[[Array], Array], theta: Array, step: float = 1e-5) -> Array:
    """Compute the eigenvalues of the Hessian, ascending, by central differences of the gradient (2p gradients).

    Computed in float64; the gradient should be too.
    """
    point = theta.astype(np.float64)
    columns = []
    for u in range(point.size):
        shift = np.zeros_like(point)
        shift[u] = step
        columns.append((gradient(point + shift) - gradient(point - shift)) / (2 * step))
    hessian = np.stack(columns, axis=1)
    return np.linalg.eigvalsh((hessian + hessian.T) / 2)
