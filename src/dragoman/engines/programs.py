"""A training pass without a graph: error, hits and all derivatives of a recorded network.

The network and back-propagation define what a pass computes. A network and its error are recorded once for each kind of
batch (`tracing`); an engine makes a program of the record, which runs for any batch of that kind. Where the engine has
no kernel for an operation, or the network asks for values of the batch, the graph is recorded instead.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import threading
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dragoman import operations
from dragoman.batch import Batch
from dragoman.engines.snapshots import Snapshot, arrays_in, fields_of, is_known_by_fields, layers_of
from dragoman.engines.tracing import BatchKind, SymbolicKey, record
from dragoman.errors import DragomanWarning, ShapeError
from dragoman.graph import Array, DeferredGradient, Parameter, TraceError, backpropagate, current_engine
from dragoman.graph.operation import definitions

CONTEXT_OPTIONS = {"noise", "maps", "carried"}  # of layers.ForwardContext
BELOW = ("dragoman.engines", "dragoman.graph", "dragoman.operations")  # of networks and layers
MOST_READ = MOST_MADE = 32  # a network, or an error, that changes with every step is not recorded again each time
ROWS_COMPARED = 32  # of the first batch of a program, which runs both ways
ERROR_TOLERANCE = 1e-4  # of the error, relative
TOLERANCE, NOISE = 0.02, 1e-5  # of a derivative: relative to its norm, and to that of the gradient
KINK = 0.3  # of a derivative, relative to its norm: a unit of ReLU on the other side of its kink changes less

Forward = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
Derivatives = Iterable[tuple[Parameter, Array | DeferredGradient]]


class Engine:
    """How an engine computes programs.

    kernels  by the name of an operation     make  a program of a trace     start  a run of a program for a batch
    reason   why it computes none here; empty if it does
    """

    def __init__(self, kernels: Any, make: Any, start: Any, key: Callable[[], Any], reason: Callable[[Any], str]):
        self.kernels, self.make, self.start, self.key, self.reason = kernels, make, start, key, reason


ENGINES: dict[str, Engine] = {}


class Programs:
    """The programs of one network by kind of batch, and why there is none for some; read again when a layer changed.

    reason  why there is none for any batch; empty if there may be
    """

    def __init__(self, network: Any, times_read: int = 1) -> None:
        self.lock = threading.Lock()
        self.made: dict[Any, Any] = {}  # a program, or the reason why there is none
        self.parameters = {_start(parameter): parameter for parameter in network.theta.parameters}
        self.times_read = times_read
        self._flags = _flags(network)
        self._snapshots = [Snapshot(name, layer) for name, layer in layers_of(network)]
        self.reason = next((found.reason for found in self._snapshots if found.reason), "")
        self.arrays = [array for found in self._snapshots for array in arrays_in(found.values)]
        if times_read > MOST_READ:
            self.reason = f"its layers were changed {MOST_READ} times"

    def unchanged(self, network: Any) -> bool:
        """Whether no layer has been changed since it was read."""
        if self._flags != _flags(network):
            return False
        try:
            return all(snapshot.holds() for snapshot in self._snapshots)
        except (KeyError, ValueError):  # an attribute is gone, or became an array
            return False


def _flags(network: Any) -> tuple[Any, ...]:
    """Which parameters are frozen, and the type and address of theta, which is the network's own."""
    theta = network.theta
    return type(network), id(theta), theta.values.dtype, *(parameter.frozen for parameter in theta.parameters)


def _start(parameter: Parameter) -> int:
    assert parameter.slot is not None
    return int(parameter.slot.start)


_networks: WeakKeyDictionary[Any, Programs] = WeakKeyDictionary()
_lock = threading.Lock()


def programs_of(network: Any) -> Programs:
    found = _networks.get(network)
    if found is None or not found.unchanged(network):
        with _lock:  # another shard may have read it again by now
            found = _networks.get(network)
            if found is None or not found.unchanged(network):
                found = _networks[network] = Programs(network, 1 if found is None else found.times_read + 1)
    return found


