"""Training: the loop, its stopping rules, its history and its checkpoints."""

from dragoman.training.checkpoints import Checkpoints
from dragoman.training.loop import Outcome, Watcher, train
from dragoman.training.record import History, Record, overfitting
from dragoman.training.selection import Selection
from dragoman.training.stopping import Stopping

__all__ = [
    "Checkpoints",
    "History",
    "Outcome",
    "Record",
    "Selection",
    "Stopping",
    "Watcher",
    "overfitting",
    "train",
]
