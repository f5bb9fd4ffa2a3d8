"""A tagger that is trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Tagger
from tests.tasks.tagging import tagged


@pytest.fixture(scope="session")
def directory(own_cache: None) -> Path:
    """A model directory that no test changes."""
    return tagged.trained()


@pytest.fixture(scope="session")
def tagger(directory: Path) -> Tagger:
    return Tagger.load(directory)