def differentiate(
    forward: Forward, error: Any, network: Any, batch: Batch, run: Any, total: float | None
) -> tuple[float, float, Derivatives] | None:
    """(error, hits, derivatives of all parameters) of a batch; None: record the graph instead.

    forward  (network, batch, context, total) -> error and hits: what is recorded     error  what it depends on
    total    the weight of the whole batch, when this is a shard
    """
    engine = ENGINES.get(current_engine())
    if engine is None or not _can_be_kept(network) or engine.reason(network) or not len(batch.labels):
        return None
    if vars(run).keys() != CONTEXT_OPTIONS or run.maps is not None or not is_known_by_fields(error):
        return None
    programs = programs_of(network)
    if programs.reason:
        return None
    step = Step(engine, programs, forward, network, batch, run, total)
    program = _program(step, error)
    if program is None:
        return None
    found = step.start(program, batch, run)
    if not found.fits:
        return None
    value, hits = found.forward()
    parameters = programs.parameters
    return value, hits, ((parameters[start], delta) for start, delta in found.derivatives())


def _can_be_kept(network: Any) -> bool:
    """Whether programs can be found by the network, and its attributes read."""
    return isinstance(network, Hashable) and hasattr(network, "__weakref__") and hasattr(network, "__dict__")


class Step(NamedTuple):
    """What is to be differentiated."""

    engine: Engine
    programs: Programs
    forward: Forward
    network: Any
    batch: Batch
    run: Any
    total: float | None

    def start(self, program: Any, batch: Batch, run: Any) -> Any:
        return self.engine.start(program, self.network.theta, self.programs.parameters, batch, run, self.total)


def _program(step: Step, error: Any) -> Any:
    """The program for such a batch, compared with the definitions when it is new; None: there is none."""
    run, made, kind = step.run, step.programs.made, BatchKind.of(step.batch)
    given = type(run), run.noise is None, run.carried is None, step.total is None
    key = step.engine.key(), type(error), tuple(fields_of(error).values()), kind, given
    try:
        program = made.get(key)
    except TypeError:  # a field of the error may change
        return None
    if program is None or (not isinstance(program, str) and not program.verified):
        with step.programs.lock:  # other shards wait
            program = made.get(key)
            if program is None:
                program = _made(step, kind) if len(made) < MOST_MADE else f"there are {MOST_MADE} programs for it"
            if not isinstance(program, str) and not program.verified:
                program = _verified(step, program)
            if len(made) < MOST_MADE:
                made[key] = program
    return None if isinstance(program, str) or not program.verified else program


def _made(step: Step, kind: BatchKind) -> Any:
    """A program, or the reason why there is none."""
    try:
        arrays = step.programs.arrays
        trace = record(step.engine.kernels, arrays, step.forward, step.network, kind, step.run, step.total is not None)
    except Exception as error:  # a network may do anything with symbols; if something is wrong, the graph says what
        return _explained(error)
    return _compiled(step.engine, trace)


def _compiled(engine: Engine, trace: Any) -> Any:
    try:
        return engine.make(trace)
    except TraceError as error:
        return _explained(error)


def _verified(step: Step, program: Any) -> Any:
    """The program, verified if it agrees with the definitions on some sequences of the batch; otherwise the reason.

    A unit whose input is next to the kink of ReLU may be on either side of it, which changes derivatives a little. So
    where derivatives differ by little, other sequences must differ too.
    """
    reason = ""
    for some in _some_sequences(step.batch):
        found = _compared(step, program, some)
        if found is None or not found.reason:
            program.verified = found is not None
            return program
        reason = found.reason
        if found.certain:
            break
    advice = "this network is trained through the graph, which is right but slower; please report this as a bug"
    warnings.warn(f"{reason}; {advice}", DragomanWarning, stacklevel=2)
    return reason


class Comparison(NamedTuple):
    """What a program and the definitions do not agree on; empty if they agree on everything.

    certain  whether rounding cannot be the reason
    """

    reason: str = ""
    certain: bool = True


