"""No test touches the user's cache or compiles kernels, and trained models are shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Translator
from tests.tasks import models


@pytest.fixture(scope="session", autouse=True)
def own_cache() -> Iterator[None]:
    """Prepared datasets go to the tests' own directory, also those of commands in other processes.

    The engine is the one that every test of this process expects.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(models.place() / "cache"))
        patch.setenv("DRAGOMAN_ENGINE", "numpy")
        yield


@pytest.fixture(scope="session")
def undertrained(own_cache: None) -> Path:
    """A model directory that no test changes."""
    return models.undertrained()


@pytest.fixture(scope="session")
def taught(own_cache: None) -> Path:
    """A model directory that no test changes."""
    return models.taught()


@pytest.fixture(scope="session")
def translator(undertrained: Path) -> Translator:
    return Translator.load(undertrained)


@pytest.fixture(scope="session")
def word_translator(taught: Path) -> Translator:
    return Translator.load(taught)
