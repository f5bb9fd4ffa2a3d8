"""A backend that answers at once and predictably, and two ways to reach the routes over it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from dragoman.server.app import create_app
from dragoman.server.backend import ModelInfo, Payload
from dragoman.server.settings import ServerSettings

WORDS = {"en": ("the", "plant", "hello"), "es": ("la", "planta", "hola"), "de": ("die", "pflanze", "hallo")}


class FakeBackend:
    """Marks texts with the languages they went through: `Hello` becomes `Hello>es`."""

    def __init__(self, *pairs: str) -> None:
        self._models = [ModelInfo(pair, "translation", *pair.split(">")) for pair in pairs]
        self.jobs: list[tuple[str, str, Payload]] = []

    def models(self) -> list[ModelInfo]:
        return self._models

    def ready(self) -> bool:
        return True

    def status(self) -> Payload:
        return {"status": "ok", "problems": [], "workers": 2}

    async def run(self, kind: str, model: str, payload: Payload) -> Payload:
        self.jobs.append((kind, model, payload))
        if kind == "detect":
            return {"detections": [_detected(text) for text in payload["texts"]]}
        target = model.partition(">")[2]
        others = [f">{target}", "", *(f">{target}{n}" for n in (1, 1, 2, 3, 4))]  # the best, nothing, one twice
        return {
            "translations": [f"{text}>{target}" for text in payload["texts"]],
            "alternatives": [[text + each if each else "" for each in others] for text in payload["texts"]],
            "confidences": [0.9 for _ in payload["texts"]],
        }

    def stream(self, kind: str, model: str, payload: Payload) -> AsyncIterator[Payload]:
        raise NotImplementedError


def _detected(text: str) -> list[Payload]:
    words = text.lower().split()
    found = {code: sum(word in known for word in words) for code, known in WORDS.items()}
    total = sum(found.values())
    ranked = sorted(found, key=lambda code: -found[code])
    return [{"language": code, "confidence": round(100 * found[code] / max(1, total), 1)} for code in ranked]


@cache
def _application(pairs: tuple[str, ...], settings: ServerSettings) -> tuple[FakeBackend, FastAPI]:
    """Kept for the tests that want the same: an application takes long to build."""
    backend = FakeBackend(*pairs)
    return backend, create_app(backend, settings)


class Client:
    """Sends requests to the routes without a socket."""

    def __init__(self, *pairs: str, **settings: Any) -> None:
        self.backend, self.app = _application(pairs or ("en>es", "es>en", "de>en"), ServerSettings(**settings))
        self.backend.jobs.clear()

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def translate(self, q: Any = "Hello", source: Any = "en", target: Any = "es", **fields: Any) -> httpx.Response:
        return self("POST", "/translate", json={"q": q, "source": source, "target": target, **fields})

    def error(self, status: int, *arguments: Any, **options: Any) -> str:
        """The message of a request that must fail with a status."""
        return error_of(self.translate(*arguments, **options), status)


def error_of(response: httpx.Response, status: int) -> str:
    answer = response.json()
    assert response.status_code == status, answer
    assert list(answer) == ["error"]
    return str(answer["error"])


@contextmanager
def live_server(app: FastAPI) -> Iterator[int]:
    """A real server on a free port of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