def _compared(step: Step, program: Any, batch: Batch) -> Comparison | None:
    """Compare a program with the definitions; None if there is nothing to compare."""
    found = step.start(program, batch, _with_own_states(step.run))
    if not found.fits:
        return None
    trained = [parameter for parameter in step.network.theta.parameters if not parameter.frozen]
    with definitions():
        error, _ = step.forward(step.network, batch, _with_own_states(step.run), step.total)
        expected = backpropagate(error, trained)
    value, _ = found.forward()
    if not math.isclose(float(error), value, rel_tol=ERROR_TOLERANCE):
        return Comparison(f"kernels and definitions disagree on the error: {value:g} and {float(error):g}")
    norms = [_norm(array) for array in expected]
    differences = dict(zip(map(_start, trained), expected, strict=True))
    for start, delta in found.derivatives():
        differences[start] -= delta.value() if isinstance(delta, DeferredGradient) else delta  # in place: saves memory
    most = math.hypot(*norms)
    for parameter, norm in zip(trained, norms, strict=True):
        difference = _norm(differences[_start(parameter)])
        if not difference <= TOLERANCE * norm + NOISE * most:
            name = next(name for name, each in step.network.named_parameters() if each is parameter)
            reason = f"kernels and definitions disagree on the derivative of {name}"
            return Comparison(reason, certain=not difference <= KINK * norm)
    return Comparison() if most else None


def _norm(array: Array) -> float:
    with np.errstate(over="ignore"):  # kernels may have left anything
        return float(np.linalg.norm(array))


def _with_own_states(run: Any) -> Any:
    """The context of a pass that nothing follows: it leaves no states to the next batch."""
    return run if run.carried is None else dataclasses.replace(run, carried=copy.deepcopy(run.carried))


def _some_sequences(batch: Batch) -> list[Batch]:
    """The first sequences of a batch, and the last ones if they are others: enough for a comparison, and no more."""
    count = min(len(batch), int(np.searchsorted(batch.offsets, ROWS_COMPARED)) or 1)
    first, last = batch.between(0, count), batch.between(len(batch) - count, len(batch))
    return [first] if count == len(batch) else [first, last]


@dataclass(frozen=True)
class _Context:
    """A forward pass with dropout, as layers.ForwardContext describes one."""

    noise: Any = None
    maps: None = None
    carried: None = None

    def dropout(self, rate: float, site: int, first_row: Any) -> Any:
        return self.noise.dropout(rate, site, first_row)


def graph_reason(network: Any, engine: str, batch: Any = None) -> str:
    """Why a network is trained through the graph, and where that is decided; empty if a program trains it.

    batch  of the kind that it reads; None: labels, pairs or real rows are tried

    This is what the network allows, with an error whose kernels are known: cross-entropy, or squares.
    """
    found = ENGINES[engine]
    reason = found.reason(network) or programs_of(network).reason
    if reason:
        return reason
    inputs = getattr(getattr(network, "configuration", None), "inputs", None) or 1
    source = BatchKind(targets=None, weighted=False)
    usual = BatchKind(), BatchKind(source=source), BatchKind(real=True, width=(inputs,))
    for kind in usual if batch is None else (BatchKind.of(batch),):
        try:
            arrays = programs_of(network).arrays
            trace = record(found.kernels, arrays, _some_error, network, kind, _Context(SymbolicKey()), False)
        except ShapeError:  # such a network reads other batches
            continue
        except Exception as error:
            return _explained(error)
        program = _compiled(found, trace)
        return program if isinstance(program, str) else ""
    return "it reads batches of another kind"


def _some_error(network: Any, batch: Any, run: Any, total: Any) -> tuple[Any, Any]:
    if not hasattr(network, "before_output"):
        return operations.mean_squared_error(network(batch, run), targets=batch.targets), math.nan
    x, layer = network.before_output(batch, run)
    return operations.linear_cross_entropy(
        x, layer.weights, layer.biases, targets=batch.targets, transposed=layer.transposed
    )


def _explained(error: Exception) -> str:
    """What the network did that cannot be recorded, and where."""
    message = str(error) if isinstance(error, TraceError) else f"{type(error).__name__}: {error}"
    frames = traceback.walk_tb(error.__traceback__)
    own = [frame.f_code for frame, _ in frames if not frame.f_globals.get("__name__", "").startswith(BELOW)]
    return f"{own[-1].co_qualname}: {message}" if own else message
