"""Training: the loop, its stopping rules, its history and its checkpoints."""

from dragoman.training.callback import Callback
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.loop import Outcome, train
from dragoman.training.progress import PrintedProgress
from dragoman.training.record import History, Record, jump, overfitting
from dragoman.training.stopping import Stopping
from dragoman.training.validation import Validation

__all__ = [
    "Callback",
    "Checkpoints",
    "History",
    "Outcome",
    "PrintedProgress",
    "Record",
    "Stopping",
    "Validation",
    "jump",
    "overfitting",
    "train",
]
