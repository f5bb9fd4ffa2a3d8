"""The book, section 7.2: recurrent networks and back-propagation through time."""

from __future__ import annotations

from functools import partial

import numpy as np

from dragoman.analysis.audit.book import (
    PARAMETERS,
    T,
    W_hh,
    W_hx,
    W_yh,
    b_h,
    b_y,
    loss,
    loss_after,
    losses,
    m,
    network,
    numerical,
    states,
    targets,
    unrolled,
    weight_gradient,
    x,
)
from dragoman.analysis.audit.claim import Evidence, all_hold, claim, equal, holds, proved
from dragoman.graph import Array, Tensor, backpropagate, gradient_check, value_of
from dragoman.operations import cross_entropy, linear, rnn, softmax
from dragoman.operations.teaching.jacobians import numerical_jacobian

ONE = np.array([0, T])  # all rows are one sequence
NOTHING = np.zeros(m)


def by_inputs(x: Array) -> Array:
    """W_hx x<t> + b_h at every step"""
    return value_of(linear(x, W_hx, b_h, transposed=True))


@claim(
    "B-7.1eq",
    "B-7.2-state",
    title="The state is a nested function of the inputs so far",
    formula=r"h^{\langle t \rangle} = f(\dots f(f(h^{\langle 0 \rangle}, x^{\langle 1 \rangle}), x^{\langle 2 \rangle}), \dots, x^{\langle t \rangle})",
)
def nested() -> Evidence:
    """Of the first t inputs alone, the state at t comes out; other inputs later on change nothing before them."""
    whole, _ = rnn(by_inputs(x), W_hh.T, offsets=ONE)
    alone = [rnn(by_inputs(x[:t]), W_hh.T, offsets=np.array([0, t]))[1] for t in range(1, T + 1)]
    changed, _ = rnn(by_inputs(np.concatenate((x[:3], -x[3:]))), W_hh.T, offsets=ONE)
    same = (value_of(changed) == value_of(whole)).all(axis=1)
    return equal(np.concatenate([value_of(h) for h in alone]), value_of(whole)) & holds(
        same.tolist() == [True] * 3 + [False] * (T - 3)
    )


@claim(
    "B-7.2eq",
    "B-7.2-out",
    title="The basic recurrent cell",
    formula=r"h^{\langle t \rangle} = S_h(W_{hh} h^{\langle t-1 \rangle} + W_{hx} x^{\langle t \rangle} + b_h), \quad \hat{y}^{\langle t \rangle} = S_y(W_{yh} h^{\langle t \rangle} + b_y)",
)
def cell() -> Evidence:
    h, _ = rnn(by_inputs(x), W_hh.T, offsets=ONE)
    e = np.exp(states() @ W_yh.T + b_y)
    y = softmax(linear(h, W_yh, b_y, transposed=True))
    return equal(value_of(h), states()) & equal(value_of(y), e / e.sum(axis=1, keepdims=True))


@claim(
    "B-7.4eq",
    title="Loss of a sequence",
    formula=r"C(\theta) = \frac{1}{T} \sum_{t=1}^{T} C^{\langle t \rangle}(\theta)",
)
def sequence_loss() -> Evidence:
    return equal(value_of(network(*PARAMETERS)), sum(losses(states())) / T)


@claim(
    "B-7.5eq",
    title="Loss of a step",
    formula=r"C^{\langle t \rangle}(\theta) = -\sum_{k=1}^{d_V} y_k^{\langle t \rangle} \log \hat{y}_k^{\langle t \rangle}",
)
def step_loss() -> Evidence:
    """A uniform guess among 8 words costs log 8."""
    uniform, _ = cross_entropy(np.zeros((1, 8)), targets=np.array([3]))
    logits = value_of(linear(states(), W_yh, b_y, transposed=True))
    found = [value_of(cross_entropy(z[None], targets=k)[0]) for z, k in zip(logits, targets[:, None], strict=True)]
    return equal(np.array(found), losses(states())) & equal(value_of(uniform), 2.079441542, 1e-9)


