"""The graph: tensors, operations and the back-propagation algorithm."""

from dragoman.graph.backpropagate import backpropagate
from dragoman.graph.gathering import Gathering, Share
from dragoman.graph.gradient_check import GradientReport, gradient_check
from dragoman.graph.operation import Operation, current_engine, operation, replaceable, use_engine
from dragoman.graph.tensor import Array, Backward, Parameter, Pending, Tensor, Value, value_of
from dragoman.graph.theta import Theta

__all__ = [
    "Array",
    "Backward",
    "Gathering",
    "GradientReport",
    "Operation",
    "Parameter",
    "Pending",
    "Share",
    "Tensor",
    "Theta",
    "Value",
    "backpropagate",
    "current_engine",
    "gradient_check",
    "operation",
    "replaceable",
    "use_engine",
    "value_of",
]
