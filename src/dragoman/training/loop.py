"""The training loop: batches, gradient, step; at the end of each round an evaluation, until a rule says why it is over.

A round is an epoch of a `BatchStream` (or so many steps, if the validation says so), or one batch of any other
iterable. Everything that decides how a training goes on is in theta, the moments, the average and `Training.state()`:
dropout masks and the order of batches are functions of the seed and of where the training stands.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import BatchStream
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, FileFormatError, NonFiniteError
from dragoman.graph import Array
from dragoman.layers import ForwardContext
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.operations import DropoutKey
from dragoman.optimization import Falling, Optimizer, Plateau, Schedule, clipping_factor, gradient_norm
from dragoman.training.averaging import averaged, follow
from dragoman.training.budget import BudgetPlan
from dragoman.training.callback import Callback
from dragoman.training.checkpoints import Checkpoints, check_finite
from dragoman.training.progress import PrintedProgress
from dragoman.training.record import History, Record, overfitting
from dragoman.training.resuming import check_saved, restore, state_of
from dragoman.training.scheduled import Writing, with_own_outputs
from dragoman.training.state import with_current_names
from dragoman.training.stopping import Stopping, format_time
from dragoman.training.validation import LossMean, Validation
from dragoman.training.workers import Workers

T = TypeVar("T")
WORTH_TELLING = 0.2  # of the planned steps: a smaller change of plan is in the history alone


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
    watch: Callback = field(default_factory=Callback)
    validation: Validation | None = None
    accumulate: int = 1  # batches whose gradients make one step
    averaging: float = 0.0  # decay of the moving average of theta that is evaluated and kept; 0: theta itself
    own_outputs: Callable[[int], float] = lambda t: 0.0  # share of the labels read that are its own, after t steps
    checkpoints: Checkpoints | None = None
    save_every: float = math.inf  # seconds between checkpoints, besides those at every round
    history: History | None = None
    interrupted: Callable[[], str | None] = lambda: None
    on_best: Callable[[Network], None] = lambda network: None
    workers: Workers = field(default_factory=Workers)
    judge_start: bool = False  # evaluate the network before the first step: nothing worse is kept
    plan: BudgetPlan | None = None  # plans the number of steps by the clock, in place of `stopping.steps`

    loss_mean: LossMean = field(default_factory=LossMean, init=False)
    average: Array | None = field(default=None, init=False)
    best_score: float = field(default=-math.inf, init=False)  # of the best round
    bad_evaluations: int = field(default=0, init=False)  # rounds since then
    evaluations: int = field(default=0, init=False)
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
        if self.stopping.patience is not None and self.validation is None:
            raise ConfigurationError("patience counts evaluations, but there is no validation part to evaluate")
        if self.stopping.epochs is not None and not isinstance(self.batches, BatchStream):
            raise ConfigurationError("epochs are counted by a BatchStream; limit other batches by steps or seconds")
        if self.averaging:
            self.average = self.network.theta.values.copy()
        if self.plan is not None:
            self.stopping = replace(self.stopping, steps=self.plan.steps)
        self.planned_schedule, self.told_steps = self.schedule, self.stopping.steps or 0
        self._began = self._saved = time.monotonic()
        self._saved_step = -1
        self._told_overfitting = False

    # The loop

    def run(self) -> Outcome:
        """Train until a rule says stop. A training that was stopped before goes on where its checkpoint stands.

        Runs with one BLAS thread a thread and on the fastest engine; both are restored when it ends.
        """
        with fast_compute(tell=self.watch.notice):
            return self._run()

    def _run(self) -> Outcome:
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
        if self.plan is not None:
            self.plan.start(self.optimizer.t, self.now())
        if self.judge_start and self.validation is not None and not self.evaluations and not self.optimizer.t:
            self.optimizer.make_moments(self.network.theta)  # a checkpoint has them
            reason = self._end_evaluation(None, outcome)
            if reason is not None:
                outcome.reason = reason
                return outcome
        supply = iter(self.batches)
        while True:
            with np.errstate(all="ignore"):  # what overflows is told once, by _checked or by the checkpoint
                loss = self._step(supply)
            if loss is None:
                if self.loss_mean.batches:  # a round that nothing else will end
                    outcome.reason = self._end_evaluation(outcome.reason, outcome) or outcome.reason
                break
            reason = self._after_step(loss, outcome)
            if reason is not None:
                outcome.reason = reason
                break
        return outcome

    def _step(self, supply: Iterator[Batch]) -> Loss | None:
        """One update from `accumulate` batches; None when there are no more."""
        started, theta, loss_mean = time.monotonic(), self.network.theta, LossMean()
        gradient: Array | None = None
        for batch in self._taken(supply):
            noise = DropoutKey(self.seed, self.optimizer.t * self.accumulate + loss_mean.batches + 1)
            loss, found = self._differentiate(batch, noise)
            if self.accumulate > 1:
                found = found * loss.positions  # a copy: the next batch writes over what it is given
            gradient = found if gradient is None else gradient + found
            loss_mean.add(loss)
            self.tokens += len(batch.labels) + (0 if batch.source is None else len(batch.source.labels))
        if gradient is None:
            return None
        if self.accumulate > 1 and loss_mean.positions:
            gradient /= loss_mean.positions
        each = self.workers.map
        self.norm = gradient_norm(theta, gradient, each)
        factor = self._checked(lambda: clipping_factor(self.norm, self.clip))
        self.rate = self.schedule(self.optimizer.t + 1)
        self.optimizer.update(theta, gradient, self.rate, each, factor)
        if self.average is not None:
            decay = min(self.averaging, self.optimizer.t / (self.optimizer.t + 9))
            follow(self.average, theta, decay, each)
        self.busy += time.monotonic() - started
        return loss_mean.total()

    def _taken(self, supply: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of one step; an epoch's last step may have fewer."""
        for _ in range(self.accumulate):
            batch = next(supply, None)
            if batch is None:
                return
            yield batch
            if self._epoch_over:
                return

    def _differentiate(self, batch: Batch, noise: DropoutKey) -> tuple[Loss, Array]:
        share, network = self.own_outputs(self.optimizer.t), self.network

        def prepare(shard: Batch) -> Batch:
            return with_own_outputs(cast(Writing, network), shard, share, noise) if share else shard

        return self._checked(
            lambda: self.workers.differentiate(self.loss_index, network, batch, ForwardContext(noise), prepare)
        )

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
        self.loss_mean.add(loss)
        if self.plan is not None and self.plan.due(self.now()):
            self._plan_again(self.plan)
        self.watch.step(t, loss, self)
        limit = self.stopping.limit(t, self.epochs_done, self.now())
        signal = self.interrupted()
        if limit is not None or self._evaluation_due:
            reason = self._end_evaluation(limit, outcome)
            if reason is not None:
                return reason
        if signal is not None:
            self.save(best=False)
            outcome.finished = False
            return signal
        if time.monotonic() - self._saved > self.save_every:
            self.save(best=False)
        return None

    def _end_evaluation(self, limit: str | None, outcome: Outcome) -> str | None:
        began, record = self.now(), self._evaluated()
        self._check_finite()
        if self.plan is not None:
            self.plan.evaluated(self.optimizer.t, began, self.now())
            if limit is None:
                self._plan_again(self.plan)
            record = replace(record, planned_steps=self.plan.steps, new_plans=tuple(self.plan.new_plans))
            self.plan.new_plans = []
        outcome.records.append(record)
        self.evaluations += 1
        limit = limit or self.stopping.limit(record.step, self.epochs_done, self.now())  # evaluating takes time
        reason = self.stopping.goal(record.training, self.bad_evaluations) or limit
        self.ended, self.last = reason, record.training if record.training.positions else None
        self.loss_mean, self.busy, self.tokens = LossMean(), 0.0, 0
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
        training = self.loss_mean.total()
        if self.validation is not None:
            validation = self.validation
            with averaged(self.network.theta, self.average), np.errstate(all="ignore"):
                selected = self._checked(lambda: validation.evaluate(self.network, self.workers), self.optimizer.t)
                found = self.validation.scores(self.network) if self.validation.scores else {}
            scores = {name: float(value) for name, value in found.items()}
            score = self.validation.score(selected, scores)
            best = score > self.best_score
            self.best_score, self.bad_evaluations = (score, 0) if best else (self.best_score, self.bad_evaluations + 1)
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

    def _plan_again(self, plan: BudgetPlan) -> None:
        """Let training and the fall of its rate end in time, if the pace has changed."""
        t, before = self.optimizer.t, self.told_steps
        steps = plan.check(t, self.now(), self.steps_per_evaluation)
        if steps is None:
            return
        self.stopping = replace(self.stopping, steps=steps)
        if isinstance(self.schedule, Falling):
            self.schedule = self.schedule.replanned(t, steps)
        if abs(steps - before) > WORTH_TELLING * before:
            self.told_steps = steps
            self.watch.notice(
                f"step {t:,}: the pace has changed, so {steps:,} steps are planned instead of {before:,} to fit into "
                f"{format_time(plan.budget)}"
            )

    def _watch_overfitting(self) -> None:
        if self.history is None or self._told_overfitting:
            return
        try:
            told = overfitting(self.history.lines())
        except FileFormatError as error:  # no reason to stop a training
            told = f"overfitting is not watched for: {error}"
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
    def _evaluation_due(self) -> bool:
        if self.validation is not None and self.validation.every is not None:
            return self.optimizer.t % self.validation.every == 0
        return self._epoch_over or not isinstance(self.batches, BatchStream)

    @property
    def steps_per_evaluation(self) -> float:
        """Steps from one evaluation to the next."""
        if self.validation is not None and self.validation.every is not None:
            return self.validation.every
        return (
            math.ceil(self.batches.batches_in_epoch / self.accumulate) if isinstance(self.batches, BatchStream) else 1
        )

    def now(self) -> float:
        """Seconds of training so far, pauses left out."""
        return self.seconds + time.monotonic() - self._began

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """All that decides how the training goes on, besides the arrays."""
        return state_of(self)

    def _arrays(self) -> dict[str, Array]:
        arrays = {"theta": self.network.theta.values, **self.optimizer.moments}
        return arrays if self.average is None else {**arrays, "average": self.average}

    def _check_finite(self) -> None:
        """The error may be finite where a weight is not: one that the validation part does not use."""
        latest = None if self.checkpoints is None else self.checkpoints.named("latest")
        check_finite(self.optimizer.t, self._arrays(), latest)

    def save(self, best: bool) -> None:
        if self.checkpoints is None or self._saved_step == self.optimizer.t:
            return
        self.checkpoints.save(self.optimizer.t, self._arrays(), self.state(), best)
        self._saved, self._saved_step = time.monotonic(), self.optimizer.t

    def resume(self) -> bool:
        """Take up the latest checkpoint, if there is one."""
        found = None
        if self.checkpoints is not None:
            self.checkpoints.prepare()
            found = self.checkpoints.load_intact(self.watch.notice, partial(check_saved, self))
        if self.checkpoints is None or found is None:
            if self.history is not None:
                self.history.keep(0)
            return False
        arrays, state = found
        name = str(self.checkpoints.named("latest"))
        try:
            restore(self, arrays, with_current_names(state))
        except (KeyError, TypeError, ValueError) as error:
            file = self.checkpoints.directory / name / "state.json"
            raise FileFormatError(
                f"{file} is not a state that this training can resume: {error!r}; {self.checkpoints.advice(name)}"
            ) from None
        return True


def train(
    network: Network,
    batches: Iterable[Batch],
    optimizer: Optimizer,
    schedule: Schedule,
    stopping: Stopping,
    loss_index: LossIndex | None = None,
    clip: float = math.inf,
    seed: int = 0,
    watch: Callback | None = None,
    validation: Validation | None = None,
    progress: bool = False,
) -> Outcome:
    """Minimise the loss index over a stream of batches; theta changes in place. `Training` has all the settings.

    watch     is told of every step and evaluation
    progress  print a line on standard error for every evaluation, or every ten seconds; instead of `watch`
    """
    return Training(
        network,
        batches,
        optimizer,
        schedule,
        stopping,
        loss_index or LossIndex(),
        clip,
        seed,
        watch or (PrintedProgress() if progress else Callback()),
        validation,
    ).run()
