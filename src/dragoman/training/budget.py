"""Plan the number of steps for a time budget, and plan again when the speed of the machine changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

RESERVE = 0.9  # share of the budget to plan for: machines slow down at times, and saving takes time
TOLERANCE = 0.05  # share of the budget that the expected end may differ from the planned one
CHANGE = 0.05  # share of the remaining steps: smaller changes of plan are ignored
STALL = 3.0  # a single slowdown counts as at most this factor
MOST_CHECKS, FEWEST_CHECKS = 200, 20  # checks of the pace per budget; more often towards the end


@dataclass
class BudgetPlan:
    """The plan of a training that has a time budget.

    The plan is kept while its expected end lies within `TOLERANCE` of nine tenths of the budget. Time spent in steps
    and in evaluations is estimated separately, as evaluations are rare. Times are seconds of training, pauses left out.

    budget              seconds; infinite: the plan is never changed
    steps               of the present plan
    step_seconds        of a step, lately; None: not known yet
    evaluation_seconds  of the last evaluation
    new_plans           (step, planned steps) of every plan made since the last evaluation
    """

    budget: float
    steps: int
    step_seconds: float | None = None
    evaluation_seconds: float = 0.0
    new_plans: list[tuple[int, int]] = field(default_factory=list)
    _before: float | None = None  # the budget of the checkpoint that was resumed

    def start(self, t: int, now: float) -> None:
        """Start measuring: training begins or resumes with step t + 1."""
        self._from = t, now
        self._due = now + min(self.budget / FEWEST_CHECKS, max(0.0, self.budget - now) / 10)

    def due(self, now: float) -> bool:
        return now >= self._due

    def evaluated(self, t: int, began: float, now: float) -> None:
        """Note how long an evaluation after step t took. Saving after it counts as part of the next steps."""
        self._observe(t, began)
        self.evaluation_seconds = now - began
        self._from = t, now

    def seconds_left(self, t: int, steps_per_evaluation: float) -> float | None:
        """Estimate the seconds until the last planned step is evaluated; None if the pace is not known yet."""
        if self.step_seconds is None:
            return None
        return max(0, self.steps - t) * self._cost(steps_per_evaluation) + self.evaluation_seconds

    def check(self, t: int, now: float, steps_per_evaluation: float) -> int | None:
        """Return the steps of a new plan, or None if the present one still fits."""
        self._observe(t, now)
        left = self.seconds_left(t, steps_per_evaluation)
        if left is None or not math.isfinite(self.budget) or t >= self.steps:
            return None
        self._due = now + max(self.budget / MOST_CHECKS, min(self.budget / FEWEST_CHECKS, left / 4))
        if abs(now + left - RESERVE * self.budget) <= TOLERANCE * self.budget:
            return None
        steps = self._fitting(t, now, steps_per_evaluation)
        if abs(steps - self.steps) <= CHANGE * (self.steps - t):
            return None
        return self._planned(t, steps)

    def extend(self, t: int, now: float, steps_per_evaluation: float) -> int | None:
        """Return the steps of a new plan if step t was the last one planned for a smaller budget, else None."""
        if self._before is None or not self._before < self.budget < math.inf or t < self.steps:
            return None
        return self._planned(t, self._fitting(t, now, steps_per_evaluation))

    def _planned(self, t: int, steps: int) -> int:
        self.steps = steps
        self.new_plans.append((t, steps))
        return steps

    def _fitting(self, t: int, now: float, steps_per_evaluation: float) -> int:
        """Return the number of the last step that fits into the budget."""
        usable = max(RESERVE * self.budget - now, (self.budget - now) / 2) - self.evaluation_seconds
        return t + max(1, int(usable / self._cost(steps_per_evaluation)))

    def _cost(self, steps_per_evaluation: float) -> float:
        """Return the seconds per step, with its share of the evaluations."""
        return max(1e-9, (self.step_seconds or 0.0) + self.evaluation_seconds / steps_per_evaluation)

    def _observe(self, t: int, now: float) -> None:
        """Update the pace: the time since the last check has half of the weight; a single stall counts in part."""
        before, then = self._from
        if t > before:
            lately = (now - then) / (t - before)
            earlier = self.step_seconds
            self.step_seconds = lately if earlier is None else (earlier + min(lately, STALL * earlier)) / 2
            self._from = t, now

    # Checkpoints

    def state(self) -> dict[str, Any]:
        return {
            "budget": self.budget if math.isfinite(self.budget) else self._before,
            "steps": self.steps,
            "step_seconds": self.step_seconds,
            "evaluation_seconds": self.evaluation_seconds,
            "new_plans": self.new_plans,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the plan of a checkpoint."""
        self._before = state["budget"]
        self.steps, self.step_seconds = state["steps"], state["step_seconds"]
        self.evaluation_seconds = state["evaluation_seconds"]
        self.new_plans = [(int(step), int(steps)) for step, steps in state["new_plans"]]
