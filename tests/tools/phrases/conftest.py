"""The corpus as the generator makes it, made once for all tests."""

from __future__ import annotations

import pytest

from tools.phrases import Pair, phrases


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    return phrases()
