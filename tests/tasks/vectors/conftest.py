"""The engine users have, for tests that learn from more than a few words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.engines import use_fastest
from dragoman.graph import use_engine


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("numba")
    monkeypatch.setenv("DRAGOMAN_ENGINE", "numba")
    use_fastest()
    yield
    use_engine("numpy")
