"""Run tasks in processes of their own, with results in the order of the tasks."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from dragoman.errors import DragomanError

State = TypeVar("State")
Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 4  # tasks for each process that may be done before their turn


def run_ordered(
    work: Callable[[State, Task], Result], state: State, tasks: Iterable[Task], workers: int
) -> Iterator[Result]:
    """Yield work(state, task) of all tasks, in order; with one worker in this process.

    An error is raised when it is its task's turn, so it does not depend on the number of workers. All processes end
    with the iterator, and when this process is killed.
    """
    if workers == 1:
        for task in tasks:
            yield work(state, task)
        return
    pool = _Pool(work, state, workers)
    try:
        yield from pool.run(iter(tasks))
    finally:
        pool.stop()


class _Pool:
    def __init__(self, work: Callable[..., Any], state: Any, workers: int) -> None:
        context = get_context("spawn")  # a forked process would inherit the locks of threads
        self.idle: list[connection.Connection] = []
        self.processes = []
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work, state), daemon=True)
            process.start()
            theirs.close()
            self.idle.append(ours)
            self.processes.append(process)
        self.busy: dict[connection.Connection, int] = {}  # and the number of its task
        self.ahead = AHEAD * workers

    def run(self, tasks: Iterator[Any]) -> Iterator[Any]:
        found: dict[int, tuple[bool, Any]] = {}
        given = done = 0
        more = True
        while True:
            while more and self.idle and given - done < self.ahead:
                try:
                    task = next(tasks)
                except StopIteration:
                    more = False
                    break
                self._send(task, given)
                given += 1
            if done == given and not more:
                return
            if done not in found:
                self._receive(found)
                continue
            failed, result = found.pop(done)
            done += 1
            if failed:
                raise result
            yield result

    def _send(self, task: Any, number: int) -> None:
        worker = self.idle.pop()
        try:
            worker.send(task)
        except OSError:
            raise _ended() from None
        self.busy[worker] = number

    def _receive(self, found: dict[int, tuple[bool, Any]]) -> None:
        for worker in connection.wait(list(self.busy)):
            assert isinstance(worker, connection.Connection)
            try:
                result = worker.recv()
            except (EOFError, OSError):
                raise _ended() from None
            found[self.busy.pop(worker)] = result
            self.idle.append(worker)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()
        for worker in (*self.idle, *self.busy):
            worker.close()


def _ended() -> DragomanError:
    return DragomanError("a worker process ended unexpectedly, perhaps for want of memory; try fewer --workers")


def _serve(pipe: connection.Connection, work: Callable[..., Any], state: Any) -> None:
    """Do one task after the other until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends this process
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread for each process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            answer = False, work(state, task)
        except (DragomanError, OSError) as error:
            answer = True, error
        except Exception:
            answer = True, RuntimeError(f"in a worker process:\n{traceback.format_exc()}")
        pipe.send(answer)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
