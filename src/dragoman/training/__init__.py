"""Training: the loop, its stopping rules, its history and its checkpoints."""

from dragoman.training.checkpoints import Checkpoints
from dragoman.training.loop import Callback, Outcome, train
from dragoman.training.record import History, Record, overfitting
from dragoman.training.stopping import Stopping
from dragoman.training.validation import Validation

__all__ = [
    "Callback",
    "Checkpoints",
    "History",
    "Outcome",
    "Record",
    "Stopping",
    "Validation",
    "overfitting",
    "train",
]
