"""Fixtures of the server's tests."""

from tests.tasks.conftest import own_cache

__all__ = ["own_cache"]
