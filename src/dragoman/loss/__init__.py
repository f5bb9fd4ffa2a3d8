"""The loss index: error + regularization."""

from dragoman.loss.adjusted import AdjustedCrossEntropy
from dragoman.loss.index import CrossEntropy, LogError, Loss, LossIndex, MeanSquaredError
from dragoman.loss.regularization import Regularization

__all__ = [
    "AdjustedCrossEntropy",
    "CrossEntropy",
    "LogError",
    "Loss",
    "LossIndex",
    "MeanSquaredError",
    "Regularization",
]
