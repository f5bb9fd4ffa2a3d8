"""Nothing broadcasts by accident, and a message names both shapes."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman import operations
from dragoman.errors import LabelError, NonFiniteError, ShapeError
from dragoman.operations.shapes import check_finite, check_labels, check_shapes

TWO = np.array([0, 2])

# name, shapes of the inputs, options, what the message must hold
MISFITS = {
    "biases that would broadcast": ("linear", [(2, 3), (3, 4), (1,)], {}, ["(3, 4)", "(1,)", "biases"]),
    "inputs and weights": ("linear", [(2, 3), (4, 3)], {}, ["(2, 3)", "(4, 3)", "differ in d (3 and 4)"]),
    "transposed weights": ("linear", [(2, 3), (3, 4)], {"transposed": True}, ["(2, 3)", "(3, 4)"]),
    "a third axis": ("linear", [(1, 2, 3), (3, 4)], {}, ["(1, 2, 3)", "[N, d]"]),
    "a row added to a matrix": ("add", [(2, 3), (3,)], {}, ["(2, 3)", "(3,)"]),
    "one row added to two": ("add", [(2, 3), (1, 3)], {}, ["(2, 3)", "(1, 3)"]),
    "gamma": ("normalize", [(2, 3), (1,), (3,)], {}, ["(2, 3)", "(1,)", "gamma"]),
    "beta": ("normalize", [(2, 3), (3,), (1, 3)], {}, ["(1, 3)", "beta"]),
    "update and residual": ("add_normalize", [(2, 3), (1, 3), (3,), (3,)], {}, ["(2, 3)", "(1, 3)"]),
    "columns of other rows": ("concatenate_columns", [(2, 3), (1, 3)], {}, ["(2, 3)", "(1, 3)"]),
    "a short class token": ("append_row", [(2, 3), (1,)], {"offsets": TWO}, ["(2, 3)", "(1,)"]),
    "a short position table": (
        "embed",
        [(5, 3), (5, 1)],
        {"labels": TWO, "positions": TWO},
        ["(5, 3)", "(5, 1)", "position_table"],
    ),
    "keys and values": ("attend", [(2, 4), (2, 4), (1, 4)], {"offsets": TWO, "heads": 2}, ["(2, 4)", "(1, 4)"]),
    "queries and keys": ("attend", [(2, 4), (2, 2), (2, 2)], {"offsets": TWO, "heads": 2}, ["(2, 4)", "(2, 2)"]),
    "rows and offsets": ("attend", [(3, 4), (3, 4), (3, 4)], {"offsets": TWO, "heads": 2}, ["(3, 4)", "end at 2"]),
    "memory and its offsets": (
        "attend",
        [(2, 4), (3, 4), (3, 4)],
        {"offsets": TWO, "memory_offsets": TWO, "heads": 2},
        ["keys", "(3, 4)", "end at 2"],
    ),
    "sequences of both sides": (
        "attend_cross",
        [(2, 4), (3, 8)],
        {"offsets": TWO, "memory_offsets": np.array([0, 1, 3]), "heads": 2},
        ["1 sequences of queries", "2 of keys"],
    ),
    "distances": ("attend_self", [(2, 12), (1, 3)], {"offsets": TWO, "heads": 2}, ["(1, 3)", "[2, an odd"]),
    "an even number of distances": ("attend_self", [(2, 12), (2, 4)], {"offsets": TWO, "heads": 2}, ["(2, 4)", "odd"]),
    "three blocks": ("attend_self", [(2, 8)], {"offsets": TWO, "heads": 2}, ["3 blocks", "(2, 8)"]),
    "two blocks": ("attend_cross", [(2, 4), (2, 7)], {"offsets": TWO, "memory_offsets": TWO, "heads": 2}, ["(2, 7)"]),
    "targets": ("cross_entropy", [(2, 3)], {"targets": np.zeros(1, int)}, ["(2, 3)", "(1,)", "targets"]),
    "weights": ("cross_entropy", [(2, 3)], {"targets": TWO, "weights": np.ones(1)}, ["(2, 3)", "(1,)", "weights"]),
    "a target for all": ("mean_squared_error", [(2, 3)], {"targets": np.ones((1, 3))}, ["(2, 3)", "(1, 3)"]),
    "a column of targets": ("mean_squared_error", [(2,)], {"targets": np.ones((2, 1))}, ["(2, 1)"]),
    "a probability for all": ("log_error", [(2, 3)], {"targets": np.ones(3)}, ["(3,)"]),
}


@pytest.mark.parametrize(("name", "shapes", "options", "parts"), MISFITS.values(), ids=MISFITS.keys())
def test_shapes_that_do_not_fit_are_named(name, shapes, options, parts):
    with pytest.raises(ShapeError) as raised:
        getattr(operations, name)(*(np.full(shape, 0.5) for shape in shapes), **options)
    for part in [name.split("_")[0], *parts]:
        assert part in str(raised.value)


def test_equal_letters_mean_equal_sizes():
    x, y = np.zeros((2, 3)), np.zeros((3, 2))
    check_shapes("op", x=(x, "N d"), y=(y, "d N"), z=(None, "d d"))
    with pytest.raises(ShapeError, match=r"op: x \[N, d\].*\(2, 3\).*y \[N, d\].*\(3, 2\).*differ in N \(2 and 3\)"):
        check_shapes("op", x=(x, "N d"), y=(y, "N d"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 3, 9], "label 3 at .* 1 is not .* 0 to 2; was the text encoded with this model's tokenizer"),
        ([2, 0, -1], "label -1 at .* 2 is not"),
        ([0.0, 1.0], "integers, got float64"),
        ([True, False], "integers, got bool"),
    ],
)
def test_labels_outside_the_vocabulary_are_named(labels, message):
    with pytest.raises(LabelError, match=message):
        check_labels("op", np.array(labels), 3)


@pytest.mark.parametrize("labels", [[], [0, 2], [1]])
def test_labels_inside_the_vocabulary_pass(labels):
    check_labels("op", np.array(labels, np.uint8), 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_no_number_stops(value):
    check_finite("the error", np.array(1e308))
    with pytest.raises(NonFiniteError, match=f"the error is {value}.*lower the learning rate"):
        check_finite("the error", np.array(value))
