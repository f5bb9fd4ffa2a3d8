"""A forecaster that is trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Forecaster
from tests.tasks.forecasting.series import trained


@pytest.fixture(scope="session")
def directory(own_cache: None) -> Path:
    """A model directory that no test changes."""
    return trained()


@pytest.fixture(scope="session")
def forecaster(directory: Path) -> Forecaster:
    return Forecaster.load(directory)
