"""The back-propagation algorithm (thesis, Algorithm 4.10) on any acyclic graph of operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from dragoman.errors import GraphError, ShapeError
from dragoman.graph.gradient_reducer import GradientReducer, ShardWriter
from dragoman.graph.tensor import Array, DeferredGradient, Node, Tensor
from dragoman.graph.theta import Theta

Deltas = dict[int, Array]


@overload
def backpropagate(
    outputs: Any, wrt: Theta, deltas: Sequence[Array | None] | None = None, into: Array | None = None
) -> Array: ...
@overload
def backpropagate(outputs: Any, wrt: ShardWriter, deltas: Sequence[Array | None] | None = None) -> None: ...
@overload
def backpropagate(outputs: Any, wrt: Sequence[Tensor], deltas: Sequence[Array | None] | None = None) -> list[Array]: ...
def backpropagate(
    outputs: Any,
    wrt: Theta | ShardWriter | Sequence[Tensor],
    deltas: Sequence[Array | None] | None = None,
    into: Array | None = None,
) -> Array | list[Array] | None:
    """Compute derivatives of a scalar output (or of several outputs weighted by `deltas`).

    `wrt` a Theta: returns the gradient as one vector aligned with it (`into`, if given, is overwritten and returned).
    `wrt` a ShardWriter of a GradientReducer: pushes the derivatives to it.
    `wrt` tensors, parameters or intermediate values alike: returns one array for each, 0 where nothing depends on it.
    """
    sinks = list(outputs) if isinstance(outputs, Sequence) else [outputs]
    if not all(isinstance(sink, Tensor) for sink in sinks):
        raise GraphError("nothing was recorded: an output is a plain array, because no input wants a gradient")
    starts = _output_deltas(sinks, deltas)
    if isinstance(wrt, ShardWriter):
        _visit(sinks, starts, set(), wrt)
        return None
    if isinstance(wrt, Theta):
        gradient = np.empty_like(wrt.values) if into is None else into
        with GradientReducer(wrt.views(gradient)).share() as share:
            _visit(sinks, starts, set(), share)
        return gradient
    found = _visit(sinks, starts, {id(tensor) for tensor in wrt}, None)
    return [found[id(t)] if id(t) in found else np.zeros_like(t.value) for t in wrt]


def reverse_order(sinks: Sequence[Tensor]) -> list[Node]:
    """Order nodes from the outputs to the leaves: each after all of its consumers (q = l, l-1, ..., 1)."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(t.node, False) for t in sinks if t.node is not None]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((x.node, False) for x in node.inputs if isinstance(x, Tensor) and x.node is not None)
    return order[::-1]


def _output_deltas(sinks: Sequence[Tensor], deltas: Sequence[Array | None] | None) -> list[Array | None]:
    """Return Delta^O: 1 for a scalar output, otherwise given by the caller."""
    if deltas is None:
        for sink in sinks:
            if sink.value.size != 1:
                raise GraphError(
                    f"back-propagation starts from a scalar, got an output of shape {sink.value.shape}; "
                    "reduce it with an error function, or pass deltas="
                )
        return [np.ones_like(sink.value) for sink in sinks]
    if len(deltas) != len(sinks):
        raise GraphError(f"{len(sinks)} outputs but {len(deltas)} deltas")
    return list(deltas)


def _visit(
    sinks: Sequence[Tensor], deltas: Sequence[Array | None], kept: set[int], share: ShardWriter | None
) -> Deltas:
    """Run steps 1-3 of Algorithm 4.10 for every node; return the deltas of the tensors in `kept`, push the others."""
    at_leaf: Deltas = {}
    at_node: dict[int, list[Array | None]] = {}

    def add(tensor: Tensor, delta: Array | DeferredGradient) -> None:
        """Step 1: the deltas of all consumers add up."""
        if delta.shape != tensor.value.shape:
            raise ShapeError(f"a delta of shape {delta.shape} reached {tensor!r}: a derivative has its input's shape")
        if delta.dtype != tensor.value.dtype:
            raise GraphError(
                f"a delta of type {delta.dtype} reached {tensor!r}: somewhere float32 and float64 were mixed; "
                "give the inputs the type of the parameters"
            )
        if share is not None and tensor.node is None:
            share.push(tensor, delta)
            return
        if isinstance(delta, DeferredGradient):
            delta = delta.value()
        if id(tensor) in kept:
            at_leaf[id(tensor)] = at_leaf[id(tensor)] + delta if id(tensor) in at_leaf else delta
        if tensor.node is not None:
            slots = at_node.setdefault(id(tensor.node), [None] * tensor.node.outputs)
            present = slots[tensor.index]
            slots[tensor.index] = delta if present is None else present + delta

    for sink, delta in zip(sinks, deltas, strict=True):
        if delta is not None:
            add(sink, np.asarray(delta, sink.value.dtype))
    for node in reverse_order(sinks):
        slots = at_node.pop(id(node), None)
        if slots is not None:  # None: no consumer used this node's outputs
            for tensor, delta in zip(node.inputs, _differentiate(node, slots), strict=True):
                if isinstance(tensor, Tensor) and tensor.wants_gradient and delta is not None:
                    add(tensor, delta)
        node.inputs, node.backward = (), None  # free what the closure saved
    return at_leaf


def _differentiate(node: Node, slots: list[Array | None]) -> tuple[Array | None, ...]:
    """Steps 2 and 3: apply the operation's own derivative, once."""
    if node.backward is None:
        raise GraphError(
            f"{node.name} was already back-propagated: a recorded pass is consumed by one back-propagation; "
            "run the forward pass again"
        )
    returned = node.backward(*slots)
    derivatives: tuple[Array | None, ...] = returned if isinstance(returned, tuple) else (returned,)
    inputs = len(node.inputs)  # optional inputs left out of the call have no derivative
    if returned is None or len(derivatives) < inputs or any(extra is not None for extra in derivatives[inputs:]):
        raise _wrong_number(node, returned, len(derivatives))
    return derivatives[:inputs]


def _wrong_number(node: Node, returned: Any, found: int) -> GraphError:
    inputs = "1 input" if len(node.inputs) == 1 else f"{len(node.inputs)} inputs"
    listed = " (a list)" if isinstance(returned, list) else ""
    what = "None: is its `return` missing?" if returned is None else f"{found} derivatives{listed}."
    return GraphError(
        f"{node.name} was called with {inputs}, but its backward returned {what} Expected: one derivative for each "
        "input, in order, and None for an input that has none: `return dx, dweights`"
    )
