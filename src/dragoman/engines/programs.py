"""A training pass without a graph: error, hits and all derivatives of a traced network.

The network and back-propagation define what a pass computes. A network and its error are traced once for each kind of
batch (`tracing`); an engine makes a program of the trace, which runs for any batch of that kind. Where the engine has
no kernel for an operation, or the network needs values of the batch, the graph is recorded for each batch instead.
"""

from __future__ import annotations

import math
import random
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dragoman import operations
from dragoman.batch import Batch
from dragoman.engines.comparison import compare
from dragoman.engines.constants import contents, fields_of, is_constant, is_known_by_fields, takes_attributes
from dragoman.engines.reads import Execution, Reads
from dragoman.engines.tracing import BatchKind, SymbolicKey, Trace, explained, trace_network
from dragoman.errors import DragomanWarning, ShapeError
from dragoman.graph import Array, DeferredGradient, Parameter, Theta, TraceError, current_engine

CONTEXT_OPTIONS = {"noise", "maps", "carried"}  # of layers.ForwardContext
NOISES = NoneType, operations.DropoutKey
READ_AGAIN = Parameter, Theta, np.ndarray  # may be changed in place: programs read them again for every batch
MOST_READ = MOST_MADE = 32  # a network, or an error, that changes with every step is not traced again each time
MOST_TRIES = 32
NOTHING_TO_COMPARE = f"its first {MOST_TRIES} batches had no gradient to compare"

Forward = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
Derivatives = Iterable[tuple[Parameter, Array | DeferredGradient]]


class Engine(NamedTuple):
    """How an engine computes programs.

    kernels  by the name of an operation     make  a program of a trace     start  a run of a program for a batch
    key      what its programs depend on besides the network
    reason   (network) -> why it makes no programs for this network; empty if it does
    """

    kernels: dict[str, Any]
    make: Callable[[Any], Any]
    start: Callable[..., Any]
    key: Callable[[], Any]
    reason: Callable[[Any], str]


PROGRAM_ENGINES: dict[str, Engine] = {}


class Programs:
    """The programs of one network by kind of batch, and why there is none for some; made anew when something changed.

    reason  why there is none for any batch; empty if there may be
    arrays  attributes of layers, by name: read again for every batch
    """

    def __init__(self, network: Any, times_read: int = 1) -> None:
        self.lock = threading.Lock()
        self.made: dict[Any, Made] = {}
        self.reads = Reads()
        self.times_read = times_read
        self._version = network.theta.version
        self._number = self._version.number
        self.parameters = {parameter.start: parameter for parameter in network.theta.parameters}
        self.arrays: dict[str, list[Array]] = {}
        self.reason = self._reason(network)

    def _reason(self, network: Any) -> str:
        if not getattr(network, "sealed", False):
            return "its layers are not sealed; end its constructor with self._bind()"
        if self.times_read > MOST_READ:
            return f"it was changed {MOST_READ} times"
        if len(self.parameters) < len(network.theta.parameters):
            return "it has parameters without elements"
        for name, value in _attributes_of(network):
            if not _shows_changes(value):
                return f"{name} is an object whose changes would go unnoticed"
            self.arrays[name] = [part for part in contents(value) if isinstance(part, np.ndarray)]
        return ""

    def unchanged(self, network: Any) -> bool:
        """Whether nothing that its programs depend on has been changed since."""
        version = network.theta.version
        return version is self._version and version.number == self._number and self.reads.hold()


