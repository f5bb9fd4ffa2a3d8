"""Encoders that read row by row: forecasts fed back, and what a causal encoder sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import gradient_check, value_of
from dragoman.networks import Encoder, EncoderConfiguration, RecurrentEncoder, RecurrentEncoderConfiguration

PAST = np.random.default_rng(0).standard_normal((3, 7, 2))


def network_of(kind: str, outputs: int = 2, pooling: Any = "none", **changes: Any) -> Any:
    sizes: dict[str, Any] = {"inputs": 2, "outputs": outputs, "pooling": pooling}
    if kind == "transformer":
        given = {"depth": 4, "perceptron_depth": 4, "heads": 2, "layers": 2, "causal": True, "block": "pre"}
        return Encoder(EncoderConfiguration(**{**given, **sizes, **changes}), dtype=np.float64)
    recurrent = {"cell": kind, "depth": 3, "units": 4, "layers": 2, "bidirectional": False}
    return RecurrentEncoder(RecurrentEncoderConfiguration(**{**recurrent, **sizes, **changes}), dtype=np.float64)


KINDS = ("transformer", "rnn", "lstm", "gru")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.ledger("B-7.1-horizon")
@every_kind
def test_a_forecast_reads_its_own_predictions(kind: str) -> None:
    network, past = network_of(kind), PAST
    found = network.forecast(PAST, 4)
    for t in range(4):
        rows = value_of(network.plain(Batch.pack(list(past)))).reshape(3, -1, 2)[:, -1:]
        np.testing.assert_allclose(found[:, t], rows[:, 0], rtol=1e-12, atol=1e-12)
        past = np.concatenate((past, rows), axis=1)


@every_kind
def test_no_position_sees_a_later_one(kind: str) -> None:
    network, later = network_of(kind), PAST.copy()
    later[:, 5:] += 1
    before, after = (value_of(network.plain(Batch.pack(list(x)))).reshape(3, 7, 2) for x in (PAST, later))
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).all()


@every_kind
def test_the_last_row_stands_for_a_window(kind: str) -> None:
    """As many outputs as there are values to forecast at once."""
    batch = Batch(PAST[:2, :2].reshape(-1, 2), np.array([0, 2, 4]), np.ones((2, 3)), per="sample")
    small = {"depth": 2, "perceptron_depth": 2, "layers": 1} if kind == "transformer" else {"units": 2, "layers": 1}
    network = network_of(kind, 3, "last", **small)
    assert value_of(network(batch)).shape == (2, 3)
    gradient_check(network, batch).require()
    rows = network_of(kind, 3, "none", **small)
    rows.theta.assign(network.theta.values)
    np.testing.assert_array_equal(value_of(rows(batch))[1::2], value_of(network(batch)))


@pytest.mark.parametrize(
    ("kind", "changes", "error"),
    [
        ("transformer", {"causal": False}, "looks in both directions cannot read row by row"),
        ("gru", {"bidirectional": True}, "bidirectional encoder cannot read row by row"),
        ("gru", {"outputs": 3}, "inputs and outputs are equal"),
        ("transformer", {"pooling": "last"}, "nothing is pooled"),
        ("transformer", {"pooling": "last", "causal": False}, "pooling 'last' is for causal encoders"),
    ],
)
def test_what_cannot_be_fed_back(kind: str, changes: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        network_of(kind, **changes).forecast(PAST, 2)
