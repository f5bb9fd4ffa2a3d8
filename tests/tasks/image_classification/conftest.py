"""A trained image classifier, shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tasks.image_classification import models


@pytest.fixture(scope="session")
def shapes(own_cache: None) -> Path:
    return models.shapes()


@pytest.fixture(scope="session")
def folder(own_cache: None) -> Path:
    return models.folder()