def _attributes_of(network: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of all layers of a network, with their names."""
    for layer_name, layer in network.named_layers():
        for name, value in vars(layer).items():
            yield f"{layer_name}.{name}" if layer_name else name, value


def _shows_changes(value: Any) -> bool:
    """Whether what a sealed attribute holds is sealed too, cannot be changed in place, or is read for every batch."""
    if isinstance(value, tuple | frozenset):
        return not takes_attributes(value) and all(map(_shows_changes, value))
    if isinstance(value, MappingProxyType):  # a copy, if there are layers or parameters in it
        return any(map(_is_part, contents(value))) and all(map(_shows_changes, value.values()))
    return isinstance(value, READ_AGAIN) or _is_part(value) or is_constant(value)


def _is_part(value: Any) -> bool:
    """Whether it is a sealed layer, or a parameter."""
    return isinstance(value, Parameter) or getattr(value, "sealed", False) is True


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
    forward: Forward, error_function: Any, network: Any, batch: Batch, context: Any, total: float | None
) -> tuple[float, float, Derivatives] | None:
    """(error, hits, derivatives of all parameters) of a batch; None: record the graph instead.

    forward         (network, batch, context, total) -> error and hits: what is traced
    error_function  that forward calls; a program is made for its class and fields
    total           the weight of the whole batch, when this is a shard
    """
    engine = PROGRAM_ENGINES.get(current_engine())
    if engine is None or not _can_be_kept(network) or engine.reason(network) or not len(batch.labels):
        return None
    if vars(context).keys() != CONTEXT_OPTIONS or context.maps is not None or type(context.noise) not in NOISES:
        return None
    if _error_reason(error_function):
        return None
    programs = programs_of(network)
    if programs.reason:
        return None
    training_pass = TrainingPass(engine, programs, forward, network, batch, context, total)
    program = _program(training_pass, error_function)
    if program is None:
        return None
    run = training_pass.start(program, batch, context)
    if not run.fits:
        return None
    error, hits = run.forward()
    parameters = programs.parameters
    return error, hits, ((parameters[start], delta) for start, delta in run.derivatives())


def _error_reason(error: Any) -> str:
    """Why no program is made for an error; empty if there may be one."""
    if not is_known_by_fields(error):
        return f"{type(error).__name__} is no frozen dataclass, so its changes would go unnoticed"
    return "" if is_constant(error) else f"{type(error).__name__} has a field whose changes would go unnoticed"


def _can_be_kept(network: Any) -> bool:
    """Whether programs can be found by the network, and its attributes read."""
    return isinstance(network, Hashable) and hasattr(network, "__weakref__") and hasattr(network, "__dict__")


class TrainingPass(NamedTuple):
    """What is to be differentiated."""

    engine: Engine
    programs: Programs
    forward: Forward
    network: Any
    batch: Batch
    context: Any
    total: float | None

    def start(self, program: Any, batch: Batch, context: Any) -> Any:
        return self.engine.start(program, self.network.theta, self.programs.parameters, batch, context, self.total)


class Made(NamedTuple):
    """What came of a trace.

    program   None: there is none, for this reason
    verified  whether it has been compared with the definitions
    tries     how often it could not be compared
    """

    program: Any = None
    reason: str = ""
    verified: bool = False
    tries: int = 0


def _program(training_pass: TrainingPass, error_function: Any) -> Any:
    """The program for such a batch, compared with the definitions when it is new; None: there is none."""
    context, made, kind = training_pass.context, training_pass.programs.made, BatchKind.of(training_pass.batch)
    given = (
        type(context),
        context.noise is None,
        context.carried is None,
        training_pass.total is None,
        type(training_pass.batch),
    )
    key = training_pass.engine.key(), type(error_function), tuple(fields_of(error_function).values()), kind, given
    found = made.get(key)
    if found is None or not (found.verified or found.reason):
        with training_pass.programs.lock:  # other shards wait
            found = made.get(key)
            if found is None and len(made) >= MOST_MADE:
                return None
            if found is None:
                found = _make(training_pass, kind, error_function)
            if not (found.verified or found.reason):
                found = _verify(training_pass, found)
            made[key] = found
    return found.program if found.verified else None


def _make(training_pass: TrainingPass, kind: BatchKind, error_function: Any) -> Made:
    engine, programs, forward, network, _, context, total = training_pass
    traced = Traced(forward, error_function, network, kind, context, total is not None)
    try:
        return Made(engine.make(_trace(engine, programs.arrays, programs.reads, traced)))
    except Exception as exception:  # a network may do anything with symbols; if something is wrong, the graph says what
        return Made(reason=explained(exception))


class Traced(NamedTuple):
    """What is to be traced. `forward` calls the network and the error function."""

    forward: Forward
    error_function: Any
    network: Any
    kind: BatchKind
    context: Any
    divided: bool


def _trace(engine: Engine, arrays: dict[str, list[Array]], reads: Reads, traced: Traced) -> Trace:
    """The trace of a network; raises TraceError if it seems to depend on more than what is traced and read.

    arrays  attributes of its layers     reads  takes in what else it reads
    """
    forward, error_function, network, kind, context, divided = traced
    known = [array for each in arrays.values() for array in each]
    before = [array.tobytes() for array in known]
    drawn, execution = _random_state(), Execution()
    with execution.noted():
        trace = trace_network(engine.kernels, known, forward, network, kind, context, divided)
    if drawn != _random_state():
        raise TraceError("it draws random numbers that are not those of the step")
    if before != [array.tobytes() for array in known]:
        raise TraceError("it changes an array among its attributes")
    for name, each in arrays.items():
        if any(array.size and id(array) not in trace.read for array in each):
            raise TraceError(f"{name} is an array that no operation reads, so its values may decide something else")
    used = [getattr(forward, "__self__", forward), error_function, context]
    used += [part for _, layer in network.named_layers() for part in (layer, *vars(layer).values())]
    reads.add(execution, used)
    return trace


def _random_state() -> Any:
    """Of the generators that a network may draw from without holding one."""
    _, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return random.getstate(), np.asarray(keys).tobytes(), rest


def _verify(training_pass: TrainingPass, made: Made) -> Made:
    """The program after it has been compared with the definitions on some sequences of the batch."""
    found = compare(training_pass, made.program)
    if found is None:
        return made._replace(tries=made.tries + 1, reason="" if made.tries + 1 < MOST_TRIES else NOTHING_TO_COMPARE)
    if not found.reason:
        return made._replace(verified=True)
    advice = "this network is trained through the graph, which is right but slower; please report this as a bug"
    warnings.warn(f"{found.reason}; {advice}", DragomanWarning, stacklevel=2)
    return Made(reason=found.reason)


@dataclass(frozen=True)
class _Context:
    """A forward pass with dropout, as layers.ForwardContext describes one."""

    noise: Any = None
    maps: None = None
    carried: None = None

    def dropout(self, rate: float, site: int, first_row: Any) -> Any:
        return self.noise.dropout(rate, site, first_row)


def graph_reason(network: Any, engine: str, batch: Any = None, loss: Any = None) -> str:
    """Why a network is trained through the graph, and where that is decided; empty if a program trains it.

    batch  of the kind that it reads; None: labels, pairs or real rows are tried
    loss   None: an error whose kernels are known, cross-entropy or squares
    """
    if not _can_be_kept(network):
        return "it has no hash, so its programs cannot be found again"
    programs_engine = PROGRAM_ENGINES[engine]
    reason = programs_engine.reason(network) or programs_of(network).reason
    if not reason and loss is not None:
        reason = loss.graph_reason or _error_reason(loss.error)
    if reason:
        return reason
    forward, error = (_some_error, None) if loss is None else (loss.error_and_hits, loss.error)
    inputs = getattr(getattr(network, "configuration", None), "inputs", None)
    usual = [BatchKind(), BatchKind(source=BatchKind(target_shape=None, weighted=False))]
    if inputs:
        usual.insert(0, BatchKind(real=True, row_shape=(inputs,)))
    context = _Context(SymbolicKey())
    for kind in usual if batch is None else (BatchKind.of(batch),):
        try:
            traced = Traced(forward, error, network, kind, context, divided=False)
            programs_engine.make(_trace(programs_engine, programs_of(network).arrays, Reads(), traced))
        except ShapeError:  # such a network reads other batches
            continue
        except Exception as exception:
            return explained(exception)
        return ""
    return "it reads batches of another kind"


def _some_error(network: Any, batch: Any, run: Any, total: Any) -> tuple[Any, Any]:
    if not hasattr(network, "before_output"):
        return operations.mean_squared_error(network(batch, run), targets=batch.targets), math.nan
    x, layer = network.before_output(batch, run)
    return operations.linear_cross_entropy(
        x, layer.weights, layer.biases, targets=batch.targets, transposed=layer.transposed
    )
