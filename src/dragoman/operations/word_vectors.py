"""Word vectors (book 7.1): a word predicts its neighbours, or is predicted by them, and its vector is what that takes.

Two tables: the vectors v that are kept, and the vectors u that a prediction is compared with. The full softmax looks
at every u; negative sampling only at the true one and at a few drawn by chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.embedding import scatter_add
from dragoman.operations.errors import cross_entropy
from dragoman.operations.pooling import mean_rows
from dragoman.operations.shapes import check_finite, check_labels, check_offsets, check_shapes


@operation
def skip_gram(table: Array, outputs: Array, *, words: Array, contexts: Array) -> tuple[Array, Backward]:
    """e = (1/N) sum_i [log sum_w e^(u_w . v_i) - u_c . v_i]: word i predicts c, a word near it         (book 7.1)

    table [V, d], the vectors v   outputs [V, d], the vectors u   words [N]   contexts [N]   ->   e
    """
    check_shapes("skip_gram", table=(table, "V d"), outputs=(outputs, "W d"), words=(words, "N"))
    check_labels("skip_gram", words, len(table))
    error, softmax_backward = predict(table[words], outputs, contexts)

    def backward(derror: Array) -> tuple[Array, Array]:
        dh, doutputs = softmax_backward(derror)
        return scatter_add(dh, words, len(table)), doutputs

    return error, backward


@operation
def cbow(table: Array, outputs: Array, *, contexts: Array, offsets: Array, targets: Array) -> tuple[Array, Backward]:
    """e = (1/N) sum_i [log sum_w e^(u_w . h_i) - u_t . h_i],  h_i = the mean of v over the words around t    (book 7.1)

    table [V, d], the vectors v   outputs [V, d], the vectors u   targets [N]   ->   e
    contexts: the words around each target, one target after the other; offsets [N + 1] where each one's begin
    """
    check_shapes(
        "cbow", table=(table, "V d"), outputs=(outputs, "W d"), contexts=(contexts, "M"), targets=(targets, "N")
    )
    check_labels("cbow", contexts, len(table))
    check_offsets("cbow", contexts, offsets, "contexts")
    lengths = np.diff(offsets)
    if (lengths == 0).any():
        raise ShapeError(f"cbow: target {int((lengths == 0).argmax())} has no words around it to be predicted from")
    h, mean_backward = mean_rows.definition(table[contexts], offsets=offsets)
    error, softmax_backward = predict(h, outputs, targets)

    def backward(derror: Array) -> tuple[Array, Array]:
        """Each of the n words of a mean gets dh / n, however often it stands there."""
        dh, doutputs = softmax_backward(derror)
        return scatter_add(mean_backward(dh), contexts, len(table)), doutputs

    return error, backward


def predict(h: Array, outputs: Array, targets: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """The cross-entropy of the scores u_w . h over all words w         h [N, d]   outputs [V, d]   targets [N]"""
    scores = h @ outputs.T
    (error, _), error_backward = cross_entropy.definition(scores, targets=targets)

    def backward(derror: Array) -> tuple[Array, Array]:
        """de/ds_iw = (softmax(s_i)_w - [w = t]) / N"""
        dscores = error_backward(derror)
        return dscores @ outputs, dscores.T @ h

    return error, backward


@operation
def negative_sampling(h: Array, outputs: Array, *, targets: Array, negatives: Array) -> tuple[Array, Backward]:
    """e = (1/N) sum_i [-log sigma(u_t . h_i) - sum_k log sigma(-u_k . h_i)],  sigma(s) = 1 / (1 + e^-s)

    h [N, d]   outputs [V, d], the vectors u   targets [N], the words t   negatives [N, K], the words k   ->   e
    A drawn word that is the target itself does not count; one drawn twice counts twice.
    """
    check_shapes(
        "negative_sampling",
        h=(h, "N d"),
        outputs=(outputs, "V d"),
        targets=(targets, "N"),
        negatives=(negatives, "N K"),
    )
    labels = np.concatenate((targets[:, None], negatives), axis=1)
    check_labels("negative_sampling", labels.ravel(), len(outputs))
    counted = labels != targets[:, None]
    counted[:, 0] = True
    factor = counted / np.asarray(max(1, len(h)), h.real.dtype)
    sign = np.where(np.arange(labels.shape[1]), -1, 1).astype(h.real.dtype)  # the first is the target
    u = outputs[labels]
    with np.errstate(all="ignore"):  # overflow is reported below, once
        against = -sign * (u @ h[:, :, None])[:, :, 0]
        top = np.maximum(against.real, 0)  # log(1 + e^x) = top + log(e^-top + e^(x - top)): nothing overflows
        exponential = np.exp(against - top)
        total = np.exp(-top) + exponential
        error = np.asarray((factor * (top + np.log(total))).sum())
    check_finite("the error of negative sampling", error)

    def backward(derror: Array) -> tuple[Array, Array]:
        """de/ds = (sigma(s) - [w = t]) / N,  s = u_w . h;   sigma(-s) = exponential / total at the target"""
        dscores = -sign * (exponential / total) * factor * derror
        dh = (dscores[:, None, :] @ u)[:, 0]
        du = dscores[:, :, None] * h[:, None, :]
        return dh, scatter_add(du.reshape(-1, h.shape[1]), labels.ravel(), len(outputs))

    return error, backward
