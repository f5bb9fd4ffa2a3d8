"""Tests of an engine switch to it and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.graph import use_engine


@pytest.fixture
def numba() -> Iterator[None]:
    pytest.importorskip("numba")
    import dragoman.engines.numba  # noqa: F401

    use_engine("numba")
    yield
    use_engine("numpy")
