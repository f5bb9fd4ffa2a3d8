"""The training loop: steps until a rule says stop, with an evaluation after every epoch.

There is an evaluation after every epoch of a `BatchStream` (or every `Validation.every` steps), and after every step on
any other iterable. The complete state is theta, the moments, the average and `Training.state()`: dropout masks and the
order of batches are functions of the seed and of the position in the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import BatchStream
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, FileFormatError, NonFiniteError
from dragoman.graph import Array
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.optimization import Falling, LearnedRate, Optimizer, Plateau, Schedule
from dragoman.ranks import Ranks, current
from dragoman.training.averaging import averaged
from dragoman.training.budget import BudgetPlan
from dragoman.training.callback import Callback
from dragoman.training.carrying import saved_states
from dragoman.training.checkpoints import Checkpoints, check_finite
from dragoman.training.clock import RunningClock
from dragoman.training.placing import own_part
from dragoman.training.progress import PrintedProgress
from dragoman.training.record import History, Record, jump, overfitting
from dragoman.training.resuming import resume, state_of
from dragoman.training.shared_checkpoints import all_moments
from dragoman.training.state import Progress
from dragoman.training.step import StepSettings, TrainingStep
from dragoman.training.stopping import Stopping, format_time
from dragoman.training.validation import Validation
from dragoman.training.workers import Workers

T = TypeVar("T")
NO_MORE = "there were no more batches"
WORTH_REPORTING = 0.2  # share of the planned steps: smaller changes of plan are only in the history


@dataclass
class Outcome:
    """The records of a training, and why it ended."""

    records: list[Record] = field(default_factory=list)
    reason: str = NO_MORE
    finished: bool = True  # False: interrupted, the same call resumes from the checkpoint

    @property
    def losses(self) -> list[Loss]:
        return [record.training for record in self.records]

    @property
    def norms(self) -> list[float]:
        return [record.norm for record in self.records]


@dataclass(frozen=True)
class Saving:
    """What a training writes.

    checkpoints  where they go; None: nothing can be resumed
    every        seconds between checkpoints, besides those at every evaluation
    history      gets a line for every evaluation
    on_best      called with the network whenever an evaluation was the best so far
    """

    checkpoints: Checkpoints | None = None
    every: float = math.inf
    history: History | None = None
    on_best: Callable[[Network], None] = lambda network: None


@dataclass
class Training:
    """One training: its components, its rules, and its progress."""

    network: Network
    batches: Iterable[Batch]
    optimizer: Optimizer
    schedule: Schedule
    stopping: Stopping
    loss_index: LossIndex = field(default_factory=LossIndex)
    settings: StepSettings = field(default_factory=StepSettings)
    watch: Callback = field(default_factory=Callback)
    validation: Validation | None = None
    saving: Saving = field(default_factory=Saving)
    interrupted: Callable[[], str | None] = lambda: None  # the reason why training should stop now
    workers: Workers = field(default_factory=Workers)
    ranks: Ranks = field(default_factory=current)
    sharded: bool = False  # each rank keeps the moments of its share of theta only
    evaluate_first: bool = False  # evaluate the network before the first step, so that nothing worse is kept
    plan: BudgetPlan | None = None  # plans the number of steps by the clock, in place of `stopping.steps`

    step: TrainingStep = field(init=False)
    progress: Progress = field(default_factory=Progress, init=False)
    norm: float = field(default=math.nan, init=False)  # of the last gradient, before clipping
    rate: float = field(default=math.nan, init=False)  # of the last step

    def __post_init__(self) -> None:
        if self.stopping.patience is not None and self.validation is None:
            raise ConfigurationError("patience counts evaluations, but there is no validation part to evaluate")
        if self.stopping.epochs is not None and self.stream is None:
            raise ConfigurationError("epochs are counted by a BatchStream; limit other batches by steps or seconds")
        self.step = TrainingStep(self.network, self.optimizer, self.loss_index, self.workers, self.settings, self.ranks)
        if self.sharded and self.ranks.size > 1:
            self.optimizer.span = self.ranks.spans(len(self.network.theta))[self.ranks.rank]
        if isinstance(self.schedule, LearnedRate):
            self.step.change = np.zeros_like(self.network.theta.values)
        if self.plan is not None:
            self.stopping = replace(self.stopping, steps=self.plan.steps)
        self.planned_schedule, self.reported_steps = self.schedule, self.stopping.steps or 0
        self._clock, self._saved = RunningClock(), 0.0
        self._agreed: float | None = None  # what `now` says, where the clocks of several ranks must agree
        self._saved_step = -1
        self._overfitting_reported = False

    # The loop

    def run(self) -> Outcome:
        """Train until a rule says stop. A training that was stopped before resumes from its checkpoint.

        Runs with one BLAS thread a thread and on the fastest engine; both are restored when it ends.
        """
        with fast_compute(tell=self.watch.notice), self._clock.ticking():
            self.ranks.broadcast(self.network.theta.values)  # another machine may have rounded the start differently
            self.resume()
            self._clock.restart()
            self._meet()
            self._saved = self.now()
            outcome = Outcome()
            outcome.reason = (
                self.progress.ended
                or self.stopping.limit(self.optimizer.t, self.epochs_done, self.progress.seconds)
                or self._start(outcome)
                or self._take_steps(outcome)
            )
            return outcome

    def _start(self, outcome: Outcome) -> str | None:
        """Start the clock of the plan, evaluate the initial weights if asked to; return why to stop, or None."""
        if self.plan is not None:
            self.plan.start(self.optimizer.t, self.now())
        fresh = not self.progress.evaluations and not self.optimizer.t
        if not self.evaluate_first or self.validation is None or not fresh:
            return None
        self.optimizer.make_moments(self.network.theta)  # already in the checkpoint
        return self._end_evaluation(None, outcome)

    def _take_steps(self, outcome: Outcome) -> str:
        """Take steps; return why training is over."""
        supply = iter(self.batches)
        while True:
            with np.errstate(all="ignore"):  # overflow is reported once, by _checked or by the checkpoint
                loss = self._step(supply)
            if loss is None:
                evaluated = self.progress.loss_mean.batches == 0
                return NO_MORE if evaluated else self._end_evaluation(NO_MORE, outcome) or NO_MORE
            reason = self._after_step(loss, outcome)
            if reason is not None:
                return reason

    def _step(self, supply: Iterator[Batch]) -> Loss | None:
        """Take one step; return None if there are no more batches."""
        started = self._clock.seconds()
        taken = self._checked(lambda: self.step.take(self._batches_of_step(supply), self.schedule))
        if taken is None:
            return None
        self.norm, self.rate = taken.norm, taken.rate
        self.progress.tokens += taken.tokens
        self.progress.busy += self._clock.seconds() - started
        return taken.loss

    def _batches_of_step(self, supply: Iterator[Batch]) -> Iterator[Batch]:
        """Collect the batches of one step; the last step of an epoch may have fewer."""
        for _ in range(self.settings.accumulate):
            batch = next(supply, None)
            if batch is None:
                return
            yield batch if self.stream is not None else own_part(batch, self.ranks)
            if self._epoch_over:
                return

    def _checked(self, compute: Callable[[], T], step: int | None = None) -> T:
        """Stop at a number that is not finite, before anything is written."""
        try:
            return compute()
        except NonFiniteError as error:
            saved = None if self.saving.checkpoints is None else self.saving.checkpoints.named("latest")
            last = f" The last good checkpoint is {saved}." if saved else ""
            raise NonFiniteError(f"step {step or self.optimizer.t + 1}: {error}.{last}") from None

    def _after_step(self, loss: Loss, outcome: Outcome) -> str | None:
        """Report, evaluate and save; return why to stop, or None."""
        t = self.optimizer.t
        self.progress.loss_mean.add(loss)
        if self.plan is not None and self.plan.due(self.now()):
            self._plan_again(self.plan)
        self.watch.step(t, loss, self)
        signal = self._meet(self.interrupted())
        limit = self.stopping.limit(t, self.epochs_done, self.now())
        if limit is not None or self._evaluation_due:
            reason = self._end_evaluation(limit, outcome)
            if reason is not None:
                return reason
        if signal is not None:
            self.save(best=False)
            outcome.finished = False
            return signal
        if self.now() - self._saved > self.saving.every:
            self.save(best=False)
        return None

    def _meet(self, signal: str | None = None) -> str | None:
        """Let all ranks go by the clock of the first; return why to stop now, whichever rank has got the signal."""
        if self.ranks.size == 1:
            return signal
        found = self.ranks.gather([self._clock.seconds(), signal is not None])
        self._agreed = float(found[0, 0])
        return (signal or "another rank was interrupted") if found[:, 1].any() else None

    # Evaluations

    def _end_evaluation(self, limit: str | None, outcome: Outcome) -> str | None:
        """Evaluate, write the record and a checkpoint; return why to stop, or None."""
        began, record = self.now(), self._evaluated()
        self._meet()
        self._check_finite()
        if self.plan is not None:
            record = self._with_plan(record, self.plan, began, last=limit is not None)
        outcome.records.append(record)
        limit = limit or self.stopping.limit(record.step, self.epochs_done, self.now())  # evaluating takes time
        reason = self.stopping.goal(record.training, self.progress.bad_evaluations) or limit
        self.progress.end_evaluation(record.training, reason)
        if self.saving.history is not None:
            self.saving.history.append(record.as_dict())
        if record.best:
            with averaged(self.network.theta, self.step.average):
                self.saving.on_best(self.network)
        self.save(record.best)
        self.watch.record(record)
        self._watch_history()
        return reason

    def _evaluated(self) -> Record:
        """Evaluate; return the record, with the steps since the last evaluation."""
        validated: Loss | None = None
        scores: dict[str, float] = {}
        best = False
        training = self.progress.loss_mean.total()
        if self.validation is not None:
            validated, scores = self._validated(self.validation)
        training, validated, scores = self._as_first(training, validated, scores)
        if self.validation is not None and validated is not None:
            best = self.progress.compare(self.validation.score(validated, scores))
        if isinstance(self.schedule, Plateau):
            self.schedule.observe(training.index if validated is None else validated.error)
        return Record(
            self.optimizer.t,
            self.epochs_done,
            training,
            self.norm,
            self.rate,
            self.now(),
            self.tokens / self.busy if self.busy else math.nan,
            validated,
            scores,
            best,
        )

    def _validated(self, validation: Validation) -> tuple[Loss, dict[str, float]]:
        """Compute loss and scores of the validation part, with the average if there is one."""
        with averaged(self.network.theta, self.step.average), np.errstate(all="ignore"):
            loss = self._checked(lambda: validation.evaluate(self.network, self.workers, self.ranks), self.optimizer.t)
            scores = validation.scores(self.network) if validation.scores else {}
        return loss, {name: float(value) for name, value in scores.items()}

    def _as_first(
        self, training: Loss, validated: Loss | None, scores: dict[str, float]
    ) -> tuple[Loss, Loss | None, dict[str, float]]:
        """What the first rank has found: the others, maybe on other processors, must decide the same by it."""
        if self.ranks.size == 1:
            return training, validated, scores
        own = [astuple(training), None if validated is None else astuple(validated), scores]
        of_training, of_validation, scores = self.ranks.share(own)
        return Loss(*of_training), None if of_validation is None else Loss(*of_validation), scores

    def _watch_history(self) -> None:
        """Report overfitting once, and every jump of the training error."""
        if self.saving.history is None:
            return
        try:
            lines = self.saving.history.lines()
        except FileFormatError as error:  # not worth stopping a training
            self._report_overfitting(f"overfitting is not watched for: {error}")
            return
        self._report_overfitting(overfitting(lines))
        jumped = jump(lines)
        if jumped is not None and jump(lines[:-1]) is None:
            self.watch.notice(jumped)

    def _report_overfitting(self, message: str | None) -> None:
        if message is not None and not self._overfitting_reported:
            self._overfitting_reported = True
            self.watch.notice(message)

    # The plan of a time budget

    def _with_plan(self, record: Record, plan: BudgetPlan, began: float, last: bool) -> Record:
        """Add the plans made since the last record."""
        plan.evaluated(self.optimizer.t, began, self.now())
        if not last:
            self._plan_again(plan)
        record = replace(record, planned_steps=plan.steps, new_plans=tuple(plan.new_plans))
        plan.new_plans = []
        return record

    def _plan_again(self, plan: BudgetPlan) -> None:
        """Plan the steps and the schedule again if the pace has changed."""
        t, before = self.optimizer.t, self.reported_steps
        steps = plan.check(t, self.now(), self.steps_per_evaluation)
        if steps is None:
            return
        self.stopping = replace(self.stopping, steps=steps)
        if isinstance(self.schedule, Falling):
            self.schedule = self.schedule.replanned(t, steps)
        if abs(steps - before) > WORTH_REPORTING * before:
            self.reported_steps = steps
            self.watch.notice(
                f"step {t:,}: the pace has changed, so {steps:,} steps are planned instead of {before:,} to fit into "
                f"{format_time(plan.budget)}"
            )

    # What callbacks read

    @property
    def stream(self) -> BatchStream | None:
        """The batches, if they are a BatchStream."""
        return self.batches if isinstance(self.batches, BatchStream) else None

    @property
    def tokens(self) -> int:
        """Tokens read since the last evaluation."""
        return self.progress.tokens

    @property
    def busy(self) -> float:
        """Seconds spent in steps since the last evaluation."""
        return self.progress.busy

    @property
    def epochs_done(self) -> float:
        return 0.0 if self.stream is None else self.stream.epoch + self.stream.position / self.stream.batches_in_epoch

    @property
    def _epoch_over(self) -> bool:
        return self.stream is not None and self.stream.position == self.stream.batches_in_epoch

    @property
    def _evaluation_due(self) -> bool:
        if self.validation is not None and self.validation.every is not None:
            return self.optimizer.t % self.validation.every == 0
        return self._epoch_over or self.stream is None

    @property
    def steps_per_evaluation(self) -> float:
        """Steps from one evaluation to the next."""
        if self.validation is not None and self.validation.every is not None:
            return self.validation.every
        return 1 if self.stream is None else math.ceil(self.stream.batches_in_epoch / self.settings.accumulate)

    def now(self) -> float:
        """Seconds of training so far, without those in which it was interrupted or suspended."""
        return self.progress.seconds + (self._clock.seconds() if self._agreed is None else self._agreed)

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint, without the arrays."""
        return state_of(self)

    def _arrays(self) -> dict[str, Array]:
        """What a checkpoint holds, except for moments that other ranks keep."""
        arrays = {"theta": self.network.theta.values, **self.optimizer.moments}
        more = {"average": self.step.average, "change": self.step.change}
        present = {name: array for name, array in more.items() if array is not None}
        return {**arrays, **present, **saved_states(self.step.carried)}

    def _check_finite(self) -> None:
        """Check the weights too: the error is finite if the validation part does not use the bad one."""
        checkpoints = self.saving.checkpoints
        check_finite(self.optimizer.t, self._arrays(), None if checkpoints is None else checkpoints.named("latest"))

    def save(self, best: bool) -> None:
        """Write a checkpoint; the first rank does, with what the others keep."""
        if self._saved_step == self.optimizer.t:
            return
        self._saved, self._saved_step = self.now(), self.optimizer.t
        moments = all_moments(self.optimizer, self.network.theta, self.ranks)
        if self.saving.checkpoints is not None and self.ranks.first:
            self.saving.checkpoints.save(self.optimizer.t, {**self._arrays(), **moments}, self.state(), best)

    def resume(self) -> bool:
        """Restore the latest checkpoint, if there is one."""
        return resume(self)


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

    watch     is called after every step and evaluation
    progress  print a line on standard error for every evaluation, or every ten seconds; instead of `watch`
    """
    return Training(
        network,
        batches,
        optimizer,
        schedule,
        stopping,
        loss_index or LossIndex(),
        StepSettings(clip, seed),
        watch or (PrintedProgress() if progress else Callback()),
        validation,
    ).run()
