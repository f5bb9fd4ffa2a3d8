"""Long short-term memory."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.activations import logistic
from dragoman.operations.recurrent.steps import Steps, check_blocks
from dragoman.operations.shapes import check_shapes


@operation
def lstm(
    x: Array,
    weights: Array,
    initial: Array | None = None,
    initial_cell: Array | None = None,
    *,
    offsets: Array,
    reverse: bool = False,
    cut: int | None = None,
) -> tuple[tuple[Array, ...], Backward]:
    """c<t> = g_f c<t-1> + g_i tanh(x_c<t> + h<t-1> W_c),   h<t> = g_o tanh(c<t>)          (book, (7.16))
       g = logistic(x<t> + h<t-1> W) for the gates f, i, o                                  (7.17)

    x [N, 4 m], weights [m, 4 m]: forget, input and output gate, then the new memory
    initial, initial_cell [B, m] or None   ->   h [N, m], c [N, m] at every row, h, c [B, m] after the last step
    """
    m = len(weights)
    check_shapes(
        "lstm", weights=(weights, "m k"), x=(x, "N k"), initial=(initial, "B m"), initial_cell=(initial_cell, "B m")
    )
    check_blocks("lstm", weights, 4)
    steps = Steps.of("lstm", x, offsets, reverse, cut)
    kind = np.result_type(*(array for array in (x, weights, initial, initial_cell) if array is not None))
    state, cell = steps.ordered(initial, m, kind), steps.ordered(initial_cell, m, kind)
    h, c = np.empty((len(x), m), kind), np.empty((len(x), m), kind)
    before, parts = [], []
    for rows in steps.rows:
        n = len(rows)
        before.append((state[:n].copy(), cell[:n].copy()))
        sums = x[rows] + state[:n] @ weights
        gates, new = logistic(sums[:, : 3 * m]), np.tanh(sums[:, 3 * m :])
        forget, take, give = np.split(gates, 3, axis=1)
        c[rows] = cell[:n] = forget * cell[:n] + take * new
        shown = np.tanh(cell[:n])
        h[rows] = state[:n] = give * shown
        parts.append((forget, take, give, new, shown))

    def backward(
        dh: Array | None, dc: Array | None, dfinal: Array | None, dfinal_cell: Array | None
    ) -> tuple[Array, Array, Array | None, Array | None]:
        """zeta is the adjoint of h<t>, xi that of c<t>, which the forget gate alone passes back."""
        dx, dweights = np.empty_like(x), np.zeros_like(weights)
        passed, kept = steps.ordered(dfinal, m, x.dtype), steps.ordered(dfinal_cell, m, x.dtype)
        for t, rows, heard in steps.backwards():
            n = len(rows)
            (state_before, cell_before), (forget, take, give, new, shown) = before[t], parts[t]
            zeta = passed[:n] if dh is None else passed[:n] + dh[rows]
            xi = kept[:n] + zeta * give * (1 - shown * shown)
            if dc is not None:
                xi = xi + dc[rows]
            dgates = (
                xi * cell_before * forget * (1 - forget),
                xi * new * take * (1 - take),
                zeta * shown * give * (1 - give),
            )
            dx[rows] = dsums = np.concatenate((*dgates, xi * take * (1 - new * new)), axis=1)
            dweights += state_before.T @ dsums
            passed[:n] = dsums @ weights.T if heard else 0
            kept[:n] = xi * forget if heard else 0
        dinitial = None if initial is None else steps.restored(passed)
        return dx, dweights, dinitial, None if initial_cell is None else steps.restored(kept)

    return (h, c, steps.restored(state), steps.restored(cell)), backward
