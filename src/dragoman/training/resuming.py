"""Save the state of a training in a checkpoint, and restore it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dragoman.errors import FileFormatError
from dragoman.graph import Array
from dragoman.networks import Network
from dragoman.optimization import Falling, LearnedRate, Plateau
from dragoman.training.carrying import PREFIX, restored_states
from dragoman.training.checkpoints import VERSION
from dragoman.training.shared_checkpoints import shared_checkpoint
from dragoman.training.state import Progress, StateError, check_state
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.training.loop import Training


def state_of(training: Training) -> dict[str, Any]:
    """Return the state of a training, without the arrays."""
    plateau = training.schedule if isinstance(training.schedule, Plateau) else None
    return {
        "version": VERSION,
        "layout": layout(training.network),
        "optimizer": type(training.optimizer).__name__,
        "step": training.optimizer.t,
        "age": training.optimizer.age,
        "stream": None if training.stream is None else training.stream.state(),
        "schedule": plateau
        and {"rate": plateau.rate, "best": plateau.best, "bad_evaluations": plateau.bad_evaluations},
        **({"learned": {"rate": training.schedule.rate}} if isinstance(training.schedule, LearnedRate) else {}),
        **_plan_state(training),
        **training.progress.state(),
        "seconds": training.now(),
        **({"ranks": training.ranks.size} if training.ranks.size > 1 else {}),
    }


def _plan_state(training: Training) -> dict[str, Any]:
    """The plan of a budget, and the schedule if a new plan has changed it."""
    found: dict[str, Any] = {} if training.plan is None else {"plan": training.plan.state()}
    if isinstance(training.schedule, Falling) and training.schedule != training.planned_schedule:
        found["replanned"] = training.schedule.state()
    return found


def check_saved(training: Training, state: dict[str, Any]) -> None:
    """Raise a StateError for a state that has a wrong value, or lacks one that this training needs."""
    check_state(state)
    if training.stream is not None and state["stream"] is None:
        raise StateError("stream: the position in the batches is missing")
    if isinstance(training.schedule, Plateau) and state.get("schedule") is None:
        raise StateError("schedule: the state of the plateau schedule is missing")
    if isinstance(training.schedule, LearnedRate) and state.get("learned") is None:
        raise StateError("learned: the learned rate is missing")


def resume(training: Training) -> bool:
    """Restore the latest checkpoint of a training, if there is one; the first rank reads it."""
    checkpoints, found = training.saving.checkpoints, None
    if checkpoints is not None and training.ranks.first:
        checkpoints.prepare()
        found = checkpoints.load_intact(training.watch.notice, partial(check_saved, training))
    found = shared_checkpoint(found, training.ranks, training.optimizer)
    if found is None:
        if training.saving.history is not None:
            training.saving.history.keep(0)
        return False
    arrays, state = found
    try:
        restore(training, arrays, state)
    except (KeyError, TypeError, ValueError) as error:
        if checkpoints is None:
            raise FileFormatError(f"the state of the first rank cannot be resumed: {error!r}") from None
        name = str(checkpoints.named("latest"))
        file = checkpoints.directory / name / "state.json"
        raise FileFormatError(
            f"{file} is not a state that this training can resume: {error!r}; {checkpoints.advice(name)}"
        ) from None
    return True


def restore(training: Training, arrays: dict[str, Array], state: dict[str, Any]) -> None:
    """Set a training to where its checkpoint was saved."""
    _check_same(training, arrays, state)
    before, now = state.get("ranks", 1), training.ranks.size
    if before != now:
        training.watch.notice(
            f"this training was saved by {counted(before, 'rank')} and goes on with {now}: batches are the same, but "
            "sums are rounded differently"
        )
    _restore_arrays(training, arrays, state)
    if training.stream is not None:
        training.stream.seek(**state["stream"])
    _restore_schedule(training, state)
    training.progress = Progress.restored(state)
    _extend_plan(training)
    _resume_history(training)
    if training.progress.ended is not None:
        training.progress.ended = _still_ended(training)


def _check_same(training: Training, arrays: dict[str, Array], state: dict[str, Any]) -> None:
    """Refuse the checkpoint of another network or optimizer."""
    optimizer, theta = training.optimizer, training.network.theta
    if state["layout"] != layout(training.network):
        raise FileFormatError("the latest checkpoint was saved from another network; train into another directory")
    if state["optimizer"] != type(optimizer).__name__:
        raise FileFormatError(
            f"the latest checkpoint is of a training by {state['optimizer']}, this one is by "
            f"{type(optimizer).__name__}; train into another directory"
        )
    more = {"average": training.step.average, "change": training.step.change}
    names = {"theta", *optimizer.moment_names, *(name for name, array in more.items() if array is not None)}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
    if set(arrays) != names or any(array.shape != theta.values.shape for array in arrays.values()):
        raise FileFormatError(f"the latest checkpoint holds {sorted(arrays)}, this training needs {sorted(names)}")


def _restore_arrays(training: Training, arrays: dict[str, Array], state: dict[str, Any]) -> None:
    optimizer, theta = training.optimizer, training.network.theta
    theta.assign(arrays["theta"])
    optimizer.restore(theta, state["step"], state["age"], {name: arrays[name] for name in optimizer.moment_names})
    training.step.average, training.step.change = arrays.get("average"), arrays.get("change")
    training.step.carried = restored_states(training.network, arrays)


def _restore_schedule(training: Training, state: dict[str, Any]) -> None:
    """The schedule, and the plan that may have changed it."""
    schedule = training.schedule
    if isinstance(schedule, Plateau):
        saved = state["schedule"]
        schedule.rate, schedule.best, schedule.bad_evaluations = saved["rate"], saved["best"], saved["bad_evaluations"]
    if isinstance(schedule, LearnedRate):
        schedule.rate = state["learned"]["rate"]
    if isinstance(schedule, Falling) and state.get("replanned") is not None and not _planned_anew(training, state):
        training.schedule = schedule.restored(state["replanned"])
    if training.plan is not None and state.get("plan") is not None:
        training.plan.restore(state["plan"])
        training.reported_steps = training.plan.steps
        training.stopping = replace(training.stopping, steps=training.plan.steps)


def _planned_anew(training: Training, state: dict[str, Any]) -> bool:
    """Whether a number of steps that is given now has replaced the plan of a budget."""
    schedule = training.schedule
    return training.plan is None and isinstance(schedule, Falling) and schedule.steps > state["replanned"]["steps"]


def _extend_plan(training: Training) -> None:
    """Plan a finished training anew for a larger budget; its rates are those of a training of so many steps."""
    plan, schedule, t = training.plan, training.planned_schedule, training.optimizer.t
    steps = None if plan is None else plan.extend(t, training.progress.seconds, training.steps_per_evaluation)
    if steps is None:
        return
    training.stopping, before = replace(training.stopping, steps=steps), training.reported_steps
    training.reported_steps = steps
    if isinstance(schedule, Falling):
        training.schedule = replace(schedule, steps=steps, warm_up=min(schedule.warm_up, steps - 1))
    if training.progress.ended is not None:
        training.watch.notice(f"{steps:,} steps are planned now instead of {before:,}, and the learning rate with them")


def _resume_history(training: Training) -> None:
    """`evaluations` counts the lines of the history: where some were lost, those that are left."""
    if training.saving.history is not None:
        training.progress.evaluations, lost = training.saving.history.keep(training.progress.evaluations)
        if lost is not None:
            training.watch.notice(lost)
    training.progress.evaluations = training.ranks.share(training.progress.evaluations)  # the first has the history


def _still_ended(training: Training) -> str | None:
    """Why a finished training is still over, or None when its rules were widened since."""
    progress, stopping = training.progress, training.stopping
    goal = None if progress.last is None else stopping.goal(progress.last, progress.bad_evaluations)
    return goal or stopping.limit(training.optimizer.t, training.epochs_done, progress.seconds)


def layout(network: Network) -> str:
    """Compute a digest of names, shapes and precision of all parameters, which a checkpoint must match."""
    text = ";".join(
        f"{name}{parameter.value.shape}{parameter.value.dtype}" for name, parameter in network.named_parameters()
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