@claim(
    "B-7.2-ffanalogy",
    title="Unrolled, it is a deep net with shared weights",
    formula=r"a^{[\ell]} = S(W a^{[\ell - 1]} + W_{hx} x^{\langle \ell \rangle} + b), \quad \ell = 1, \dots, T",
)
def feedforward() -> Evidence:
    W = Tensor(W_hh)
    steps, _ = unrolled([W] * T, NOTHING)
    value = sum(value_of(step) for step in steps)
    (g,) = backpropagate(steps, [W])
    return equal(value, value_of(network(*PARAMETERS))) & equal(g, weight_gradient()) & numerical(g, loss, W_hh)


@claim(
    "B-7.2-adjoint",
    title="Adjoint of a state",
    formula=r"\zeta^{\langle t \rangle} = \frac{\partial C(\theta)}{\partial h^{\langle t \rangle}}",
)
def adjoints() -> Evidence:
    """What back-propagation brings to each state, against the derivatives of all that follows it"""
    steps, h = unrolled([Tensor(W_hh)] * T, NOTHING)
    zeta = backpropagate(steps, [state for state in h if isinstance(state, Tensor)])
    return all_hold(numerical(zeta[t - 1][0], partial(loss_after, t), states()[t - 1]) for t in range(1, T + 1))


@claim(
    "B-7.7eq",
    title="Gradient of shared weights",
    formula=r"g_W = \frac{\partial C}{\partial W} = \frac{1}{T} \sum_{t=1}^{T} \frac{\partial C^{\langle t \rangle}}{\partial W}",
)
def mean_gradient() -> Evidence:
    of_each_step = numerical_jacobian(lambda W: losses(states(W)), W_hh)
    return equal(of_each_step.mean(axis=0), weight_gradient())


@claim(
    "B-7.9eq",
    title="One neuron by the weights, the state before held fixed",
    formula=r"\frac{\partial h_j^{\langle \tau \rangle}}{\partial W} = \dot{\sigma}\left([W_{hh} h^{\langle \tau-1 \rangle} + W_{hx} x^{\langle \tau \rangle} + b_h]_j\right) e_j (h^{\langle \tau-1 \rangle})^\top",
)
def immediate() -> Evidence:
    """The partial of one step; the total derivative of the state, through all steps before, is another (E-B3)."""
    tau, h = 4, states()
    before, after = h[tau - 2], h[tau - 1]

    def neuron(j: int, W: Array) -> Array:
        step: Array = np.tanh(W @ before + W_hx @ x[tau - 1] + b_h)[j]
        return step

    closed = [(1 - after[j] ** 2) * np.outer(np.eye(m)[j], before) for j in range(m)]
    total = numerical_jacobian(lambda W: states(W)[tau - 1], W_hh)
    return all_hold(numerical(closed[j], partial(neuron, j), W_hh) for j in range(m)) & holds(
        bool(np.abs(total - np.array(closed)).max() > 0.1)
    )


@claim(
    "B-F7.6",
    title="Every adjoint feeds the gradient of the shared weights",
    formula=r"g_W = \sum_{\tau=1}^{T} g_W^{\langle \tau \rangle}, \quad g_W^{\langle \tau \rangle} \neq 0",
)
def all_adjoints() -> Evidence:
    """A copy of W for each step has that step's share; from the state 0 the first would have none."""
    start = np.array([0.5, -1.0, 0.3])
    copies, shared = [Tensor(W_hh) for _ in range(T)], Tensor(W_hh)
    shares = backpropagate(unrolled(copies, start)[0], copies)
    (g,) = backpropagate(unrolled([shared] * T, start)[0], [shared])
    return equal(np.sum(shares, axis=0), g) & holds(all(np.abs(share).max() > 1e-3 for share in shares))


@claim(
    "B-7.2-bptt",
    title="Back-propagation through time, all parameters",
    formula=r"\frac{\partial C}{\partial W_{hh}}, \frac{\partial C}{\partial W_{hx}}, \frac{\partial C}{\partial b_h}, \frac{\partial C}{\partial W_{yh}}, \frac{\partial C}{\partial b_y}",
)
def through_time() -> Evidence:
    return proved(gradient_check(network, *PARAMETERS)) & numerical(weight_gradient(), loss, W_hh)
