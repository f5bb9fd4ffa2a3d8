"""A table of real numbers is a dataset too (thesis, Example 2.3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.data.readers import read_series
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import Perceptrons, PerceptronsConfiguration
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

TABLE = "x1,x2,x3,y\n3.4,5.6,9.0,10.1\n4.5,6.7,10.1,11.2\n14.5,16.7,20.1,21.2\n"


@pytest.mark.ledger("T-2.1-table")
def test_a_linear_layer_learns_the_table(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    values = read_series(str(tmp_path / "table.csv"), header=True).values
    batch = Batch.rows(values[:, :3], values[:, 3:])
    network, goal = Perceptrons(PerceptronsConfiguration(depths=(3, 1)), dtype=np.float64), 1e-3
    outcome = train(
        network, [batch] * 3000, Adam(), Constant(0.02), Stopping(3000, loss_goal=goal), LossIndex(MeanSquaredError())
    )
    assert outcome.losses[-1].error <= goal
    np.testing.assert_allclose(network.plain(batch), values[:, 3:], atol=0.2)
