"""Fixtures of the server's tests."""

from __future__ import annotations

import pytest

from dragoman import Captioner, Forecaster
from tests.tasks.captioning import captioned
from tests.tasks.conftest import own_cache
from tests.tasks.forecasting import series

__all__ = ["own_cache"]


@pytest.fixture(scope="module")
def forecaster(own_cache: None) -> Forecaster:
    return Forecaster.load(series.trained())


@pytest.fixture(scope="module")
def captioner(own_cache: None) -> Captioner:
    return Captioner.load(captioned.trained())
