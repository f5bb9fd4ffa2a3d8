"""Sums the gradients of the shards of a batch, in shard order, while the shards run on threads."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from dragoman.errors import GraphError
from dragoman.graph.tensor import Array, DeferredGradient, Parameter, Tensor

ENOUGH = 8 << 20  # bytes of derivatives that may wait to be written
SMALL = 1 << 11  # elements; smaller parameters are written at the end


class Bucket:
    """The gradient of one parameter, and the derivatives that every pass has pushed for it."""

    __slots__ = ("left", "parameter", "pushed", "rounds", "small", "view")

    def __init__(self, parameter: int, view: Array, passes: int) -> None:
        self.parameter, self.view, self.small = parameter, view, view.size <= SMALL
        self.pushed: list[deque[Array | DeferredGradient]] = [] if self.small else [deque() for _ in range(passes)]
        self.rounds = 0  # rounds that are written; round i is the i-th derivative of every pass
        self.left = 0  # pieces of the current round that are still being written

    def next_round(self, complete: bool) -> list[Array | DeferredGradient]:
        """The derivatives to be written next, in the order of the passes; none while one is still missing."""
        if self.left:
            return []
        found = [several[0] for several in self.pushed if several]
        return found if complete or len(found) == len(self.pushed) else []

    def write(self, deltas: list[Array | DeferredGradient], piece: int = 0, pieces: int = 0) -> None:
        """Write or add the derivatives of this round, in the order of the passes: one piece of them, or all."""
        add = self.rounds > 0
        for delta in deltas:
            if isinstance(delta, DeferredGradient):
                for number, of in [(piece, pieces)] if pieces else [(i, delta.pieces) for i in range(delta.pieces)]:
                    delta.write(self.view, add, number, of)
            elif add:
                self.view += delta
            else:
                self.view[...] = delta
            add = True

    def write_alone(self, delta: Array | DeferredGradient) -> None:
        """Write a derivative that needs no other pass."""
        self.write([delta])
        self.rounds += 1

    def end_round(self) -> None:
        for several in self.pushed:
            if several:
                several.popleft()
        self.rounds += 1


class Chunk(NamedTuple):
    """A unit of work of one thread: piece `number` of `pieces` of a round, or all of it if `pieces` is 0."""

    place: Bucket
    deltas: list[Array | DeferredGradient]
    number: int
    pieces: int
    finest: int  # the most pieces it may be split into
    kept: int  # bytes that stay in memory until it is written

    def halves(self) -> tuple[Chunk, Chunk]:
        first = 2 * self.number
        one = self._replace(number=first, pieces=2 * self.pieces, kept=self.kept // 2)
        return one, one._replace(number=first + 1, kept=self.kept - one.kept)


def pieces_of(deltas: list[Array | DeferredGradient]) -> tuple[int, int]:
    """(pieces, finest) of deltas; (0, 0) if they are not split in the same way."""
    way, *others = {(delta.pieces, delta.finest) if isinstance(delta, DeferredGradient) else (0, 0) for delta in deltas}
    return (0, 0) if others else way


class GradientReducer:
    """The gradient of one or several passes (shards) over the same parameters, summed in the order of the passes.

    Passes push derivatives as they compute them. When too much waits in memory, the thread that is ahead writes what
    all passes have pushed; the rest is written by the threads that have finished. So there is one gradient for all
    passes, no thread waits while there is work, and the bits do not depend on which thread writes. A thread may run
    several passes one after the other: it waits for others only after every pass has started.
    """

    def __init__(
        self,
        views: dict[int, Array],
        passes: int = 1,
        pause: Callable[[], AbstractContextManager[Any]] = nullcontext,
        written: Callable[[int], None] | None = None,
    ) -> None:
        """views   of the gradient, by the id of the parameter
        pause   a context entered while a thread waits
        written called with the id of a large parameter whose gradient is complete, where the passes have said how
                many derivatives of it will come (`expect`)
        """
        self.passes, self._pause, self._lock, self._written = passes, pause, threading.Lock(), written
        self._expected: list[Counter[int]] = []  # of each pass that has said so: derivatives by parameter
        self._places = {number: Bucket(number, view, passes) for number, view in views.items()}
        self._small: list[list[tuple[Bucket, Array | DeferredGradient]]] = [[] for _ in range(passes)]
        self._ready: SimpleQueue[Chunk | None] = SimpleQueue()
        self._going, self._unwritten, self._waiting = passes, 0, 0
        self._not_begun = passes

    def share(self, number: int = 0) -> ShardWriter:
        """The writer that pass `number` pushes its derivatives to."""
        return ShardWriter(self, number)

    def begin(self) -> None:
        """Note that a pass has started."""
        with self._lock:
            self._not_begun -= 1

    @property
    def reports(self) -> bool:
        """Whether somebody is told of complete gradients."""
        return self._written is not None

    def expect(self, derivatives: Counter[int]) -> None:
        """Note how many derivatives of each parameter (its id) a pass is going to push."""
        with self._lock:
            self._expected.append(derivatives)

    def _report(self, place: Bucket) -> None:
        """Tell that a gradient is complete, as soon as that is known."""
        if self._written is None or len(self._expected) < self.passes:
            return
        if place.rounds == max(derivatives[place.parameter] for derivatives in self._expected):
            self._written(place.parameter)

    def push(self, number: int, parameter: Tensor, delta: Array | DeferredGradient) -> None:
        place = self._places.get(id(parameter))
        if place is None and isinstance(parameter, Parameter) and parameter.slot is None:
            raise GraphError(
                f"the network computes with {parameter!r}, which belongs to no network, so nothing would train it; "
                "keep layers and parameters in attributes, lists, tuples or dictionaries, or set its `frozen`"
            )
        if place is None:
            return  # its gradient is not asked for
        if place.small:
            self._small[number].append((place, delta))
            return
        if self.passes == 1:
            place.write_alone(delta)
            self._report(place)
            return
        with self._lock:
            place.pushed[number].append(delta)
            last = self._offer(place)
        # the pass that completes a round is behind the others, so it leaves the writing to them as long as it can
        enough = 4 * ENOUGH if last else ENOUGH
        while self._waiting > enough:
            piece = self._take()
            if piece is None:
                return
            self._write(piece)

    def _take(self) -> Chunk | None:
        try:
            return self._shared(self._ready.get_nowait())
        except Empty:
            return None

    def _wait(self) -> Chunk | None:
        with self._pause():
            piece = self._ready.get()
        return self._shared(piece)

    def _shared(self, piece: Chunk | None) -> Chunk | None:
        """The part of a piece that this thread writes: half of it, if another thread would be idle."""
        if piece is None:
            self._ready.put(None)  # for the other threads
            return None
        if self._going < self.passes and piece.pieces < piece.finest and self._ready.empty():
            piece, other = piece.halves()
            with self._lock:
                piece.place.left += 1
                self._unwritten += 1
            self._ready.put(other)
        return piece

    def _offer(self, place: Bucket) -> bool:
        """Queue the next round of a bucket, if it is complete; called with the lock held."""
        deltas = place.next_round(complete=not self._going)
        if not deltas:
            return False
        pieces, finest = pieces_of(deltas)
        place.left = max(1, pieces)
        kept = (
            sum(delta.kept if isinstance(delta, DeferredGradient) else delta.nbytes for delta in deltas) // place.left
        )
        self._waiting += kept * place.left
        self._unwritten += place.left
        for number in range(place.left):
            self._ready.put(Chunk(place, deltas, number, pieces, finest, kept))
        return True

    def _write(self, piece: Chunk) -> None:
        place = piece.place
        with self._lock:
            self._waiting -= piece.kept
        place.write(piece.deltas, piece.number, piece.pieces)
        with self._lock:
            place.left -= 1
            self._unwritten -= 1
            complete = not place.left
            if complete:
                place.end_round()
                self._offer(place)
            self._end_if_done()
        if complete:
            self._report(place)

    def finish(self) -> None:
        """Finish a pass: write queued pieces until all passes have finished and the queue is empty."""
        with self._lock:
            self._going -= 1
            places = [] if self._going else list(self._places.values())  # the last pass queues what is left
            for place in places:
                self._offer(place)
            untouched = [place for place in places if not place.rounds and not place.left]
            self._end_if_done()
        if places:
            self._write_small()
        for place in untouched:
            if not place.rounds:
                place.view[...] = 0
        while self.passes > 1:
            piece = self._take()
            if piece is None:
                if self._not_begun:
                    return  # this thread may have to run it
                piece = self._wait()  # for a pass, or for what follows from a piece that another thread writes
            if piece is None:
                return  # everything is written
            self._write(piece)

    def _write_small(self) -> None:
        for pushed in self._small:
            for place, delta in pushed:
                place.write_alone(delta)

    def _end_if_done(self) -> None:
        if not self._going and not self._unwritten:
            self.end()

    def end(self) -> None:
        """Wake all waiting threads."""
        self._ready.put(None)


class ShardWriter:
    """The interface of one pass. Leaving the context finishes it; an error ends the other passes too."""

    def __init__(self, gradient_reducer: GradientReducer, number: int) -> None:
        self.gradient_reducer, self.number = gradient_reducer, number

    def push(self, parameter: Tensor, delta: Array | DeferredGradient) -> None:
        self.gradient_reducer.push(self.number, parameter, delta)

    def push_all(self, derivatives: Iterable[tuple[Tensor, Array | DeferredGradient]]) -> None:
        """Push all derivatives of the pass. Where somebody waits for complete gradients, all are made before the first
        is written, which tells how many there are; otherwise they are computed while other threads write."""
        if self.gradient_reducer.reports:
            derivatives = list(derivatives)
            self.gradient_reducer.expect(Counter(id(parameter) for parameter, _ in derivatives))
        for parameter, delta in derivatives:
            self.push(parameter, delta)

    def __enter__(self) -> ShardWriter:
        self.gradient_reducer.begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self.gradient_reducer.end()
            return
        try:
            self.gradient_reducer.finish()
        except BaseException:
            self.gradient_reducer.end()
            raise
