"""Registers the training of word vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.ops.arguments import are_integers, int64s, matrices, within, writable
from dragoman.engines.numba.word_vectors.predictions import Drawing
from dragoman.engines.numba.word_vectors.training import train_sentences
from dragoman.graph import Array
from dragoman.operations import vector_steps as steps

ENGINE = "numba"


@steps.vector_steps.register(ENGINE)
def vector_steps(
    table: Array,
    outputs: Array,
    labels: Array,
    offsets: Array,
    *,
    plan: steps.Plan,
    epoch: steps.Epoch,
    first: int,
    last: int,
) -> Any:
    if not _fits(table, outputs, labels, offsets, first, last):
        return NotImplemented
    keys = np.array([epoch.key(what) for what in (steps.SUBSAMPLING, steps.WINDOW, steps.NEGATIVES)], np.uint32)
    labels, offsets = read_only(np.ascontiguousarray(labels)), read_only(int64s(offsets))
    size = plan.negatives + 1
    drawing = Drawing(
        plan.negatives,
        plan.shares,
        plan.others,
        rows=np.empty(size, np.int64),
        times=np.empty(size, np.int64),
        scores=np.empty(size if plan.negatives else len(outputs), table.dtype),
        dh=np.empty(table.shape[1], table.dtype),
        tally=np.array([0.0, 1.0]),
    )
    slope = (plan.last_rate - plan.first_rate) / plan.total
    how = (plan.cbow, plan.window, plan.kept, plan.first_rate, slope, epoch.before)
    found: tuple[float, int] = train_sentences(table, outputs, labels, offsets, first, last, how, keys, drawing)
    return found


def _fits(table: Array, outputs: Array, labels: Array, offsets: Array, first: int, last: int) -> bool:
    """Whether the kernel supports these arguments. Invalid input falls back to the definition, which raises."""
    if not matrices(table, outputs) or not writable(table, outputs) or not are_integers(labels, offsets):
        return False
    if labels.dtype not in (np.int32, np.int64):  # those of texts; the kernel would be compiled for each other type
        return False
    if table.ndim != 2 or not table.size or table.shape != outputs.shape or not 0 <= first <= last < len(offsets):
        return False
    ends = int64s(offsets[first : last + 1])
    if ends[0] < 0 or ends[-1] > len(labels) or (np.diff(ends) < 0).any():
        return False
    return bool(within(int64s(labels[ends[0] : ends[-1]]), len(table)))


def read_only(array: Array) -> Array:
    """A read-only view: kernels are compiled separately for writable and read-only arrays, and here one is enough."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
