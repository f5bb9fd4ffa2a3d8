"""Contenders made in this process choose an engine; the one before is chosen again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.graph import use_engine
from dragoman.graph.operation import current_engine


@pytest.fixture(autouse=True)
def same_engine() -> Iterator[None]:
    before = current_engine()
    yield
    use_engine(before)
