"""Training: the loop and its stopping rules."""

from dragoman.training.loop import Outcome, Stopping, train

__all__ = ["Outcome", "Stopping", "train"]
