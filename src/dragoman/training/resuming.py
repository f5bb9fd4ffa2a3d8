"""Between a training and its checkpoint: what decides how it goes on, saved and restored."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dragoman.data.batching import BatchStream
from dragoman.errors import FileFormatError
from dragoman.graph import Array
from dragoman.loss import Loss
from dragoman.networks import Network
from dragoman.optimization import Falling, Plateau
from dragoman.training.checkpoints import VERSION
from dragoman.training.state import StateError, check_state, with_current_names
from dragoman.training.validation import LossMean

if TYPE_CHECKING:
    from dragoman.training.loop import Training


def state_of(training: Training) -> dict[str, Any]:
    """All that decides how the training goes on, besides the arrays."""
    plateau = training.schedule if isinstance(training.schedule, Plateau) else None
    return {
        "version": VERSION,
        "layout": layout(training.network),
        "optimizer": type(training.optimizer).__name__,
        "step": training.optimizer.t,
        "age": training.optimizer.age,
        "stream": training.batches.state() if isinstance(training.batches, BatchStream) else None,
        "schedule": plateau
        and {"rate": plateau.rate, "best": plateau.best, "bad_evaluations": plateau.bad_evaluations},
        **_plan_state(training),
        "loss_mean": [
            training.loss_mean.error,
            training.loss_mean.hits,
            training.loss_mean.positions,
            training.loss_mean.batches,
        ],
        "best_score": training.best_score if math.isfinite(training.best_score) else None,
        "bad_evaluations": training.bad_evaluations,
        "evaluations": training.evaluations,
        "tokens": training.tokens,
        "busy": training.busy,
        "seconds": training.now(),
        "ended": training.ended,
        "last": training.last and asdict(training.last),
    }


def _plan_state(training: Training) -> dict[str, Any]:
    """The plan of a budget, and the schedule if a new plan has changed it."""
    found: dict[str, Any] = {} if training.plan is None else {"plan": training.plan.state()}
    if isinstance(training.schedule, Falling) and training.schedule != training.planned_schedule:
        found["replanned"] = training.schedule.state()
    return found


def check_saved(training: Training, state: dict[str, Any]) -> None:
    """Raise a StateError for a state that has a wrong value, or lacks one that this training needs."""
    state = with_current_names(state)
    check_state(state)
    if isinstance(training.batches, BatchStream) and state["stream"] is None:
        raise StateError("stream: this training needs to know where its batches stand")
    if isinstance(training.schedule, Plateau) and state.get("schedule") is None:
        raise StateError("schedule: this training needs to know where its plateau stands")


def restore(training: Training, arrays: dict[str, Array], state: dict[str, Any]) -> None:
    """Let a training stand where a checkpoint was saved."""
    theta = training.network.theta
    if state["layout"] != layout(training.network):
        raise FileFormatError("the latest checkpoint was saved from another network; train into another directory")
    if state["optimizer"] != type(training.optimizer).__name__:
        raise FileFormatError(
            f"the latest checkpoint is of a training by {state['optimizer']}, this one is by "
            f"{type(training.optimizer).__name__}; train into another directory"
        )
    names = set(training.optimizer.moment_names) | {"theta"} | ({"average"} if training.averaging else set())
    if set(arrays) != names or any(array.shape != theta.values.shape for array in arrays.values()):
        raise FileFormatError(f"the latest checkpoint holds {sorted(arrays)}, this training needs {sorted(names)}")
    theta.assign(arrays["theta"])
    moments = {name: arrays[name] for name in training.optimizer.moment_names}
    training.optimizer.restore(theta, state["step"], state["age"], moments)
    if training.averaging:
        training.average = arrays["average"]
    if isinstance(training.batches, BatchStream):
        training.batches.seek(**state["stream"])
    if isinstance(training.schedule, Plateau):
        saved = state["schedule"]
        training.schedule.rate, training.schedule.best, training.schedule.bad_evaluations = (
            saved["rate"],
            saved["best"],
            saved["bad_evaluations"],
        )
    if isinstance(training.schedule, Falling) and state.get("replanned") is not None:
        training.schedule = training.schedule.restored(state["replanned"])
    if training.plan is not None and state.get("plan") is not None:
        training.plan.restore(state["plan"])
        training.told_steps = training.plan.steps
        training.stopping = replace(training.stopping, steps=training.plan.steps)
    training.best_score = -math.inf if state["best_score"] is None else state["best_score"]
    training.bad_evaluations, training.evaluations = state["bad_evaluations"], state["evaluations"]
    training.tokens = state["tokens"]
    training.seconds, training.busy = state["seconds"], state["busy"]
    error, hits, positions, batches = state["loss_mean"]
    training.loss_mean = LossMean(error, hits, positions, Loss(0.0, 0.0, 0.0, 0.0) if batches else None, batches)
    _resume_history(training)
    training.last = None if state["last"] is None else Loss(**state["last"])
    training.ended = None if state["ended"] is None else _still_ended(training)


def _resume_history(training: Training) -> None:
    """`evaluations` counts the lines of the history: where some were lost, those that are left."""
    if training.history is not None:
        training.evaluations, lost = training.history.keep(training.evaluations)
        if lost is not None:
            training.watch.notice(lost)


def _still_ended(training: Training) -> str | None:
    """Why a finished training is still over, or None when its rules were widened since."""
    goal = None if training.last is None else training.stopping.goal(training.last, training.bad_evaluations)
    return goal or training.stopping.limit(training.optimizer.t, training.epochs_done, training.seconds)


def layout(network: Network) -> str:
    """A digest of the names, shapes and precision of all parameters: what a checkpoint must agree with."""
    told = ";".join(
        f"{name}{parameter.value.shape}{parameter.value.dtype}" for name, parameter in network.named_parameters()
    )
    return hashlib.sha256(told.encode()).hexdigest()[:16]
