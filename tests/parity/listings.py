"""The C++ listings of the thesis (appendix B), statement by statement and index by index, as they are printed.

Its tensors are column-major, and attention counts through that memory itself: everything per head stands as
[position, hidden depth, sample, head], scores and weights as [context, input, sample, head].
What a listing takes from its class (weights, sizes, switches) is an argument here. Where it has a slip, a keyword says
what it needs instead; left out, the function does what the print does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.graph import Array

Pairs = tuple[tuple[int, int], ...]
A_B, A_BT, AT_B = ((1, 0),), ((1, 1),), ((0, 0),)  # axes summed over in A B, A B^T, A^T B


def tensor(*shape: int) -> Array:
    return np.zeros(shape, order="F")


def block(owner: Array, index: int, *shape: int) -> Array:
    """What lies in the memory of a tensor after `index` blocks of this shape; writing to it writes to a tensor."""
    size = math.prod(shape)
    return owner.ravel(order="F")[index * size : (index + 1) * size].reshape(shape, order="F")


def contract(a: Array, b: Array, pairs: Pairs) -> Array:
    """Sums over pairs of axes; what is left of a comes first, then what is left of b."""
    count = len(pairs)
    a = np.moveaxis(a, [first for first, _ in pairs], range(-count, 0))
    b = np.moveaxis(b, [second for _, second in pairs], range(count))
    left = a.ndim - count
    y = tensor(*a.shape[:left], *b.shape[count:])
    for place in np.ndindex(y.shape):
        for summed in np.ndindex(b.shape[:count]):
            y[place] += a[place[:left] + summed] * b[summed + place[left:]]
    return y


def multiply_batches(a: Array, b: Array, pairs: Pairs) -> Array:
    """A matrix product for each sample, and each head if there are several; their axes stay last."""
    y = tensor(*(x.shape[1 - pair] for x, pair in zip((a, b), pairs[0], strict=True)), *a.shape[2:])
    for rest in np.ndindex(a.shape[2:]):
        y[:, :, *rest] = contract(a[:, :, *rest], b[:, :, *rest], pairs)
    return y


def lanes(x: Array, axis: int) -> Iterator[tuple[int | slice, ...]]:
    """One index for each vector along an axis."""
    for place in np.ndindex(x.shape[:axis] + x.shape[axis + 1 :]):
        yield (*place[:axis], slice(None), *place[axis:])


def add_to_rows(biases: Array, y: Array) -> None:
    for place in np.ndindex(y.shape):
        y[place] += biases[place[-1]]


def sum_but(kept: int, x: Array) -> Array:
    """Sums over all axes but one."""
    y = tensor(x.shape[kept])
    for place in np.ndindex(x.shape):
        y[place[kept]] += x[place]
    return y


def add_deltas(deltas: Sequence[Array]) -> Array:
    """The deltas of all consumers of a layer, added to those of the first."""
    total = deltas[0].copy(order="F")
    for more in deltas[1:]:
        for place in np.ndindex(total.shape):
            total[place] += more[place]
    return total


def softmax(x: Array, axis: int = 2) -> Array:
    """Listing 1. Printed for rank 3, over the depth."""
    y = tensor(*x.shape)
    for lane in lanes(x, axis):
        y[lane] = x[lane] - max(x[lane])
    for place in np.ndindex(y.shape):
        y[place] = math.exp(y[place])
    for lane in lanes(y, axis):
        y[lane] = y[lane] / sum(y[lane])
    return y


def lookup(labels: Array, table: Array) -> Array:
    """Listing 2. Labels are real numbers, as all its tensors."""
    n, m = labels.shape
    y = tensor(n, m, table.shape[1])
    for i in range(n):
        for j in range(m):
            y[i, j] = table[int(labels[i, j])]
    return y


def positional_encoding(m: int, d: int) -> Array:
    """Listing 3."""
    y = tensor(m, d)
    half = d / 2
    for i in range(m):
        for j in range(d):
            if j < int(half):
                y[i, j] = math.sin(i / 10000 ** (j / half))
            else:
                y[i, j] = math.cos(i / 10000 ** ((j - int(half)) / half))
    return y


def embedding(labels: Array, table: Array, encode: bool) -> Array:
    """Listing 4. Without the encoding there is no scale either."""
    y = lookup(labels, table)
    _, m, d = y.shape
    if encode:
        for place in np.ndindex(y.shape):
            y[place] = y[place] * math.sqrt(d)
        positions = positional_encoding(m, d)
        for i, j, k in np.ndindex(y.shape):
            y[i, j, k] += positions[j, k]
    return y


def transformation(x: Array, weights: Array, biases: Array) -> Array:
    """Listing 5. x [n, m, d], weights [d, d~, h], biases [d~, h] -> [m, d~, n, h]"""
    (n, m, d), (_, hidden, heads) = x.shape, weights.shape
    y = tensor(m, hidden, n, heads)
    for r in range(heads):
        head_y = block(y, r, m, hidden, n)
        head_weights, head_biases = block(weights, r, d, hidden), block(biases, r, hidden)
        for i in range(n):
            sample_y = block(head_y, i, m, hidden)
            sample_y[...] = contract(x[i], head_weights, A_B)
            add_to_rows(head_biases, sample_y)
    return y


def causal_mask(context_size: int, input_size: int) -> Array:
    """Listing 6. -> [context, input]"""
    mask = tensor(context_size, input_size)
    for j in range(input_size):
        for c in range(j + 1, context_size):
            mask[c, j] = -math.inf
    return mask


def attention(query: Array, key: Array, value: Array, causal: bool, axis: int = 2) -> tuple[Array, Array]:
    """Listing 7. Weights and outputs; it calls listing 1 as that stands, but needs it over the context, axis 0."""
    scores = multiply_batches(key, query, A_BT)
    scale = 1 / math.sqrt(key.shape[1])
    for place in np.ndindex(scores.shape):
        scores[place] = scores[place] * scale
    context_size, input_size, n, heads = scores.shape
    if causal:
        mask = causal_mask(context_size, input_size)
        for r in range(heads):
            for i in range(n):
                sample_scores = block(scores, i + r * n, context_size, input_size)
                for place in np.ndindex(mask.shape):
                    sample_scores[place] += mask[place]
    weights = softmax(scores, axis)
    return weights, multiply_batches(weights, value, AT_B)


def projection(outputs: Array, weights: Array, biases: Array) -> Array:
    """Listing 8. outputs [m, d~, n, h], weights [d~, d, h], biases [d] -> [n, m, d]"""
    (m, hidden, n, heads), d = outputs.shape, weights.shape[1]
    projected = tensor(n, m, d, heads)
    for r in range(heads):
        head_projected = block(projected, r, n, m, d)
        head_weights = block(weights, r, hidden, d)
        head_outputs = block(outputs, r, m, hidden, n)
        for i in range(n):
            head_projected[i] = contract(block(head_outputs, i, m, hidden), head_weights, A_B)
    y = tensor(n, m, d)
    for i, j, k, r in np.ndindex(projected.shape):
        y[i, j, k] += projected[i, j, k, r]
    add_to_rows(biases, y)
    return y


@dataclass
class AttentionForward:
    """What listing 9 leaves for listing 27."""

    query: Array
    key: Array
    value: Array
    weights: Array
    outputs: Array
    y: Array


def attention_layer(x: Array, context: Array, parameters: Sequence[Array], causal: bool) -> AttentionForward:
    """Listing 9. parameters: weights and biases of queries, keys, values and projection.

    It calls listings 5 and 7 under other names, and 7 in two parts.
    """
    query = transformation(x, *parameters[0:2])
    key = transformation(context, *parameters[2:4])
    value = transformation(context, *parameters[4:6])
    weights, outputs = attention(query, key, value, causal, axis=0)
    return AttentionForward(query, key, value, weights, outputs, projection(outputs, *parameters[6:8]))


def addition(x1: Array, x2: Array) -> Array:
    """Listing 10."""
    y = tensor(*x1.shape)
    for place in np.ndindex(y.shape):
        y[place] = x1[place] + x2[place]
    return y


@dataclass
class NormalizationForward:
    """What listing 13 leaves for listing 25, means and deviations as often as there are columns."""

    means: Array
    deviations: Array
    xhat: Array
    y: Array


def standardization(x: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """Listing 11. Means, deviations and the normalized x."""
    d = x.shape[2]
    means, deviations, xhat = tensor(*x.shape), tensor(*x.shape), tensor(*x.shape)
    for lane in lanes(x, 2):
        means[lane] = sum(x[lane]) / d
    for lane in lanes(x, 2):
        deviations[lane] = math.sqrt(sum((x[lane] - means[lane]) ** 2) / d)
    for place in np.ndindex(x.shape):
        xhat[place] = (x[place] - means[place]) / (deviations[place] + epsilon)
    return means, deviations, xhat


def affine(gammas: Array, betas: Array, y: Array) -> None:
    """Listing 12. In place."""
    for i, j, k in np.ndindex(y.shape):
        y[i, j, k] *= gammas[k]
    add_to_rows(betas, y)


def normalization_layer(x: Array, gammas: Array, betas: Array, epsilon: float) -> NormalizationForward:
    """Listing 13."""
    means, deviations, xhat = standardization(x, epsilon)
    y = xhat.copy(order="F")
    affine(gammas, betas, y)
    return NormalizationForward(means, deviations, xhat, y)


def combination(x: Array, biases: Array, weights: Array) -> Array:
    """Listing 14."""
    y = contract(x, weights, ((2, 0),))
    add_to_rows(biases, y)
    return y


def activations(combinations: Array, y: Array, activation: str) -> None:
    """Listing 15. Writes y; another name leaves y as it is."""
    match activation:
        case "identity":
            linear(combinations, y)
        case "relu":
            rectified_linear(combinations, y)


def linear(x: Array, y: Array) -> None:
    """Listing 16."""
    for place in np.ndindex(x.shape):
        y[place] = x[place]


def rectified_linear(x: Array, y: Array) -> None:
    """Listing 17."""
    for place in np.ndindex(x.shape):
        y[place] = max(x[place], 0.0)


def perceptron(x: Array, biases: Array, weights: Array, activation: str) -> Array:
    """Listing 18. The activations overwrite the combinations."""
    outputs = combination(x, biases, weights)
    activations(outputs, outputs, activation)
    return outputs


class BackPropagation:
    """What listing 19 is given to write and listing 20 reads; a mask that nobody wrote excludes every position."""

    def __init__(self, n: int, m: int, depth: int) -> None:
        self.exponentials, self.sums, self.mask = tensor(n, m, depth), tensor(n, m), np.zeros((n, m), bool)


def cross_entropy(outputs: Array, targets: Array, store: BackPropagation, keep_mask: bool = False) -> float:
    """Listing 19. Its mask is a local variable; `keep_mask` hands it to listing 20."""
    n, m, _ = outputs.shape
    mask, shifted, errors = np.zeros((n, m), bool), tensor(*outputs.shape), tensor(n, m)
    for place in np.ndindex(n, m):
        mask[place] = targets[place] != 0
    unmasked = sum(mask.ravel().astype(float))
    for lane in lanes(outputs, 2):
        shifted[lane] = outputs[lane] - max(outputs[lane])
    for place in np.ndindex(shifted.shape):
        store.exponentials[place] = math.exp(shifted[place])
    for i, j in np.ndindex(n, m):
        store.sums[i, j] = sum(store.exponentials[i, j])
    for i in range(n):
        for j in range(m):
            errors[i, j] = math.log(store.sums[i, j]) - shifted[i, j, int(targets[i, j])]
    for place in np.ndindex(n, m):
        errors[place] *= float(mask[place])
    if keep_mask:
        store.mask = mask
    return float(np.divide(sum(errors.ravel()), unmasked))


def output_deltas(targets: Array, store: BackPropagation) -> Array:
    """Listing 20."""
    n, m = targets.shape
    unmasked = sum(store.mask.ravel().astype(float))
    deltas = store.exponentials.copy(order="F")
    for i, j, s in np.ndindex(deltas.shape):
        deltas[i, j, s] /= store.sums[i, j]
    for i in range(n):
        for j in range(m):
            deltas[i, j, int(targets[i, j])] -= 1
    for i, j, s in np.ndindex(deltas.shape):
        deltas[i, j, s] *= np.divide(float(store.mask[i, j]), unmasked)
    return deltas


def activation_derivatives(combinations: Array, y: Array, slopes: Array, activation: str) -> None:
    """Listing 21. Writes the slopes; another name leaves them as they are."""
    match activation:
        case "identity":
            linear_derivatives(combinations, y, slopes)
        case "relu":
            rectified_linear_derivatives(combinations, y, slopes)


def linear_derivatives(x: Array, y: Array, slopes: Array) -> None:
    """Listing 22."""
    for place in np.ndindex(slopes.shape):
        slopes[place] = 1.0


def rectified_linear_derivatives(x: Array, y: Array, slopes: Array) -> None:
    """Listing 23. Of x only the shape is used."""
    for place in np.ndindex(slopes.shape):
        slopes[place] = 1.0 if y[place] > 0 else 0.0


def perceptron_back(
    x: Array, deltas: Sequence[Array], outputs: Array, weights: Array, activation: str
) -> tuple[Array, Array, Array]:
    """Listing 24. Derivatives by inputs, weights and biases; `outputs` are those of listing 18 (it declares none)."""
    delta = add_deltas(deltas)
    slopes, combination_deltas = tensor(*delta.shape), tensor(*delta.shape)
    activation_derivatives(outputs, outputs, slopes, activation)
    for place in np.ndindex(delta.shape):
        combination_deltas[place] = delta[place] * slopes[place]
    dbiases = sum_but(2, combination_deltas)
    dweights = contract(x, combination_deltas, ((0, 0), (1, 1)))
    dx = contract(combination_deltas, weights, ((2, 1),))
    return dx, dweights, dbiases


def normalization_back(
    deltas: Sequence[Array], gammas: Array, forward: NormalizationForward, epsilon: float, third: Array | None = None
) -> tuple[Array, Array, Array]:
    """Listing 25. Derivatives by inputs, gammas and betas; `third` [n, m] is what divides the third term instead."""
    delta = add_deltas(deltas)
    n, m, d = delta.shape
    deviations = block(forward.deviations, 0, n, m)
    dgammas = sum_but(2, forward.xhat * delta)
    dbetas = sum_but(2, delta)
    deviation_term, scaled, aux = forward.xhat.copy(order="F"), delta.copy(order="F"), tensor(n, m)
    for i, j, k in np.ndindex(delta.shape):
        scaled[i, j, k] *= gammas[k]
    for i, j in np.ndindex(n, m):
        divisor = deviations[i, j] + epsilon if third is None else third[i, j]
        aux[i, j] = 1 / d * sum(scaled[i, j] * forward.xhat[i, j]) / divisor
    for i, j, k in np.ndindex(delta.shape):
        deviation_term[i, j, k] *= aux[i, j]
    for place in np.ndindex(delta.shape):
        scaled[place] = scaled[place] / (forward.deviations[place] + epsilon)
    dx = tensor(n, m, d)
    for place in np.ndindex(delta.shape):
        dx[place] = scaled[place] - deviation_term[place]
    for i, j in np.ndindex(n, m):
        aux[i, j] = 1 / d * sum(scaled[i, j])
    for i, j, k in np.ndindex(delta.shape):
        dx[i, j, k] -= aux[i, j]
    return dx, dgammas, dbetas


def addition_back(deltas: Sequence[Array]) -> tuple[Array, Array]:
    """Listing 26. Its lines are missing from the text we have: this is what (4.3.12) and (4.3.13) leave to write."""
    delta = add_deltas(deltas)
    return delta, delta.copy()


def softmax_derivatives_times(weights: Array, dweights: Array) -> Array:
    """For each input and sample the derivative of listing 1 over the context, applied: [context, input, sample]"""
    y = tensor(*weights.shape)
    for lane in lanes(weights, 0):
        aux = sum(weights[lane] * dweights[lane])
        y[lane] = weights[lane] * (dweights[lane] - aux)
    return y


def attention_back(
    x: Array, context: Array, deltas: Sequence[Array], parameters: Sequence[Array], forward: AttentionForward
) -> tuple[Array, ...]:
    """Listing 27. Derivatives by input and context, then by the parameters in the order of listing 9.

    Its first lines are missing; all other back-propagations add deltas there.
    """
    delta = add_deltas(deltas)
    n, inputs, d = x.shape
    contexts = context.shape[1]
    _, hidden, heads = parameters[0].shape
    dquery_weights, dquery_biases = tensor(d, hidden, heads), tensor(hidden, heads)
    dkey_weights, dkey_biases = tensor(d, hidden, heads), tensor(hidden, heads)
    dvalue_weights, dvalue_biases = tensor(d, hidden, heads), tensor(hidden, heads)
    dprojection_weights = tensor(hidden, d, heads)
    douts, dquery = tensor(inputs, hidden, n, heads), tensor(inputs, hidden, n, heads)
    dkey, dvalue = tensor(contexts, hidden, n, heads), tensor(contexts, hidden, n, heads)
    dx, dcontext = tensor(n, inputs, d), tensor(n, contexts, d)
    rows = ((0, 2), (1, 0))  # samples and positions: [n, m, d] with [m, d~, n] -> [d, d~]

    for r in range(heads):
        query_weights, key_weights, value_weights = (block(parameters[p], r, d, hidden) for p in (0, 2, 4))
        projection_weights = block(parameters[6], r, hidden, d)
        query = block(forward.query, r, inputs, hidden, n)
        key, value = (block(whole, r, contexts, hidden, n) for whole in (forward.key, forward.value))
        weights = block(forward.weights, r, contexts, inputs, n)
        head_douts, head_dquery = (block(whole, r, inputs, hidden, n) for whole in (douts, dquery))
        head_dkey, head_dvalue = (block(whole, r, contexts, hidden, n) for whole in (dkey, dvalue))

        outputs = block(forward.outputs, r, inputs, hidden, n)
        block(dprojection_weights, r, hidden, d)[...] = contract(outputs, delta, ((2, 0), (0, 1)))
        for i in range(n):
            block(head_douts, i, inputs, hidden)[...] = contract(delta[i], projection_weights, A_BT)
        head_dvalue[...] = multiply_batches(weights, head_douts, A_B)
        block(dvalue_weights, r, d, hidden)[...] = contract(context, head_dvalue, rows)
        dweights = multiply_batches(value, head_douts, A_BT)
        dscores = softmax_derivatives_times(weights, dweights)
        for place in np.ndindex(dscores.shape):
            dscores[place] = dscores[place] * (1 / math.sqrt(hidden))
        head_dquery[...] = multiply_batches(dscores, key, AT_B)
        head_dkey[...] = multiply_batches(dscores, query, A_B)
        block(dquery_weights, r, d, hidden)[...] = contract(x, head_dquery, rows)
        block(dkey_weights, r, d, hidden)[...] = contract(context, head_dkey, rows)

        for i in range(n):
            sample_dquery = block(head_dquery, i, inputs, hidden)
            sample_dkey, sample_dvalue = (block(whole, i, contexts, hidden) for whole in (head_dkey, head_dvalue))
            dx[i] += contract(sample_dquery, query_weights, A_BT)
            dcontext[i] += contract(sample_dkey, key_weights, A_BT) + contract(sample_dvalue, value_weights, A_BT)
        block(dquery_biases, r, hidden)[...] = sum_but(1, head_dquery)
        block(dkey_biases, r, hidden)[...] = sum_but(1, head_dkey)
        block(dvalue_biases, r, hidden)[...] = sum_but(1, head_dvalue)
    dprojection_biases = sum_but(2, delta)
    return (
        dx,
        dcontext,
        dquery_weights,
        dquery_biases,
        dkey_weights,
        dkey_biases,
        dvalue_weights,
        dvalue_biases,
        dprojection_weights,
        dprojection_biases,
    )


def embedding_back(labels: Array, deltas: Sequence[Array], vocabulary: int, encode: bool) -> Array:
    """Listing 28. -> derivative by the table [v, d]"""
    delta = add_deltas(deltas)
    n, m, d = delta.shape
    dtable = tensor(vocabulary, d)
    for i in range(n):
        sample = delta[i] * math.sqrt(d) if encode else delta[i]
        for j in range(m):
            dtable[int(labels[i, j])] += sample[j]
    return dtable


@dataclass
class AdamState:
    """The data listing 29 keeps; both counters begin at 1."""

    parameters: Array
    m: Array
    v: Array
    iteration: int = 1
    step: int = 1


def adam(
    state: AdamState,
    gradient: Array,
    rate: float,
    custom_rate: bool,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    scaled: bool = False,
) -> None:
    """Listing 29. `scaled` multiplies its epsilon by sqrt(1 - b2^t)."""
    correction = np.divide(math.sqrt(1 - beta2**state.iteration), 1 - beta1**state.iteration)
    if scaled:
        epsilon = epsilon * math.sqrt(1 - beta2**state.iteration)
    for p in range(len(gradient)):
        state.m[p] = gradient[p] * (1 - beta1) + state.m[p] * beta1
    for p in range(len(gradient)):
        state.v[p] = gradient[p] ** 2 * (1 - beta2) + state.v[p] * beta2
    if custom_rate:
        rate = rate * min(state.step**-0.5, state.step * 4000**-1.5)
    for p in range(len(gradient)):
        state.parameters[p] -= (rate * correction) * state.m[p] / (math.sqrt(state.v[p]) + epsilon)
    if custom_rate:
        state.step += 1
    state.iteration += 1
