"""Compares a new program with the definitions: error and derivatives of some sequences of its first batch."""

from __future__ import annotations

import copy
import dataclasses
import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dragoman.batch import Batch
from dragoman.engines.tracing import explained
from dragoman.graph import Array, DeferredGradient, backpropagate
from dragoman.graph.operation import definitions

if TYPE_CHECKING:
    from dragoman.engines.programs import TrainingPass

ROWS_COMPARED = 32  # of the first batch of a program, which runs both ways
MOST_ROWS_DEFINED = 1024  # of longer sequences the definitions of attention take too much memory: the graph is compared
ERROR_TOLERANCE, ROUNDING = 1e-4, 1e-6  # of the error: relative, and absolute
FITTED = 1e-5  # an error below it is mostly rounding, and so is its gradient
DERIVATIVE_TOLERANCE, GRADIENT_TOLERANCE = 0.02, 1e-5  # of a derivative: relative to its norm, and to the gradient's
KINK = 0.3  # of a derivative, relative to its norm: a unit of ReLU on the other side of its kink changes less


class Comparison(NamedTuple):
    """What a program and the definitions do not agree on; empty if they agree on everything.

    certain  whether rounding cannot be the reason
    """

    reason: str = ""
    certain: bool = True


def compare(training_pass: TrainingPass, program: Any) -> Comparison | None:
    """Compare a program with the definitions on some sequences of a batch; None if there is nothing to compare.

    A unit whose input is next to the kink of ReLU may be on either side of it, which changes derivatives a little. So
    where derivatives differ by little, other sequences must differ too.
    """
    found = None
    for some in _some_sequences(training_pass.batch):
        found = _compare_sequences(training_pass, program, some)
        if found is None or not found.reason or found.certain:
            break
    return found


def _compare_sequences(training_pass: TrainingPass, program: Any, batch: Batch) -> Comparison | None:
    """The same on all sequences of a batch."""
    network, context, total = training_pass.network, training_pass.context, training_pass.total
    run = training_pass.start(program, batch, _with_own_states(context))
    if not run.fits:
        return None
    trained = [parameter for parameter in network.theta.parameters if not parameter.frozen]
    is_short = max(int(rows.lengths.max()) for rows in (batch, batch.source or batch)) <= MOST_ROWS_DEFINED
    with definitions() if is_short else nullcontext(), np.errstate(all="ignore"):
        error, _ = training_pass.forward(network, batch, _with_own_states(context), total)
        expected = backpropagate(error, trained)
    norms = [_norm(array) for array in expected]
    gradient_norm = math.hypot(*norms)
    if not gradient_norm:
        return None
    differences = {parameter.start: array for parameter, array in zip(trained, expected, strict=True)}
    try:
        value, _ = run.forward()
        for start, delta in run.derivatives():  # in place: saves memory
            differences[start] -= delta.value() if isinstance(delta, DeferredGradient) else delta
    except MemoryError:
        raise
    except Exception as exception:
        return Comparison(f"kernels fail where definitions do not ({explained(exception)})")
    found = Comparison()
    if not math.isclose(float(error), value, rel_tol=ERROR_TOLERANCE, abs_tol=ROUNDING):
        found = Comparison(f"kernels and definitions disagree on the error: {value:g} and {float(error):g}")
    for parameter, norm in zip(trained, norms, strict=True):
        difference = _norm(differences[parameter.start])
        if not found.reason and not difference <= DERIVATIVE_TOLERANCE * norm + GRADIENT_TOLERANCE * gradient_norm:
            name = next(name for name, each in network.named_parameters() if each is parameter)
            reason = f"kernels and definitions disagree on the derivative of {name}"
            found = Comparison(reason, certain=not difference <= KINK * norm)
    return None if found.reason and abs(float(error)) < FITTED else found


def _norm(array: Array) -> float:
    with np.errstate(over="ignore"):  # kernels may have left anything
        return float(np.linalg.norm(array))


def _with_own_states(context: Any) -> Any:
    """The context of a pass that nothing follows: it leaves no states to the next batch."""
    return context if context.carried is None else dataclasses.replace(context, carried=copy.deepcopy(context.carried))


def _some_sequences(batch: Batch) -> list[Batch]:
    """The first sequences of a batch, and the last ones if they are others: enough for a comparison, and no more."""
    count = min(len(batch), int(np.searchsorted(batch.offsets, ROWS_COMPARED)))
    first, last = batch.between(0, count), batch.between(len(batch) - count, len(batch))
    return [first] if count == len(batch) else [first, last]
