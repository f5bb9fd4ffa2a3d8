"""Every kernel on arrays of every type, order and size: the results of the definition, an error, or not covered."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from dragoman import operations
from dragoman.engines import fused_search
from dragoman.engines.transformer_reader import reader_of
from dragoman.errors import DragomanError
from dragoman.graph import Array, DeferredGradient, Operation
from dragoman.graph.operation import Dispatched
from dragoman.operations import vector_updates
from dragoman.operations.dropout import Dropout
from dragoman.operations.softmax import log_sum_exp
from dragoman.operations.vector_steps import Epoch, vector_steps
from dragoman.tasks.vectors.plan import VectorSettings, make_plan

pytest.importorskip("numba")
import dragoman.engines.numba  # noqa: F401
from tests.engines.test_fused_search import talkative

ROWS, MEMORY_ROWS, DEPTH = 40, 41, 16
REAL = (np.float32, np.float64)
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-11}
TYPES = (*REAL, np.float16, np.longdouble, np.int64, np.int32)
INTEGERS = (np.int32, np.int16, np.uint8, np.uint64, np.float32, bool)

OFFSETS, MEMORY = np.array([0, 5, 5, ROWS]), np.array([0, 3, 7, MEMORY_ROWS])  # short, empty and long
LABELS = np.arange(ROWS) * 5 % 7
WEIGHTS = (np.arange(ROWS) % 3).astype(np.float32)
SAMPLES = (len(OFFSETS) - 1, DEPTH)
PLAN = make_plan(np.arange(1, 8), ROWS, VectorSettings(window=2, negative=2, subsampling=0))
DROPPED = Dropout(0.3, 5)
ADAM = {"rate": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.1, "inside": False, "age": 2, "decay": 0.1, "factor": 0.5}


class Case(NamedTuple):
    """A kernel, and arguments that it covers: the shapes of its inputs, and its options.

    changes  its first inputs, so many, in place; `reference` says what they become
    """

    kernel: Dispatched[Any]
    shapes: list[tuple[int, ...]]
    options: dict[str, Any]
    changes: int = 0
    reference: Callable[..., Any] | None = None


def adam(theta: Array, gradient: Array, m: Array, v: Array, **numbers: Any) -> bool:
    g = gradient * numbers["factor"]
    m[...] = numbers["beta1"] * m + (1 - numbers["beta1"]) * g
    v[...] = numbers["beta2"] * v + (1 - numbers["beta2"]) * g * g
    first, second = m / (1 - numbers["beta1"] ** numbers["age"]), v / (1 - numbers["beta2"] ** numbers["age"])
    theta -= numbers["rate"] * (first / (np.sqrt(second) + numbers["epsilon"]) + numbers["decay"] * theta)
    return True


def average(mean: Array, theta: Array, *, decay: float) -> bool:
    mean += (1 - decay) * (theta - mean)
    return True


CASES = [
    Case(operations.linear, [(ROWS, DEPTH), (DEPTH, 24), (24,)], {"activation": "gelu"}),
    Case(operations.linear, [(ROWS, DEPTH), (7, DEPTH)], {"transposed": True}),
    Case(operations.normalize, [(ROWS, DEPTH), (DEPTH,), (DEPTH,)], {}),
    Case(operations.add_normalize, [(ROWS, DEPTH), (ROWS, DEPTH), (DEPTH,), (DEPTH,)], {"dropout": DROPPED}),
    Case(operations.drop, [(ROWS, DEPTH)], {"dropout": DROPPED}),
    Case(operations.embed, [(7, DEPTH)], {"labels": LABELS}),
    Case(operations.embed, [(7, DEPTH), (9, DEPTH)], {"labels": LABELS, "positions": LABELS[::-1], "scale": 2.0}),
    Case(operations.cross_entropy, [(ROWS, 7)], {"targets": LABELS, "weights": WEIGHTS, "smoothing": 0.1}),
    Case(
        operations.linear_cross_entropy,
        [(ROWS, DEPTH), (DEPTH, 7), (7,)],
        {"targets": LABELS, "loss_weights": WEIGHTS},
    ),
    Case(operations.linear_cross_entropy, [(ROWS, DEPTH), (7, DEPTH)], {"targets": LABELS, "transposed": True}),
    Case(log_sum_exp, [(ROWS, 7)], {}),
    Case(operations.attend_self, [(ROWS, 3 * DEPTH), (2, 3)], {"offsets": OFFSETS, "heads": 2, "causal": True}),
    Case(operations.attend_self, [(ROWS, 3 * DEPTH)], {"offsets": OFFSETS, "heads": 4}),
    Case(
        operations.attend_cross,
        [(ROWS, DEPTH), (MEMORY_ROWS, 2 * DEPTH)],
        {"offsets": OFFSETS, "memory_offsets": MEMORY, "heads": 2},
    ),
    Case(
        operations.attend_step,
        [(3, DEPTH), (MEMORY_ROWS, 2 * DEPTH), (2, 3)],
        {"starts": MEMORY[:-1], "lengths": np.diff(MEMORY), "heads": 2},
    ),
    Case(
        operations.attend_additive,
        [(ROWS, DEPTH), (MEMORY_ROWS, DEPTH), (DEPTH,), (MEMORY_ROWS, 5)],
        {"offsets": OFFSETS, "memory_offsets": MEMORY},
    ),
    Case(operations.rnn, [(ROWS, DEPTH), (DEPTH, DEPTH), SAMPLES], {"offsets": OFFSETS, "cut": 3}),
    Case(operations.lstm, [(ROWS, 4 * DEPTH), (DEPTH, 4 * DEPTH), SAMPLES, SAMPLES], {"offsets": OFFSETS}),
    Case(operations.gru, [(ROWS, 3 * DEPTH), (DEPTH, 3 * DEPTH), SAMPLES, (DEPTH,)], {"offsets": OFFSETS}),
    Case(operations.gru, [(ROWS, 3 * DEPTH), (DEPTH, 3 * DEPTH)], {"offsets": OFFSETS, "reverse": True}),
    Case(operations.patches, [(2, 4, 6, 3)], {"size": (2, 3)}),
    Case(operations.convolve, [(2, 4, 6, 3), (12, DEPTH), (DEPTH,)], {"size": (2, 2), "padding": "same"}),
    Case(operations.max_pool, [(2, 4, 6, 3)], {"size": (2, 2), "stride": (1, 2)}),
    Case(operations.average_pool, [(2, 4, 6, 3)], {"size": (2, 2)}),
    Case(vector_updates.sum_of_squares, [(ROWS,)], {}),
    Case(vector_updates.adam_sweep, [(ROWS,), (ROWS,), (ROWS,), (ROWS,)], ADAM, 4, adam),
    Case(vector_updates.average_sweep, [(ROWS,), (ROWS,)], {"decay": 0.9}, 1, average),
    Case(
        vector_steps,
        [(7, DEPTH), (7, DEPTH)],
        {"labels": LABELS, "offsets": OFFSETS, "plan": PLAN, "epoch": Epoch(1, 2, 3), "first": 0, "last": 3},
        2,
    ),
]


def test_every_kernel_has_a_case() -> None:
    found: set[Any] = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("dragoman."):
            found.update(x for x in vars(module).values() if isinstance(x, Dispatched) and "numba" in x._faster)
    assert {case.kernel for case in CASES} | {search for search, _ in SEARCHES} == found


# What may be done to an array


def every_other(x: Array) -> Array:
    wide = np.repeat(x, 2, axis=-1)
    return wide[..., ::2]


def misaligned(x: Array) -> Array:
    raw = np.frombuffer(bytearray(x.nbytes + 1), np.uint8)[1:]
    y = raw.view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


def read_only(x: Array) -> Array:
    y = x.copy()
    y.setflags(write=False)
    return y


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "in Fortran's order": np.asfortranarray,
    "every other column of": every_other,
    "from the last row to the first": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "one row repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "not aligned": misaligned,
}
DELTAS = {**LAYOUTS, "read-only": read_only}  # they have the type of the value: `backpropagate` sees to that
LAYOUTS["in the other byte order"] = lambda x: x.astype(x.dtype.newbyteorder())
SIZES: dict[str, Callable[[Array], Array]] = {
    "without its last row": lambda x: x[:-1].copy(),
    "without its last column": lambda x: x[..., :-1].copy(),
    "without its last axis": lambda x: x[..., 0].copy(),
    "empty": lambda x: x[:0].copy(),
}


def types(kinds: Any) -> dict[str, Callable[[Array], Array]]:
    return {f"of {kind.__name__}": partial(np.asarray, dtype=kind) for kind in kinds}


Arguments = tuple[list[Array], dict[str, Any]]


def plain(case: Case, kind: Any, resized: dict[int, int] | None = None) -> Arguments:
    """Arguments that the kernel covers; resized: sizes of axes that are changed everywhere."""
    rng, sizes = np.random.default_rng(0), resized or {}
    inputs = [rng.uniform(0.1, 0.9, [sizes.get(n, n) for n in shape]).astype(kind) for shape in case.shapes]
    return inputs, dict(case.options)


def emptied(case: Case, kind: Any) -> Arguments:
    """The same without rows."""
    inputs, options = plain(case, kind, {ROWS: 0, MEMORY_ROWS: 0})
    for name, x in options.items():
        if isinstance(x, np.ndarray):
            options[name] = x[:0] if len(x) == ROWS else np.zeros_like(x)
    return inputs, options


def locked(case: Case, kind: Any) -> Arguments:
    """The same, read-only."""
    inputs, options = plain(case, kind)
    arrays = {name: read_only(x) for name, x in options.items() if isinstance(x, np.ndarray)}
    return [read_only(x) for x in inputs], options | arrays


def variants(case: Case, kind: Any) -> Iterator[tuple[str, Arguments]]:
    """The arguments with one array changed, or all of them."""
    yield "as they are", plain(case, kind)
    yield "no rows", emptied(case, kind)
    yield "no columns", plain(case, kind, {n * DEPTH: 0 for n in range(1, 5)})
    yield "all read-only", locked(case, kind)
    for i in range(len(case.shapes)):
        for change, function in (LAYOUTS | SIZES | types(TYPES)).items():
            inputs, options = plain(case, kind)
            inputs[i] = function(inputs[i])
            yield f"input {i} {change}", (inputs, options)
    for name, x in case.options.items():
        if isinstance(x, np.ndarray):
            others = INTEGERS if x.dtype.kind in "iu" else TYPES
            for change, function in (LAYOUTS | SIZES | types(others)).items():
                inputs, options = plain(case, kind)
                yield f"'{name}' {change}", (inputs, options | {name: function(x)})


# What comes of a call


class NotCovered(Exception):
    """The kernel leaves these arguments to the definition."""


def results(
    case: Case, function: Callable[..., Any], arguments: Arguments, delta: Callable[[Array], Array]
) -> list[Any]:
    """All values and derivatives."""
    inputs, options = arguments
    before = copy.deepcopy(inputs[case.changes :])
    outcome = function(*inputs, **options)
    if outcome is NotImplemented:
        raise NotCovered
    for x, was in zip(inputs[case.changes :], before, strict=True):
        np.testing.assert_array_equal(x, was, err_msg="an input was changed")
    if not isinstance(case.kernel, Operation):
        values = list(outcome) if isinstance(outcome, tuple) else [outcome]
        return [*values, *inputs[: case.changes]]
    value, backward = outcome
    values = list(value) if isinstance(value, tuple) else [value]
    deltas = [delta(np.cos(np.arange(y.size).reshape(y.shape)).astype(y.dtype)) for y in values if hasattr(y, "shape")]
    found = backward(*deltas)
    derivatives = found if isinstance(found, tuple) else (found,)
    return values + [d.value() if isinstance(d, DeferredGradient) else d for d in derivatives]


def attempt(*given: Any) -> list[Any] | Exception:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return results(*given)
        except Exception as error:
            return error


def difference(ours: Any, theirs: Any, kind: Any) -> str:
    """What is wrong with the results of a kernel that computes in this type; empty if nothing is."""
    if isinstance(ours, NotCovered):
        return ""
    if isinstance(ours, Exception):  # said in the words of the definition, or in those of the project
        return "" if isinstance(ours, DragomanError | type(theirs)) else f"{_short(ours)}, expected {_short(theirs)}"
    if isinstance(theirs, Exception):
        return f"results, expected {_short(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if (a is None) != (b is None):
            return f"result {i} is {a}, expected {b}"
        if a is None:
            continue
        a, b = np.asarray(a), np.asarray(b)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"result {i} is {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        tolerance = TOLERANCE[kind] * max(1.0, float(np.abs(b).max(initial=0)))
        if not np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
            return f"result {i} is off by {np.abs(a - b).max()}, where the largest is {np.abs(b).max()}"
    return ""


def _short(x: Any) -> str:
    return f"{type(x).__name__}: {str(x)[:150]}" if isinstance(x, Exception) else "results"


def unchanged(delta: Array) -> Array:
    return delta


def calls(case: Case) -> Iterator[tuple[str, Arguments, Callable[[Array], Array]]]:
    """(what is changed, arguments, how deltas are changed)"""
    for kind in REAL:
        for name, arguments in variants(case, kind):
            yield f"{kind.__name__}, {name}", arguments, unchanged
        if isinstance(case.kernel, Operation):
            for name, change in DELTAS.items():
                yield f"{kind.__name__}, deltas {name}", plain(case, kind), change


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel.name)
def test_no_argument_makes_a_kernel_wrong(case: Case) -> None:
    kernel, definition, wrong = case.kernel._faster["numba"], case.reference or case.kernel.definition, []
    assert not isinstance(attempt(case, kernel, plain(case, np.float32), unchanged), Exception)  # it is covered
    for (name, *given), (_, same, change) in zip(calls(case), calls(case), strict=True):  # some calls change arrays
        found = difference(attempt(case, kernel, *given), attempt(case, definition, same, change), same[0][0].dtype)
        if found:
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)


SEARCHES: list[tuple[Dispatched[Any], dict[str, Any]]] = [
    (fused_search.greedy_search, {"scored": True}),
    (fused_search.beam_search, {"width": 2, "length_penalty": 0.5, "best": 1}),
]


@pytest.mark.parametrize(("search", "options"), SEARCHES, ids=lambda each: getattr(each, "name", ""))
def test_no_argument_makes_a_search_wrong(numba: None, search: Dispatched[Any], options: dict[str, Any]) -> None:
    network = talkative(end=0.0)
    reader = reader_of(network)
    assert reader is not None
    spec = reader.spec(network, 3, 9)
    prefixes = np.array([[4, 5], [fused_search.FREE] * 2])
    integers = np.array([4, 5, 6, 7, 8]), np.array([0, 2, 5]), np.array([8, 6]), prefixes
    expected = search(spec, *integers, **options)
    assert expected is not None
    for i, x in enumerate(integers):
        several = {**LAYOUTS, "read-only": read_only, **types([np.int32, np.int16])}
        for name, change in several.items():
            if name != "one row repeated":
                changed = (*integers[:i], change(x), *integers[i + 1 :])
                for ours, theirs in zip(search(spec, *changed, **options), expected, strict=True):
                    np.testing.assert_array_equal(ours, theirs, err_msg=f"input {i} {name}")
    for change in (read_only, every_other, misaligned, partial(np.asarray, dtype=np.float64)):
        assert search(spec._replace(theta=change(spec.theta)), *integers, **options) is None
