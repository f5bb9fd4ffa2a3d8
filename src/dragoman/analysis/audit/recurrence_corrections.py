"""Equations of the book's section 7.2 that fail as printed, beside the form that holds.

h and zeta have a row for each time, counted from 0: h[t] is h<t+1>.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dragoman.analysis.audit.book import (
    T,
    W_hh,
    W_hx,
    b_h,
    loss,
    loss_after,
    m,
    numerical,
    slopes,
    states,
    weight_gradient,
    x,
)
from dragoman.analysis.audit.claim import Evidence, all_hold, correction, disagreement, equal
from dragoman.graph import Array, Tensor, backpropagate
from dragoman.operations import rnn
from dragoman.operations.teaching.jacobians import numerical_jacobian


def carry(h_next: Array, W: Array = W_hh) -> Array:
    """dh<t+1>/dh<t> = W^T diag(sigma'), with sigma' = 1 - h<t+1>^2 for tanh"""
    jacobian: Array = W.T * (1 - h_next**2)
    return jacobian


def adjoints(h: Array, own: Array, W: Array = W_hh) -> Array:
    """(7.6) corrected: own[t] is the derivative of the loss of step t alone, already over T"""
    zeta = own.copy()
    for t in reversed(range(len(h) - 1)):
        zeta[t] += carry(h[t + 1], W) @ zeta[t + 1]
    return zeta


def immediate(h: Array) -> Array:
    """(7.9) for every tau and j: [T, m, m, m], the state before held fixed"""
    before = np.concatenate((np.zeros((1, m)), h[:-1]))
    partials: Array = np.einsum("tj,ji,tk->tjik", 1 - h * h, np.eye(m), before)
    return partials


def summed(h: Array, zeta: Array, weights: Array) -> Array:
    """sum over tau and j of (dh_j<tau>/dW) zeta_j<tau>, each tau counted so many times"""
    total: Array = np.einsum("t,tjik,tj->ik", weights, immediate(h), zeta)
    return total


@correction(
    "E-B1",
    "B-7.6eq",
    title="(7.6): recursion of the adjoints",
    printed=r"\zeta^{\langle T \rangle} = \frac{1}{T} \sum_{\tau=1}^{T} \dot{C}^{\langle \tau \rangle}, \quad \zeta^{\langle t \rangle} = \frac{\partial h^{\langle t+1 \rangle}}{\partial h^{\langle t \rangle}} \zeta^{\langle t+1 \rangle}",
    corrected=r"\zeta^{\langle T \rangle} = \frac{1}{T} \dot{C}^{\langle T \rangle}, \quad \zeta^{\langle t \rangle} = \frac{1}{T} \dot{C}^{\langle t \rangle} + \frac{\partial h^{\langle t+1 \rangle}}{\partial h^{\langle t \rangle}} \zeta^{\langle t+1 \rangle}",
)
def recursion() -> tuple[float, Evidence]:
    """As printed, every loss enters at T, where only the last belongs. `rnn` brings sigma' zeta to its inputs."""
    h = states()
    own, at_end = slopes(h) / T, np.zeros((T, m))
    at_end[-1] = own.sum(axis=0)
    printed, corrected = adjoints(h, at_end), adjoints(h, own)
    exact = [numerical_jacobian(partial(loss_after, t), h[t - 1]) for t in range(1, T + 1)]
    sums = Tensor(x @ W_hx.T + b_h)
    (ours,) = backpropagate(rnn(sums, W_hh.T, offsets=np.array([0, T]))[0], [sums], [own])
    evidence = all_hold(numerical(corrected[t - 1], partial(loss_after, t), h[t - 1]) for t in range(1, T + 1))
    evidence &= equal(ours, (1 - h * h) * corrected)
    return disagreement(printed, np.array(exact)), evidence


@correction(
    "E-B2",
    "B-7.8eq",
    "B-7.10eq",
    title="(7.8), (7.10): gradient from the adjoints",
    printed=r"g_W = \frac{1}{T} \sum_{t=1}^{T} \sum_{\tau=1}^{t} \sum_{j=1}^{m} \frac{\partial h_j^{\langle \tau \rangle}}{\partial W} \zeta_j^{\langle \tau \rangle}",
    corrected=r"g_W = \sum_{\tau=1}^{T} \sum_{j=1}^{m} \frac{\partial h_j^{\langle \tau \rangle}}{\partial W} \zeta_j^{\langle \tau \rangle}",
)
def double_sum() -> tuple[float, Evidence]:
    """An adjoint holds 1/T and all later losses already. With dC<t>/dh<tau> in its place the double sum is right."""
    h = states()
    zeta = adjoints(h, slopes(h) / T)
    often = np.arange(T, 0, -1) / T  # how many t are at least tau, over T
    corrected = summed(h, zeta, np.ones(T))
    by_losses = np.zeros((m, m))
    for t in range(T):
        alone = np.zeros((T, m))
        alone[t] = slopes(h)[t]
        by_losses += summed(h, adjoints(h, alone), (np.arange(T) <= t) / T)
    exact = numerical_jacobian(loss, W_hh)
    evidence = numerical(corrected, loss, W_hh) & equal(by_losses, exact) & equal(weight_gradient(), corrected)
    return disagreement(summed(h, zeta, often), exact), evidence


@correction(
    "E-B4",
    "B-7.11eq",
    title="(7.11): from one state to the next",
    printed=r"\frac{\partial h^{\langle t+1 \rangle}}{\partial h^{\langle t \rangle}} = W_{hh}^\top \mathrm{diag}\left(\dot{\sigma}(W_{hh} h^{\langle t \rangle} + W_{hx} x^{\langle t \rangle} + b_h)\right)",
    corrected=r"\frac{\partial h^{\langle t+1 \rangle}}{\partial h^{\langle t \rangle}} = W_{hh}^\top \mathrm{diag}\left(\dot{\sigma}(W_{hh} h^{\langle t \rangle} + W_{hx} x^{\langle t+1 \rangle} + b_h)\right)",
)
def one_step() -> tuple[float, Evidence]:
    """In the layout that (7.6) needs: a row for each entry of h<t>, a column for each of h<t+1>. `rnn` of one step
    brings (dh<t+1>/dh<t>) zeta<t+1> to the state it begins with.
    """
    h = states()

    def step(t: int, j: int | slice, state: Array) -> Array:
        after: Array = np.tanh(W_hh @ state + W_hx @ x[t + 1] + b_h)[j]
        return after

    exact = np.array([numerical_jacobian(partial(step, t, slice(None)), h[t]).T for t in range(T - 1)])
    printed = np.array([carry(np.tanh(W_hh @ h[t] + W_hx @ x[t] + b_h)) for t in range(T - 1)])
    evidence = all_hold(
        numerical(carry(h[t + 1])[:, j], partial(step, t, j), h[t]) for t in range(T - 1) for j in range(m)
    )
    zeta = slopes(h)
    for t in range(T - 1):
        before = Tensor(h[t : t + 1])
        after, _ = rnn(x[t + 1 : t + 2] @ W_hx.T + b_h, W_hh.T, before, offsets=np.array([0, 1]))
        (ours,) = backpropagate(after, [before], [zeta[t + 1 : t + 2]])
        evidence &= equal(ours[0], carry(h[t + 1]) @ zeta[t + 1])
    return disagreement(printed, exact), evidence
