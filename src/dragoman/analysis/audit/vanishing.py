"""The book, section 7.2, computational challenges: adjoints that vanish or explode, and gradients cut short."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.book import T, W_hh, W_hx, b_h, m, numerical, p, slopes, states, weight_gradient
from dragoman.analysis.audit.claim import Evidence, claim, correction, disagreement, equal, holds
from dragoman.analysis.audit.recurrence_corrections import adjoints, summed
from dragoman.graph import Array, Tensor, backpropagate
from dragoman.operations import rnn
from dragoman.operations.teaching.jacobians import numerical_jacobian


@claim(
    "B-7.12eq",
    title="Without activation, loss at T only: powers of the weights",
    formula=r"\zeta^{\langle t \rangle} = (W_{hh}^\top)^{T-t} \zeta^{\langle T \rangle}",
)
def powers() -> Evidence:
    """Over 100 steps an adjoint vanishes when the spectral radius is 0.5, and explodes when it is 2."""
    radius, at_end = np.abs(np.linalg.eigvals(W_hh)).max(), np.array([[1.0, -2.0, 0.5]])

    def carried_back(W: Array, steps: int) -> Array:
        h = Tensor(np.zeros((1, m)))
        zero, offsets = np.zeros((steps, m)), np.array([0, steps])
        (zeta,) = backpropagate(rnn(zero, W.T, h, offsets=offsets, activation="identity")[1], [h], [at_end])
        back: Array = zeta[0]
        return back

    found, expected, sizes = [], [], []
    for size in (0.5, 1.0, 2.0):
        W = W_hh * (size / radius)
        found += [carried_back(W, steps) for steps in range(1, T)]
        expected += [np.linalg.matrix_power(W.T, steps) @ at_end[0] for steps in range(1, T)]
        sizes.append(np.abs(carried_back(W, 100)).max())
    return equal(np.array(found), np.array(expected)) & holds(sizes[0] < 1e-25 and sizes[2] > 1e25)


@claim(
    "B-7.2-tbptt",
    title="Truncated back-propagation",
    formula=r"g_W^{(k)}: \quad k \geq T \Rightarrow g_W^{(k)} = g_W, \quad k = 1 \Rightarrow g_W^{(1)} = \frac{1}{T} \sum_{\tau, j} \frac{\partial h_j^{\langle \tau \rangle}}{\partial W} \dot{C}_j^{\langle \tau \rangle}",
)
def truncated() -> Evidence:
    h = states()
    full, only_immediate = weight_gradient(), summed(h, slopes(h) / T, np.ones(T))
    return (
        equal(weight_gradient(T), full)
        & equal(weight_gradient(T + 5), full)
        & equal(weight_gradient(1), only_immediate)
        & holds(bool(np.abs(weight_gradient(2) - full).max() > 1e-2))
    )


LONG, FROM = 300, 250  # the book's T and T_0


@correction(
    "E-B5",
    "B-7.13eq",
    title="(7.13): gradient from the last steps alone",
    printed=r"g_W \approx \frac{1}{T} \sum_{t=T_0}^{T} \sum_{\tau=T_0}^{t} \sum_{j=1}^{m} \frac{\partial h_j^{\langle \tau \rangle}}{\partial W} \zeta_j^{\langle \tau \rangle}",
    corrected=r"C = C^{\langle T \rangle} \Rightarrow g_W \approx \sum_{\tau=T_0}^{T} \sum_{j=1}^{m} \frac{\partial h_j^{\langle \tau \rangle}}{\partial W} \zeta_j^{\langle \tau \rangle}",
)
def last_steps() -> tuple[float, Evidence]:
    """With a loss at every step no adjoint vanishes; with one at T alone they do, and each tau counts once.

    Here C<t> is linear in h<t>, and the spectral radius of W is 0.5.
    """
    rng, times = np.random.default_rng(13), np.arange(1, LONG + 1)
    inputs, own = rng.standard_normal((LONG, p)), rng.standard_normal((LONG, m))  # own: Cdot<t> / T
    at_end, last = np.where(times[:, None] == LONG, own, 0.0), np.where(times >= FROM, 1.0, 0.0)
    W = W_hh * (0.5 / np.abs(np.linalg.eigvals(W_hh)).max())
    h = states(W, inputs=inputs)
    every, only = adjoints(h, own, W), adjoints(h, at_end, W)
    exact = numerical_jacobian(lambda W: np.asarray((own * states(W, inputs=inputs)).sum()), W)
    printed = summed(h, every, last * (LONG - times + 1) / LONG)

    weights = Tensor(W.T)
    _, final = rnn(inputs @ W_hx.T + b_h, weights, offsets=np.array([0, LONG]), cut=LONG - FROM)
    (cut,) = backpropagate(final, [weights], [at_end[-1:]])
    corrected, still_wrong = summed(h, only, last), summed(h, every, last)
    evidence = (
        numerical(corrected, lambda W: (at_end * states(W, inputs=inputs)).sum(), W)
        & equal(cut.T, corrected)
        & holds(bool(np.abs(only[:200]).max() < 1e-20 and np.abs(every[:200]).max() > 0.1))
        & holds(disagreement(still_wrong, exact) > 0.1)
    )
    return disagreement(printed, exact), evidence
