"""The graph: tensors, operations and the back-propagation algorithm."""

from dragoman.graph.backpropagate import backpropagate
from dragoman.graph.gradient_check import GradientReport, gradient_check
from dragoman.graph.operation import Operation, current_engine, operation, replaceable, use_engine
from dragoman.graph.tensor import Array, Backward, Parameter, Pending, Tensor, Value, value_of
from dragoman.graph.theta import Theta

__all__ = [
    "Array",
    "Backward",
    "GradientReport",
    "Operation",
    "Parameter",
    "Pending",
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
