"""The graph: tensors, operations and the back-propagation algorithm."""

from dragoman.graph.backpropagate import backpropagate
from dragoman.graph.gradient_check import GradientReport, gradient_check
from dragoman.graph.gradient_reducer import GradientReducer, ShardWriter
from dragoman.graph.operation import Operation, current_engine, dispatched, operation, use_engine
from dragoman.graph.symbol import Size, Symbol, TraceError, index_function
from dragoman.graph.tensor import Array, Backward, DeferredGradient, Parameter, Tensor, Value, value_of
from dragoman.graph.theta import Theta

__all__ = [
    "Array",
    "Backward",
    "DeferredGradient",
    "GradientReducer",
    "GradientReport",
    "Operation",
    "Parameter",
    "ShardWriter",
    "Size",
    "Symbol",
    "Tensor",
    "Theta",
    "TraceError",
    "Value",
    "backpropagate",
    "current_engine",
    "dispatched",
    "gradient_check",
    "index_function",
    "operation",
    "use_engine",
    "value_of",
]
