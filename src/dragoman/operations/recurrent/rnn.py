"""The simple recurrent network's state."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.activations import find_activation
from dragoman.operations.recurrent.steps import Steps
from dragoman.operations.shapes import check_shapes


@operation
def rnn(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    *,
    offsets: Array,
    activation: str = "tanh",
    reverse: bool = False,
    cut: int | None = None,
) -> tuple[tuple[Array, Array], Backward]:
    """h<t> = S_h(x<t> + h<t-1> W_hh)     (book, (7.2)), h<0> = initial or 0

    x [N, m]   weights [m, m]   initial [B, m] or None   ->   h [N, m] at every row, [B, m] after the last step
    reverse: from the last row of each sequence to its first (7.14)   cut: truncated back-propagation, see Steps
    """
    check_shapes("rnn", x=(x, "N m"), weights=(weights, "m m"), initial=(initial, "B m"))
    function, derivative = find_activation(activation)
    steps = Steps.of("rnn", x, offsets, reverse, cut)
    kind = np.result_type(*(array for array in (x, weights, initial) if array is not None))
    state = steps.ordered(initial, len(weights), kind)
    h, before, sums = np.empty(x.shape, kind), [], []
    for rows in steps.rows:
        n = len(rows)
        before.append(state[:n].copy())
        sums.append(x[rows] + state[:n] @ weights)
        h[rows] = state[:n] = function(sums[-1])

    def backward(dh: Array | None, dfinal: Array | None) -> tuple[Array, Array, Array | None]:
        """(7.6) with the loss of every step: zeta<t> = dh<t> + (dh<t+1>/dh<t>) zeta<t+1>   (corrected, E-B1, E-B2)"""
        dx, dweights = np.empty_like(x), np.zeros_like(weights)
        passed = steps.ordered(dfinal, len(weights), x.dtype)
        for t, rows, heard in steps.backwards():
            n = len(rows)
            zeta = passed[:n] if dh is None else passed[:n] + dh[rows]
            dx[rows] = dsum = derivative(sums[t], h[rows]) * zeta
            dweights += before[t].T @ dsum
            passed[:n] = dsum @ weights.T if heard else 0
        return dx, dweights, None if initial is None else steps.restored(passed)

    return (h, steps.restored(state)), backward
