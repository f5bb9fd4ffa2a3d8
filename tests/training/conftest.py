"""Nobody pulls the plug during these tests: all but the processes that are killed are spared the wait for the disk."""

from __future__ import annotations

import pytest

from dragoman.training import checkpoints


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_to_disk", lambda path: None)
