"""What every operation promises, whatever it computes."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman import operations
from dragoman.graph import Operation, Tensor, backpropagate, gradient_check
from dragoman.operations import Dropout

OFFSETS, MEMORY, LABELS = np.array([0, 3, 3, 5]), np.array([0, 1, 1, 3]), np.array([2, 0, 2, 1, 0])
DROPOUT = Dropout(0.4, key=7)

# name, shapes of the inputs, options; five rows in three sequences, the second empty
CASES = [
    ("activate", [(5, 4)], {"activation": "tanh"}),
    ("activate", [(5, 4)], {"activation": "identity"}),
    ("activate", [(5, 4)], {"activation": "relu"}),
    ("activate", [(5, 4)], {"activation": "logistic"}),
    ("activate", [(5, 4)], {"activation": "gelu"}),
    ("add", [(5, 4), (5, 4)], {}),
    ("add_normalize", [(5, 4), (5, 4), (4,), (4,)], {"dropout": DROPOUT, "form": "outside"}),
    ("add_normalize", [(5, 4), (5, 4), (4,), (4,)], {}),
    ("append_row", [(5, 4), (4,)], {"offsets": OFFSETS}),
    ("attend", [(5, 4), (3, 4), (3, 4)], {"offsets": OFFSETS, "memory_offsets": MEMORY, "heads": 2}),
    ("attend", [(5, 4), (5, 4), (5, 4), (2, 3)], {"offsets": OFFSETS, "heads": 2, "causal": True}),
    ("attend", [(5, 4), (5, 4), (5, 6)], {"offsets": OFFSETS, "heads": 2}),
    ("attend_additive", [(5, 4), (3, 4), (4,), (3, 2)], {"offsets": OFFSETS, "memory_offsets": MEMORY}),
    ("attend_cross", [(5, 4), (3, 8)], {"offsets": OFFSETS, "memory_offsets": MEMORY, "heads": 2, "scaled": False}),
    ("attend_self", [(5, 12), (2, 3)], {"offsets": OFFSETS, "heads": 2, "causal": True}),
    ("attention_pool", [(5, 4), (4,)], {"offsets": OFFSETS}),
    ("average_pool", [(2, 4, 5, 2)], {"size": (2, 2), "stride": (1, 2)}),
    ("cbow", [(3, 4), (3, 4)], {"contexts": LABELS, "offsets": np.array([0, 3, 5]), "targets": np.array([1, 0])}),
    ("clip_values", [(5, 4)], {"limit": 0.5}),
    ("concatenate_columns", [(5, 4), (5, 1)], {}),
    ("convolve", [(2, 4, 5, 2), (12, 3), (3,)], {"size": (2, 3), "padding": "same", "activation": "relu"}),
    ("convolve", [(2, 4, 5, 2), (8, 3)], {"size": (2, 2), "stride": (2, 1)}),
    ("cross_entropy", [(5, 4)], {"targets": LABELS, "weights": np.array([1.0, 0, 1, 0.5, 1]), "smoothing": 0.1}),
    ("split_rows", [(5, 4)], {"rows": (np.array([4, 0]), np.array([2]))}),
    ("drop", [(5, 4)], {"dropout": DROPOUT}),
    ("drop", [(5, 4)], {"dropout": None}),
    ("embed", [(3, 4)], {"labels": LABELS}),
    ("embed", [(3, 4), (3, 4)], {"labels": LABELS, "positions": LABELS[::-1], "scale": 2.0, "dropout": DROPOUT}),
    ("gru", [(5, 6), (2, 6), (3, 2)], {"offsets": OFFSETS, "reverse": True}),
    ("gru", [(5, 6), (2, 6), (3, 2), (2,)], {"offsets": OFFSETS, "cut": 2}),
    ("join_rows", [(2, 4), (3, 4)], {"rows": (np.array([4, 0]), np.array([1, 3, 2]))}),
    ("linear", [(5, 4), (4, 2), (2,)], {"activation": "relu"}),
    ("linear", [(5, 4), (2, 4)], {"transposed": True}),
    ("linear_cross_entropy", [(5, 4), (4, 3), (3,)], {"targets": LABELS, "smoothing": 0.1, "total": 7.0}),
    ("linear_cross_entropy", [(5, 4), (3, 4)], {"targets": LABELS, "transposed": True}),
    ("log_error", [(5, 4)], {"targets": np.eye(5, 4, dtype=np.float32)}),
    ("logistic_log_error", [(5, 4)], {"targets": np.eye(5, 4, dtype=np.float32), "weights": np.arange(5.0)}),
    ("lstm", [(5, 8), (2, 8), (3, 2), (3, 2)], {"offsets": OFFSETS}),
    ("max_pool", [(2, 4, 5, 2)], {"size": (2, 2)}),
    ("last_rows", [(5, 4)], {"offsets": OFFSETS}),
    ("max_rows", [(5, 4)], {"offsets": OFFSETS}),
    ("mean_rows", [(5, 4)], {"offsets": OFFSETS}),
    ("mean_squared_error", [(5, 4)], {"targets": np.eye(5, 4, dtype=np.float32)}),
    ("negative_sampling", [(5, 4), (3, 4)], {"targets": LABELS, "negatives": np.array([LABELS[::-1], LABELS]).T}),
    ("negative_sampling", [(5, 4), (3, 4)], {"targets": LABELS, "negatives": np.zeros((5, 0), int)}),
    ("normalize", [(5, 4), (4,), (4,)], {}),
    ("normalize", [(5, 4), (4,), (4,)], {"form": "outside"}),
    ("patches", [(2, 4, 6, 2)], {"size": (2, 3)}),
    ("reshape", [(5, 4)], {"shape": (2, 10)}),
    ("rnn", [(5, 4), (4, 4), (3, 4)], {"offsets": OFFSETS, "activation": "relu"}),
    ("skip_gram", [(3, 4), (3, 4)], {"words": LABELS, "contexts": LABELS[::-1]}),
    ("softmax", [(5, 4)], {}),
    ("take_rows", [(5, 4)], {"rows": np.array([3, 0])}),
    ("transpose", [(5, 4, 2)], {"axes": (1, 2, 0)}),
]
every_case = pytest.mark.parametrize(
    ("name", "shapes", "options"), CASES, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]
)


def locked(x):
    """A copy that nobody can write to."""
    x = x.copy()
    x.setflags(write=False)
    return x


def prepare(shapes, options, dtype):
    rng = np.random.default_rng(0)
    inputs = [locked(rng.uniform(0.1, 0.9, shape).astype(dtype)) for shape in shapes]
    return inputs, {key: locked(x) if isinstance(x, np.ndarray) else x for key, x in options.items()}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def test_every_operation_has_a_case():
    found = {name for name in operations.__all__ if isinstance(getattr(operations, name), Operation)}
    assert {name for name, *_ in CASES} == found


@pytest.mark.ledger("T-1.2-jacnotation", "N-2.1-scalar")
@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inputs_stay_untouched_and_derivatives_match_them(name, shapes, options, dtype):
    inputs, options = prepare(shapes, options, dtype)
    leaves = [Tensor(x) for x in inputs]
    outputs = [y for y in as_tuple(getattr(operations, name)(*leaves, **options)) if isinstance(y, Tensor)]
    deltas = [locked(np.ones_like(y.value)) for y in outputs]
    derivatives = backpropagate(outputs, leaves, deltas)  # a write to a locked array raises
    assert [y.value.dtype for y in outputs] == [dtype] * len(outputs)
    assert [(d.shape, d.dtype) for d in derivatives] == [(x.shape, dtype) for x in inputs]
    assert all(np.isfinite(d).all() for d in derivatives)


@every_case
def test_plain_arrays_give_plain_arrays_of_the_same_value(name, shapes, options):
    inputs, options = prepare(shapes, options, np.float64)
    operation = getattr(operations, name)
    plain, recorded = as_tuple(operation(*inputs, **options)), as_tuple(operation(*map(Tensor, inputs), **options))
    for y, tensor in zip(plain, recorded, strict=True):
        assert not isinstance(y, Tensor)
        np.testing.assert_array_equal(y, tensor.value if isinstance(tensor, Tensor) else tensor)


@every_case
def test_the_complex_step_applies(name, shapes, options):
    """The definitions are written without abs, conj and the like, so that the stricter method judges them.

    A recurrence that is cut has another gradient than its function on purpose: it is left whole here.
    """
    inputs, options = prepare(shapes, {key: x for key, x in options.items() if key != "cut"}, np.float64)
    report = gradient_check(getattr(operations, name), *inputs, **options).require()
    assert report.applied == report.comparisons
