"""The training loop: batches, gradient, step; at the end of each round an evaluation, until a rule says why it is over.

A round is an epoch of a `BatchStream` (or so many steps, if the selection says so), or one batch of any other
iterable. Everything that decides how a training goes on is in theta, the moments, the average and `Training.state()`:
dropout masks and the order of batches are functions of the seed and of where the training stands.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import BatchStream
from dragoman.errors import ConfigurationError, FileFormatError, NonFiniteError
from dragoman.graph import Array
from dragoman.layers import Run
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.operations import Noise
from dragoman.optimization import Optimizer, Plateau, Schedule, clipping_factor, gradient_norm
from dragoman.training.averaging import averaged, follow
from dragoman.training.checkpoints import VERSION, Checkpoints
from dragoman.training.record import History, Record, overfitting
from dragoman.training.scheduled import Writing, with_own_outputs
from dragoman.training.selection import Selection, Tally
from dragoman.training.stopping import Stopping
from dragoman.training.workers import Workers

T = TypeVar("T")


class Watcher:
    """Is told what happens. This one does nothing with it."""

    def step(self, step: int, loss: Loss, training: Training) -> None:
        """After every step."""

    def record(self, record: Record) -> None:
        """After every round."""

    def notice(self, text: str) -> None:
        """Something the user should know."""


@dataclass
class Outcome:
    """What a training did, round by round, and why it ended."""

    records: list[Record] = field(default_factory=list)
    reason: str = "there were no more batches"
    finished: bool = True  # False: interrupted, the same call goes on from the checkpoint

    @property
    def losses(self) -> list[Loss]:
        return [record.training for record in self.records]

    @property
    def norms(self) -> list[float]:
        return [record.norm for record in self.records]


@dataclass
class Training:
    """One training: its components, its rules, and where it stands."""

    network: Network
    batches: Iterable[Batch]
    optimizer: Optimizer
    schedule: Schedule
    stopping: Stopping
    loss_index: LossIndex = field(default_factory=LossIndex)
    clip: float = math.inf
    seed: int = 0
    watch: Watcher = field(default_factory=Watcher)
    selection: Selection | None = None
    accumulate: int = 1  # batches whose gradients make one step
    averaging: float = 0.0  # decay of the moving average of theta that is evaluated and kept; 0: theta itself
    own_outputs: Callable[[int], float] = lambda t: 0.0  # share of the labels read that are its own, after t steps
    checkpoints: Checkpoints | None = None
    save_every: float = math.inf  # seconds between checkpoints, besides those at every round
    history: History | None = None
    interrupted: Callable[[], str | None] = lambda: None
    on_best: Callable[[Network], None] = lambda network: None
    workers: Workers = field(default_factory=Workers)

    tally: Tally = field(default_factory=Tally, init=False)
    average: Array | None = field(default=None, init=False)
    merit: float = field(default=-math.inf, init=False)  # of the best round
    waited: int = field(default=0, init=False)  # rounds since then
    rounds: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    busy: float = field(default=0.0, init=False)  # seconds of this round spent in steps
    tokens: int = field(default=0, init=False)  # labels read in this round
    ended: str | None = field(default=None, init=False)
    last: Loss | None = field(default=None, init=False)  # of the training part, over the last round
    norm: float = field(default=math.nan, init=False)  # of the last gradient, before clipping
    rate: float = field(default=math.nan, init=False)  # of the last step

    def __post_init__(self) -> None:
        if self.accumulate < 1:
            raise ConfigurationError(f"a step takes at least one batch, got accumulate = {self.accumulate}")
        if not 0 <= self.averaging < 1:
            raise ConfigurationError(f"averaging is at least 0 and below 1, got {self.averaging}")
        if self.stopping.patience is not None and self.selection is None:
            raise ConfigurationError("patience counts evaluations, but there is no selection part to evaluate")
        if self.stopping.epochs is not None and not isinstance(self.batches, BatchStream):
            raise ConfigurationError("epochs are counted by a BatchStream; limit other batches by steps or seconds")
        if self.averaging:
            self.average = self.network.theta.values.copy()
        self._began = self._saved = time.monotonic()
        self._saved_step = -1
        self._told_overfitting = False

    # The loop

    def run(self) -> Outcome:
        """Train until a rule says stop. A training that was stopped before goes on where its checkpoint stands."""
        self.resume()
        self._began = self._saved = time.monotonic()
        outcome = Outcome()
        if self.ended is not None:
            outcome.reason = self.ended
            return outcome
        already = self.stopping.limit(self.optimizer.t, self.epochs_done, self.seconds)
        if already is not None:
            outcome.reason = already
            return outcome
        supply = iter(self.batches)
        while True:
            with np.errstate(all="ignore"):  # what overflows is told once, by _checked or by the checkpoint
                loss = self._step(supply)
            if loss is None:
                if self.tally.batches:  # a round that nothing else will end
                    outcome.reason = self._end_round(outcome.reason, outcome) or outcome.reason
                break
            reason = self._after_step(loss, outcome)
            if reason is not None:
                outcome.reason = reason
                break
        return outcome

    def _step(self, supply: Iterator[Batch]) -> Loss | None:
        """One update from `accumulate` batches; None when there are no more."""
        started, theta, tally = time.monotonic(), self.network.theta, Tally()
        gradient: Array | None = None
        for batch in self._taken(supply):
            noise = Noise(self.seed, self.optimizer.t * self.accumulate + tally.batches + 1)
            loss, found = self._differentiate(batch, noise)
            if self.accumulate > 1:
                found = found * loss.positions  # a copy: the next batch writes over what it is given
            gradient = found if gradient is None else gradient + found
            tally.add(loss)
            self.tokens += len(batch.labels) + (0 if batch.source is None else len(batch.source.labels))
        if gradient is None:
            return None
        if self.accumulate > 1 and tally.positions:
            gradient /= tally.positions
        each = self.workers.map
        self.norm = gradient_norm(theta, gradient, each)
        factor = self._checked(lambda: clipping_factor(self.norm, self.clip))
        self.rate = self.schedule(self.optimizer.t + 1)
        self.optimizer.update(theta, gradient, self.rate, each, factor)
        if self.average is not None:
            decay = min(self.averaging, self.optimizer.t / (self.optimizer.t + 9))
            follow(self.average, theta, decay, each)
        self.busy += time.monotonic() - started
        return tally.total()

    def _taken(self, supply: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of one step; an epoch's last step may have fewer."""
        for _ in range(self.accumulate):
            batch = next(supply, None)
            if batch is None:
                return
            yield batch
            if self._epoch_over:
                return

    def _differentiate(self, batch: Batch, noise: Noise) -> tuple[Loss, Array]:
        share, network = self.own_outputs(self.optimizer.t), self.network

        def prepare(shard: Batch) -> Batch:
            return with_own_outputs(cast(Writing, network), shard, share, noise) if share else shard

        return self._checked(lambda: self.workers.differentiate(self.loss_index, network, batch, Run(noise), prepare))

    def _checked(self, compute: Callable[[], T], step: int | None = None) -> T:
        """A number that is not finite ends the training here, before anything is written."""
        try:
            return compute()
        except NonFiniteError as error:
            saved = None if self.checkpoints is None else self.checkpoints.named("latest")
            last = f" The last good checkpoint is {saved}." if saved else ""
            raise NonFiniteError(f"step {step or self.optimizer.t + 1}: {error}.{last}") from None

    def _after_step(self, loss: Loss, outcome: Outcome) -> str | None:
        """Tell, evaluate, save; why to stop, or None."""
        t = self.optimizer.t
        self.tally.add(loss)
        self.watch.step(t, loss, self)
        limit = self.stopping.limit(t, self.epochs_done, self.now())
        signal = self.interrupted()
        if limit is not None or self._round_over:
            reason = self._end_round(limit, outcome)
            if reason is not None:
                return reason
        if signal is not None:
            self.save(best=False)
            outcome.finished = False
            return signal
        if time.monotonic() - self._saved > self.save_every:
            self.save(best=False)
        return None

    def _end_round(self, limit: str | None, outcome: Outcome) -> str | None:
        record = self._evaluated()
        outcome.records.append(record)
        self.rounds += 1
        limit = limit or self.stopping.limit(record.step, self.epochs_done, self.now())  # evaluating takes time
        reason = self.stopping.goal(record.training, self.waited) or limit
        self.ended, self.last = reason, record.training
        self.tally, self.busy, self.tokens = Tally(), 0.0, 0
        if self.history is not None:
            self.history.append(record.as_dict())
        if record.best:
            with averaged(self.network.theta, self.average):
                self.on_best(self.network)
        self.save(record.best)
        self.watch.record(record)
        self._watch_overfitting()
        return reason

    def _evaluated(self) -> Record:
        """The record of the round that ends here."""
        selected, scores, best = None, {}, False
        training = self.tally.total()
        if self.selection is not None:
            selection = self.selection
            with averaged(self.network.theta, self.average), np.errstate(all="ignore"):
                selected = self._checked(lambda: selection.evaluate(self.network, self.workers), self.optimizer.t)
                found = self.selection.scores(self.network) if self.selection.scores else {}
            scores = {name: float(value) for name, value in found.items()}
            merit = self.selection.merit(selected, scores)
            best = merit > self.merit
            self.merit, self.waited = (merit, 0) if best else (self.merit, self.waited + 1)
        if isinstance(self.schedule, Plateau):
            self.schedule.observe(training.index if selected is None else selected.error)
        return Record(
            self.optimizer.t,
            self.epochs_done,
            training,
            self.norm,
            self.rate,
            self.now(),
            self.tokens / self.busy if self.busy else math.nan,
            selected,
            scores,
            best,
        )

    def _watch_overfitting(self) -> None:
        if self.history is None or self._told_overfitting:
            return
        told = overfitting(self.history.lines())
        if told is not None:
            self._told_overfitting = True
            self.watch.notice(told)

    # Where it stands

    @property
    def epochs_done(self) -> float:
        if not isinstance(self.batches, BatchStream):
            return 0.0
        return self.batches.epoch + self.batches.position / self.batches.batches_in_epoch

    @property
    def _epoch_over(self) -> bool:
        return isinstance(self.batches, BatchStream) and self.batches.position == self.batches.batches_in_epoch

    @property
    def _round_over(self) -> bool:
        if self.selection is not None and self.selection.every is not None:
            return self.optimizer.t % self.selection.every == 0
        return self._epoch_over or not isinstance(self.batches, BatchStream)

    def now(self) -> float:
        """Seconds of training so far, pauses left out."""
        return self.seconds + time.monotonic() - self._began

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """All that decides how the training goes on, besides the arrays."""
        plateau = self.schedule if isinstance(self.schedule, Plateau) else None
        return {
            "version": VERSION,
            "layout": layout(self.network),
            "optimizer": type(self.optimizer).__name__,
            "step": self.optimizer.t,
            "age": self.optimizer.age,
            "stream": self.batches.state() if isinstance(self.batches, BatchStream) else None,
            "schedule": plateau and {"rate": plateau.rate, "best": plateau.best, "waited": plateau.waited},
            "tally": [self.tally.error, self.tally.hits, self.tally.positions, self.tally.batches],
            "merit": self.merit if math.isfinite(self.merit) else None,
            "waited": self.waited,
            "rounds": self.rounds,
            "tokens": self.tokens,
            "busy": self.busy,
            "seconds": self.now(),
            "ended": self.ended,
            "last": self.last and asdict(self.last),
        }

    def save(self, best: bool) -> None:
        if self.checkpoints is None or self._saved_step == self.optimizer.t:
            return
        arrays = {"theta": self.network.theta.values, **self.optimizer.moments}
        if self.average is not None:
            arrays["average"] = self.average
        self.checkpoints.save(self.optimizer.t, arrays, self.state(), best)
        self._saved, self._saved_step = time.monotonic(), self.optimizer.t

    def resume(self) -> bool:
        """Take up the latest checkpoint, if there is one."""
        if self.checkpoints is not None:
            self.checkpoints.prepare()
        found = None if self.checkpoints is None else self.checkpoints.load()
        if found is None:
            if self.history is not None:
                self.history.keep(0)
            return False
        arrays, state = found
        try:
            self._restore(arrays, state)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the latest checkpoint lacks what this training needs: {error!r}") from None
        return True

    def _restore(self, arrays: dict[str, Array], state: dict[str, Any]) -> None:
        theta = self.network.theta
        if state["layout"] != layout(self.network):
            raise FileFormatError("the latest checkpoint was saved from another network; train into another directory")
        if state["optimizer"] != type(self.optimizer).__name__:
            raise FileFormatError(
                f"the latest checkpoint is of a training by {state['optimizer']}, this one is by "
                f"{type(self.optimizer).__name__}; train into another directory"
            )
        names = set(self.optimizer.moment_names) | {"theta"} | ({"average"} if self.averaging else set())
        if set(arrays) != names or any(array.shape != theta.values.shape for array in arrays.values()):
            raise FileFormatError(f"the latest checkpoint holds {sorted(arrays)}, this training needs {sorted(names)}")
        theta.assign(arrays["theta"])
        moments = {name: arrays[name] for name in self.optimizer.moment_names}
        self.optimizer.restore(theta, state["step"], state["age"], moments)
        if self.averaging:
            self.average = arrays["average"]
        if isinstance(self.batches, BatchStream):
            self.batches.seek(**state["stream"])
        if isinstance(self.schedule, Plateau):
            saved = state["schedule"]
            self.schedule.rate, self.schedule.best, self.schedule.waited = saved["rate"], saved["best"], saved["waited"]
        self.merit = -math.inf if state["merit"] is None else state["merit"]
        self.waited, self.rounds, self.tokens = state["waited"], state["rounds"], state["tokens"]
        self.seconds, self.busy = state["seconds"], state["busy"]
        error, hits, positions, batches = state["tally"]
        self.tally = Tally(error, hits, positions, Loss(0.0, 0.0, 0.0, 0.0) if batches else None, batches)
        if self.history is not None:
            self.history.keep(self.rounds)
        self.last = None if state["last"] is None else Loss(**state["last"])
        self.ended = None if state["ended"] is None else self._still_ended()

    def _still_ended(self) -> str | None:
        """Why a finished training is still over, or None when its rules were widened since."""
        goal = None if self.last is None else self.stopping.goal(self.last, self.waited)
        return goal or self.stopping.limit(self.optimizer.t, self.epochs_done, self.seconds)


def train(
    network: Network,
    batches: Iterable[Batch],
    optimizer: Optimizer,
    schedule: Schedule,
    stopping: Stopping,
    loss_index: LossIndex | None = None,
    clip: float = math.inf,
    seed: int = 0,
    watch: Watcher | None = None,
    selection: Selection | None = None,
) -> Outcome:
    """Minimise the loss index over a stream of batches; theta changes in place. `Training` has all the settings."""
    return Training(
        network,
        batches,
        optimizer,
        schedule,
        stopping,
        loss_index or LossIndex(),
        clip,
        seed,
        watch or Watcher(),
        selection,
    ).run()


def layout(network: Network) -> str:
    """A digest of the names, shapes and precision of all parameters: what a checkpoint must agree with."""
    told = ";".join(
        f"{name}{parameter.value.shape}{parameter.value.dtype}" for name, parameter in network.named_parameters()
    )
    return hashlib.sha256(told.encode()).hexdigest()[:16]
