"""Trained classifiers and regressors, shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tasks.classification import models


@pytest.fixture(scope="session")
def moods(own_cache: None) -> Path:
    return models.moods()


@pytest.fixture(scope="session")
def topics(own_cache: None) -> Path:
    return models.topics()


@pytest.fixture(scope="session")
def ratings(own_cache: None) -> Path:
    return models.ratings()
