"""Training a model: from a configuration to a model directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.cache import uncached
from dragoman.engines.compute import fast_compute
from dragoman.graph import Array
from dragoman.networks import Network
from dragoman.ranks import ALONE, current, using
from dragoman.tasks import components, decisions, golden
from dragoman.tasks import model as directory_of
from dragoman.tasks.configuration import TrainingConfiguration, configuration
from dragoman.tasks.locking import locked
from dragoman.tasks.preparation import Preparation
from dragoman.tasks.restoring import load_best, restore_encoders, restore_files
from dragoman.training import Callback, Checkpoints, History, Outcome, Validation
from dragoman.training.budget import BudgetPlan
from dragoman.training.checkpoints import average, explain_write_errors
from dragoman.training.interrupts import Interrupts
from dragoman.training.loop import Saving, Training
from dragoman.training.tensorboard import TensorBoard
from dragoman.training.workers import Workers


def train_model(
    given: Mapping[str, Any],
    out: Path | None = None,
    watch: Callback | None = None,
    interrupts: Interrupts | None = None,
    tell: Callable[[str], None] = lambda text: None,
    asked: TrainingConfiguration | None = None,
) -> tuple[Any, Outcome]:
    """Train as the settings say; with `out`, into a model directory, where the same settings resume.

    tell   is called with what is decided before training begins
    asked  the configuration that the settings make, if they were validated before
    """
    if not current().first:  # only the first rank writes and speaks
        watch, tell = Callback(), lambda text: None
    asked = asked or configuration(given)
    with locked(out if current().first else None), fast_compute(tell=tell), uncached(asked.private):
        return ModelTraining(given, out, watch or Callback(), interrupts or Interrupts(), tell, asked).run()


class ModelTraining:
    """One training: the loop, and the model directory that it writes."""

    def __init__(
        self,
        given: Mapping[str, Any],
        out: Path | None,
        watch: Callback,
        interrupts: Interrupts,
        tell: Callable[[str], None],
        asked: TrainingConfiguration,
    ) -> None:
        prepared = Preparation(given, asked, out, watch, tell)
        self.ranks = current()
        self.out, self.watch, self.interrupts = out if self.ranks.first else None, watch, interrupts
        self.settings, self.dataset, self.base = prepared.settings, prepared.dataset, prepared.base
        self.network, self.speed, self.damaged = prepared.network, prepared.speed, prepared.damaged
        self.task = prepared.task
        self.model = self.task.model(self.network, self.dataset.encoders, prepared.metadata())
        self.model.files = prepared.files
        self.best: Array | None = None  # theta of the best evaluation, when there is no directory for it

    def run(self) -> tuple[Any, Outcome]:
        if self.out is not None:
            self._begin_directory(self.out)
            if self.settings.progress.tensorboard:
                self.watch = TensorBoard(self.out / "tensorboard", self.watch)
        training = self._training()
        with self.interrupts.listening(), closing(training.workers):
            outcome = training.run()
        if outcome.finished and self.settings.checkpoints.average > 1:
            self._average_checkpoints(training)
        self._settle(training, outcome)
        return self.model, outcome

    def _begin_directory(self, out: Path) -> None:
        """Write all files but the weights into a new directory, or restore those of a resumed training."""
        fresh = not (out / "configuration.toml").exists()
        with explain_write_errors(out, "the model"):
            if fresh:
                directory_of.save_encoders(self.dataset.encoders, out)
                directory_of.save_files(self.model.files, out)
                if not self.settings.private:
                    self.task.save_testing(self.dataset, out)
                directory_of.save_metadata(self.model.metadata, out)
            else:
                self._restore_directory(out)
            directory_of.save_configuration(self.settings, out)  # last: a directory with it can be resumed

    def _restore_directory(self, out: Path) -> None:
        """Make encoders, other files and model.json again where they are missing or damaged."""
        metadata = self.model.metadata
        saved = metadata.model_copy(update={"encoders": {}}) if self.damaged else directory_of.load_metadata(out)
        checksums = restore_encoders(saved, out, self.dataset.encoders, self.watch.notice)
        self.model.metadata = metadata.model_copy(update={"encoders": checksums})
        restore_files(saved, out, self.model.files, self.watch.notice)
        if saved.files != metadata.files:  # other languages are named, or a version learns them otherwise
            directory_of.save_metadata(self.model.metadata.model_copy(update={"training": saved.training}), out)
        if self.damaged:
            directory_of.save_metadata(self.model.metadata, out)
            self.watch.notice(f"{self.damaged}; restored from the configuration and the data")

    def _training(self) -> Training:
        s, optimizer = self.settings, self.settings.optimizer
        return Training(
            self.network,
            self.task.batches(s, self.dataset),
            components.optimizer(optimizer),
            components.schedule(optimizer),
            components.stopping(s.stopping),
            components.loss_index(s.loss, self.task.error(s, self.dataset)),
            components.step_settings(optimizer, s.seed),
            self.watch,
            self._validation(),
            self._saving(),
            self.interrupts.reason,
            Workers(s.threads or 1),
            sharded=s.sharded_optimizer,
            evaluate_first=self.base is not None,
            plan=self._plan(),
        )

    def _saving(self) -> Saving:
        s, out = self.settings.checkpoints, self.out
        if out is None:
            return Saving(every=60 * s.minutes, on_best=self._keep if self.ranks.first else lambda network: None)
        checkpoints = Checkpoints(out / "checkpoints", max(s.keep, s.average))
        checkpoints.prepare()
        return Saving(checkpoints, 60 * s.minutes, History(out / "history.jsonl"), self._keep)

    def _plan(self) -> BudgetPlan | None:
        """Return the plan of a time budget; if a resumed training has no budget, the last plan stays."""
        s = self.settings
        if not decisions.planned_by_budget(s):
            return None
        plan = BudgetPlan(s.stopping.budget or math.inf, s.optimizer.schedule_steps or 1)
        speed = self.speed  # the first rank alone has measured it
        measured = self.ranks.share(None if speed is None else [speed.step_seconds, speed.validation_seconds])
        if measured is not None:
            plan.step_seconds, plan.evaluation_seconds = measured
        return plan

    def _validation(self) -> Validation | None:
        s, part = self.settings, self.task.part(self.dataset, "validation", self.settings)
        if not len(part):
            return None
        return Validation(
            lambda: self.task.fixed_batches(s, part),
            s.progress.every,
            s.checkpoints.best_by,
            self.task.scored(self.model, self.dataset, s, self.watch),
            self.task.plain_error(s, self.dataset),
        )

    def _keep(self, network: Network) -> None:
        """Save the best weights so far, so that they can be used at once."""
        if self.out is None:
            self.best = network.theta.values.copy()
        else:
            golden.remove(self.out)  # they are those of the weights before
            directory_of.save_network(self.network, self.out)

    def _average_checkpoints(self, training: Training) -> None:
        """Average the last checkpoints, and keep the result if its validation score is the best."""
        checkpoints, validation = training.saving.checkpoints, training.validation
        if not self.ranks.share(checkpoints is not None) or validation is None:
            return
        places = [] if checkpoints is None else checkpoints.steps()[-self.settings.checkpoints.average :]
        if checkpoints is not None:
            self.network.theta.assign(average(places, "theta" if training.step.average is None else "average"))
        self.ranks.broadcast(self.network.theta.values)
        found = validation.evaluate(self.network, training.workers, self.ranks)
        scores = validation.scores(self.network) if validation.scores else {}
        better = validation.score(found, scores) > training.progress.best_score
        verdict = (
            "better than the best checkpoint, so it is kept"
            if better
            else "not better than the best checkpoint, so it is dropped"
        )
        self.watch.notice(f"the mean of the last {len(places)} checkpoints: {found}; {verdict}")
        if better and self.ranks.first:
            self._keep(self.network)

    def _settle(self, training: Training, outcome: Outcome) -> None:
        """Load the best weights, and write the results of training into the directory."""
        if self.ranks.first:
            self._take_best(training)
            if self.base is not None and outcome.finished:
                self._adjust(self.base)
        self.ranks.broadcast(self.network.theta.values)
        summary: dict[str, Any] = {
            "steps": training.optimizer.t,
            "epochs": round(training.epochs_done, 3),
            "seconds": round(training.now(), 1),
            "ended": outcome.reason if outcome.finished else None,
        }
        if self.base is not None and outcome.finished:
            summary["compared"] = self._compared(self.base, outcome)
        measured = self.task.measured(self.model, self.dataset)
        self.model.metadata = self.model.metadata.model_copy(update={"training": summary, **measured})
        self.model.directory = self.out
        if self.out is not None:
            with explain_write_errors(self.out, "the model"):
                missing = not golden.are_in(self.out)
                if outcome.finished and not self.settings.private and (outcome.records or missing):
                    with using(ALONE):  # the other ranks do not answer
                        golden.write(self.task, self.model, self.dataset, self.out)
                directory_of.save_metadata(self.model.metadata, self.out)

    def _adjust(self, base: Any) -> None:
        """Let the task change the weights that fine-tuning has led to."""
        with using(ALONE):  # the other ranks get the weights afterwards
            changed = self.task.adjust(base, self.model, self.dataset, self.watch.notice)
        if changed and self.out is not None:
            directory_of.save_network(self.network, self.out)

    def _compared(self, base: Any, outcome: Outcome) -> list[dict[str, Any]]:
        """Scores before and after fine-tuning; those of a training that was finished before are read."""
        before: list[dict[str, Any]] | None = None
        if self.out is not None and not outcome.records:
            before = directory_of.load_metadata(self.out).training.get("compared")
        before = self.ranks.share(before)
        if outcome.records and np.array_equal(self.network.theta.values, base.network.theta.values):
            self.watch.notice(
                "no evaluation was better than the model that training started from, so its weights are kept"
            )
        return self.task.compared(base, self.model, self.dataset) if before is None else before

    def _take_best(self, training: Training) -> None:
        theta, last = self.network.theta, training.step.average
        if self.out is None:
            best = last if self.best is None else self.best
            if best is not None:
                theta.assign(best)
            return
        checkpoints = training.saving.checkpoints
        assert checkpoints is not None
        judged = checkpoints.named("best") is not None or (self.out / directory_of.WEIGHTS).exists()
        if training.validation is None or not judged:  # the last weights are the best
            if last is not None:
                theta.assign(last)
            directory_of.save_network(self.network, self.out)
        load_best(self.network, self.out, checkpoints, last is not None, self.watch.notice)
