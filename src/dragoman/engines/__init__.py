"""Engines: faster versions of the operations. They register with the operations; nothing above knows which one runs.

numpy  the definitions themselves
numba  compiled kernels for the CPU (the default where numba is installed)

$DRAGOMAN_ENGINE names the engine to use.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from dragoman.errors import ConfigurationError
from dragoman.graph import use_engine
from dragoman.graph.operation import current_engine, engine_chosen

ENGINES = ("numba", "numpy")
VARIABLE = "DRAGOMAN_ENGINE"
READ_ONLY = "neither the package's directory nor your cache directory can be written"
KEEP = "set NUMBA_CACHE_DIR to a directory that can be written to keep kernels"

_said: set[str] = set()
_spinning = True


def use_fastest(tell: Callable[[str], None] | None = None) -> str:
    """Choose the fastest available engine, or the one $DRAGOMAN_ENGINE names, for the whole process; returns its name.

    Trainings, searches and evaluations choose it by themselves while they run (`compute.fast_compute`).
    """
    name = fastest(tell)
    use_engine(name)
    return name


def fastest(tell: Callable[[str], None] | None = None) -> str:
    """Load the fastest available engine, or the one $DRAGOMAN_ENGINE names; returns its name.

    tell  receives messages about slow starts, each of them once
    """
    wanted = _wanted()
    if wanted == "numba":
        try:
            kernels = importlib.import_module("dragoman.engines.numba.jit")
            importlib.import_module("dragoman.engines.numba")
        except ImportError as error:
            _tell_once(tell, f"numba cannot be used ({error}), so the slower NumPy engine runs; pip install numba")
            wanted = "numpy"
        else:
            if kernels.kernel_directory() is None:
                _tell_once(tell, f"{READ_ONLY}, so kernels are compiled for this run only; {KEEP}")
            elif not kernels.has_cached_kernels():
                _tell_once(tell, "compiling kernels (first run only)")
    return wanted


def _wanted() -> str:
    wanted = os.environ.get(VARIABLE, ENGINES[0])
    if wanted not in ENGINES:
        raise ConfigurationError(f"${VARIABLE}: unknown engine '{wanted}'; available: {', '.join(ENGINES)}")
    return wanted


def _tell_once(tell: Callable[[str], None] | None, text: str) -> None:
    if tell is not None and text not in _said:
        _said.add(text)
        tell(text)


def kernels_kept() -> bool:
    """Whether compiled kernels are cached for the next run; True also if there is nothing to compile."""
    if VARIABLE in os.environ:
        return True
    try:
        return importlib.import_module("dragoman.engines.numba.jit").kernel_directory() is not None
    except ImportError:
        return True


class Path(NamedTuple):
    """How a network is trained and searched with, and why not by a program or by fused kernels.

    training  "program" or "graph"        decoding  "fused" or "step by step"
    """

    training: str
    decoding: str
    training_reason: str = ""
    decoding_reason: str = ""

    @property
    def reason(self) -> str:
        """Why the graph or single steps are needed; empty if they are not."""
        reasons = dict.fromkeys(reason for reason in (self.training_reason, self.decoding_reason) if reason)
        return "; ".join(reasons)


def explain_path(network: Any, batch: Any = None, loss: Any = None) -> Path:
    """Which code trains a network and searches with it: programs and fused kernels, or one operation after the other.

    batch  of the kind that it reads; not needed for the networks of the tasks
    loss   the LossIndex it is trained with; None: an error whose kernels are known, cross-entropy or squares

    This is what the network allows. A batch that needs too much memory still goes through the graph, and a method that
    kernels do not know (Sampling) goes step by step.
    """
    training, decoding = _reasons(network, batch, loss)
    return Path("graph" if training else "program", "step by step" if decoding else "fused", training, decoding)


def _reasons(network: Any, batch: Any, loss: Any) -> tuple[str, str]:
    """(why the graph trains, why single steps decode); empty for the fast path."""
    engine = current_engine() if engine_chosen() else _wanted()
    if engine == "numba" and importlib.util.find_spec("numba") is None:
        engine = "numpy"
    if engine != "numba":
        reason = f"the {engine} engine computes one operation after the other"
        return reason, reason
    importlib.import_module("dragoman.engines.numba")
    from dragoman.engines.programs import graph_reason
    from dragoman.engines.transformer_reader import reader_of

    reader = reader_of(network)
    decoding = f"fused searches do not know {type(network).__name__}" if reader is None else reader.reason
    return graph_reason(network, engine, batch, loss), decoding


def let_threads_sleep() -> None:
    """Let no thread of this process spin while it waits: the cores are for other processes that its work depends on."""
    global _spinning
    _spinning = False


def _spin_gate() -> Any:
    """The gate that threads pass before they run Python; None if the engine has none, or threads sleep."""
    if not _spinning or current_engine() != "numba":
        return None
    return importlib.import_module("dragoman.engines.numba.threads.spin_gate")


@contextmanager
def gate(threads: int) -> Iterator[Callable[[], None]]:
    """Let this many threads take turns at the GIL, if the engine supports it; each first calls the yielded function."""
    spin_gate = _spin_gate()
    if spin_gate is None:
        yield _nothing
        return
    with spin_gate.gate(threads):
        yield spin_gate.arrive


def _nothing() -> None:
    pass


def paused() -> AbstractContextManager[None]:
    """Release the gate while a thread waits for something else."""
    spin_gate = _spin_gate()
    waiting: AbstractContextManager[None] = nullcontext() if spin_gate is None else spin_gate.paused()
    return waiting


def idle_after_call() -> Callable[[], None]:
    """Return a function that spins for a while; a thread calls it before it goes to sleep."""
    spin_gate = _spin_gate()
    return _nothing if spin_gate is None else functools.partial(spin_gate.idle, int(spin_gate.STATE[spin_gate.CALLS]))


def wait_until_idle() -> None:
    """Spin for a while until all other threads have finished the call."""
    spin_gate = _spin_gate()
    if spin_gate is not None:
        spin_gate.wait_until_idle()
