"""The gated recurrent unit."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.activations import logistic
from dragoman.operations.recurrent.steps import Steps, check_blocks
from dragoman.operations.shapes import check_shapes


@operation
def gru(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    biases: Array | None = None,
    *,
    offsets: Array,
    reverse: bool = False,
    cut: int | None = None,
) -> tuple[tuple[Array, Array], Backward]:
    """h<t> = (1 - g_u) h<t-1> + g_u tanh(x_h<t> + (g_r h<t-1>) W)          (book, (7.18))
       g = logistic(x<t> + h<t-1> W) for the gates r, u                       (7.19)

    x [N, 3 m], weights [m, 3 m]: reset and update gate, then the new state
    initial [B, m] or None   ->   h [N, m] at every row, [B, m] after the last step
    biases [m], if given: the gate resets after the product, tanh(x_h<t> + g_r (h<t-1> W + b)), as cuDNN and PyTorch do
    """
    m, after = len(weights), biases is not None
    check_shapes("gru", weights=(weights, "m k"), x=(x, "N k"), initial=(initial, "B m"), biases=(biases, "m"))
    check_blocks("gru", weights, 3)
    steps = Steps.of("gru", x, offsets, reverse, cut)
    of_gates, of_new = weights[:, : 2 * m], weights[:, 2 * m :]
    kind = np.result_type(*(array for array in (x, weights, initial, biases) if array is not None))
    state, h = steps.ordered(initial, m, kind), np.empty((len(x), m), kind)
    before, parts = [], []
    for rows in steps.rows:
        n = len(rows)
        old = state[:n].copy()
        reset, update = np.split(logistic(x[rows, : 2 * m] + old @ of_gates), 2, axis=1)
        reached = old @ of_new + biases if after else reset * old
        new = np.tanh(x[rows, 2 * m :] + (reset * reached if after else reached @ of_new))
        h[rows] = state[:n] = (1 - update) * old + update * new
        before.append(old)
        parts.append((reset, update, reached, new))

    def backward(dh: Array | None, dfinal: Array | None) -> tuple[Array, Array, Array | None, Array | None]:
        """zeta is the adjoint of h<t>; of it the update gate passes a part back untouched"""
        dx, dweights = np.empty_like(x), np.zeros_like(weights)
        dbiases = np.zeros_like(biases) if after else None
        passed = steps.ordered(dfinal, m, x.dtype)
        for t, rows, heard in steps.backwards():
            n = len(rows)
            old, (reset, update, reached, new) = before[t], parts[t]
            zeta = passed[:n] if dh is None else passed[:n] + dh[rows]
            dnew = zeta * update * (1 - new * new)
            if after:
                dreached = dnew * reset
                dreset, dold = dnew * reached, dreached @ of_new.T
                dweights[:, 2 * m :] += old.T @ dreached
                dbiases += dreached.sum(axis=0)
            else:
                dreached = dnew @ of_new.T
                dreset, dold = dreached * old, dreached * reset
                dweights[:, 2 * m :] += reached.T @ dnew
            dgates = np.concatenate((dreset * reset * (1 - reset), zeta * (new - old) * update * (1 - update)), axis=1)
            dweights[:, : 2 * m] += old.T @ dgates
            dx[rows] = np.concatenate((dgates, dnew), axis=1)
            passed[:n] = zeta * (1 - update) + dold + dgates @ of_gates.T if heard else 0
        return dx, dweights, None if initial is None else steps.restored(passed), dbiases

    return (h, steps.restored(state)), backward
