"""One live server for the clients that need a socket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.libretranslate.serving import Client, FakeBackend, live_server

KEY = "a-key-of-the-tests"


@pytest.fixture
def client() -> Client:
    """English and Spanish both ways; German to English, so to Spanish through it."""
    return Client()


@pytest.fixture(scope="package")
def port() -> Iterator[int]:
    with live_server(create_app(FakeBackend("en>es", "es>en", "de>en"), ServerSettings())) as port:
        yield port


@pytest.fixture(scope="package")
def locked_port() -> Iterator[int]:
    """A server that asks for a key."""
    with live_server(create_app(FakeBackend("en>es", "es>en"), ServerSettings(keys=frozenset({KEY})))) as port:
        yield port
