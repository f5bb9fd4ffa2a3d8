"""The spin gate: one thread at a time runs Python, and nobody waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("numba")
from numba.core.caching import IndexDataCacheFile

from dragoman import engines
from dragoman.engines import gate
from dragoman.engines.numba import jit
from dragoman.engines.numba.threads import spin_gate
from dragoman.graph import use_engine
from dragoman.graph.operation import current_engine
from dragoman.training.workers import Workers


@pytest.fixture
def numba() -> Iterator[None]:
    before = current_engine()
    use_engine("numba")
    yield
    use_engine(before)


def test_the_gate_is_held_in_python_and_free_in_a_kernel(numba: None) -> None:
    held: list[tuple[int, ...]] = []

    def work(_: int) -> None:
        held.append((int(spin_gate.STATE[spin_gate.THREADS]), int(spin_gate.STATE[spin_gate.HELD])))
        spin_gate.release()
        held.append((int(spin_gate.STATE[spin_gate.THREADS]), int(spin_gate.STATE[spin_gate.HELD])))

    with gate(2) as arrive:
        arrive()
        work(0)
    assert held == [(2, 1), (2, 0)]
    assert not spin_gate.STATE[spin_gate.THREADS]


def test_threads_sleep_where_others_need_the_cores(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_spinning", True)
    engines.let_threads_sleep()
    calls = int(spin_gate.STATE[spin_gate.CALLS])
    assert Workers(2).map(lambda number: number + 1, range(5)) == [1, 2, 3, 4, 5]
    assert int(spin_gate.STATE[spin_gate.CALLS]) == calls


def test_a_thread_that_never_lets_go_is_passed_by(numba: None) -> None:
    """The gate is advisory: after SPINS attempts a thread goes on, and results do not depend on it."""
    done = threading.Event()
    with gate(2) as arrive:
        arrive()  # held, and not given up
        thread = threading.Thread(target=lambda: (spin_gate.acquire(), done.set()))
        thread.start()
        assert done.wait(20)
        thread.join()


def test_all_are_called_again_while_awake_and_when_they_have_fallen_asleep(numba: None) -> None:
    """A thread rests awake for a millisecond; calls come sooner than that, later, and about then."""
    workers = Workers(3)
    for pause in (0.0, 0.0, 0.05, 0.0005, 0.001, 0.002, 0.0):
        time.sleep(pause)
        barrier = threading.Barrier(3, timeout=60)
        assert len(set(workers.map(lambda _, barrier=barrier: (barrier.wait(), threading.get_ident()), range(3)))) == 3
    workers.close()


def test_alone_nobody_waits(numba: None) -> None:
    spin_gate.acquire()
    spin_gate.acquire()
    assert not spin_gate.STATE[spin_gate.HELD]


def test_the_gate_is_open_after_the_work_fails(numba: None) -> None:
    def fail(_: int) -> None:
        raise ValueError("no")

    workers = Workers(2)
    with pytest.raises(ValueError, match="no"):
        workers.map(fail, range(2))
    workers.close()
    assert not spin_gate.STATE[spin_gate.THREADS]
    assert not spin_gate.STATE[spin_gate.HELD]


def test_other_engines_have_no_gate() -> None:
    assert current_engine() == "numpy"
    with gate(2) as arrive:
        arrive()
        assert not spin_gate.STATE[spin_gate.THREADS]


PROGRAM = """
import numpy as np
import dragoman.engines.numba
from dragoman.engines.numba.kernels.attention import simd as w
from dragoman import operations
from dragoman.graph import use_engine
use_engine("numba")
operations.attend_self(np.ones((3, 24), np.float32), offsets=np.array([0, 3]), heads=1)
print(sum(w.forward.stats.cache_hits.values()), sum(w.forward.stats.cache_misses.values()))
"""


def test_a_kernel_is_compiled_once_for_all_processes(tmp_path: Path) -> None:
    """Kernels made inside functions never are found again: their names on disk change with every process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in told] == [["0", "1"], ["1", "0"]]


def test_kernels_are_compiled_anew_when_any_source_of_the_engine_changes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.py").write_text("two")
    before = jit.stamp_of(tmp_path)
    (tmp_path / "b.py").write_text("too")
    assert jit.stamp_of(tmp_path) != before
    assert spin_gate.release._cache._cache_file._source_stamp == jit.STAMP  # where numba looks


def test_two_processes_that_compile_at_once_keep_their_kernels_apart(tmp_path: Path) -> None:
    """The second has looked at what is kept before the first wrote, and writes before the first has ended."""

    def kept() -> IndexDataCacheFile:
        file = IndexDataCacheFile(str(tmp_path), "kernel", jit.STAMP)
        jit._stamp_cache(SimpleNamespace(_cache=SimpleNamespace(_cache_file=file)))
        return file

    first, second, write = kept(), kept(), IndexDataCacheFile._save_data
    second._load_index = dict

    def late(name: str, data: str) -> None:
        second.save("of the second", "second")
        write(first, name, data)

    first._save_data = late
    first.save("of the first", "first")
    found = {name: kept().load(f"of the {name}") for name in ("first", "second")}
    assert all(kernel in (name, None) for name, kernel in found.items())  # None: compiled once more
    assert found["first"] == "first"
