"""A backend that remembers what it was asked and answers at once, and an application with our routes around it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from dragoman.server.backend import ModelInfo
from dragoman.server.errors import ServerError, Unavailable
from dragoman.server.settings import ServerSettings
from dragoman.server.v1 import docs_router, router
from dragoman.server.validation import readable

NOTHING = object()  # no body at all
MODELS = [
    ModelInfo("en-es", "translation", "en", "es", 10),
    ModelInfo("es-en", "translation", "es", "en", 10),
    ModelInfo("writer", "language-model", parameters=10),
    ModelInfo("moods", "classification", parameters=10, details={"classes": ["bad", "good"]}),
    ModelInfo("shapes", "image-classification", parameters=10),
    ModelInfo("visitors", "forecasting", parameters=10),
]
EXPLAINED: dict[str, Any] = {
    "translations": [
        {"text": "hola", "score": -0.1, "confidence": 0.9, "words": [{"text": "hola", "confidence": 0.9}]}
    ],
    "pieces": 1,
    "warnings": [],
    "alignment": {"source": ["hello"], "target": ["hola"], "links": [[0, 0, 0.9]], "weights": [[0.9]]},
    "attention": None,
}


class FakeBackend:
    """asked: (kind, model, payload) of every job; closed: how many streams were closed before their end."""

    def __init__(self, models: list[ModelInfo] | None = None) -> None:
        self._models = MODELS if models is None else models
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.closed = 0
        self.written = 0
        self.fail_after: int | None = None

    def models(self) -> list[ModelInfo]:
        return self._models

    def ready(self) -> bool:
        return True

    def status(self) -> dict[str, Any]:
        return {"status": "ok"}

    async def run(self, kind: str, model: str, payload: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((kind, model, payload))
        await asyncio.sleep(0)
        items = payload.get("texts") or payload.get("pairs") or payload.get("images") or [None]
        answers: dict[str, Any] = {
            "explain": EXPLAINED,
            "translate": {
                "translations": ["hola"],
                "alternatives": [["buenas"]],
                "confidences": [0.5],
                "pieces": [1],
                "warnings": [[]],
            },
            "detect": {"detections": [[{"language": "es", "confidence": 93.0}, {"language": "en", "confidence": 7.0}]]},
            "score": {"scores": [{"log_probability": -1.0, "per_token": -0.5, "tokens": 2} for _ in items]},
            "predict": {"predictions": [{"label": "good"} for _ in items]},
            "features": {"features": [{"words": ["a"], "vectors": [[1.0]], "text": [1.0]} for _ in items]},
            "about": {"metadata": {}, "history": [], "evaluation": None},
        }
        found: dict[str, Any] = answers[kind]
        return found

    async def stream(self, kind: str, model: str, payload: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        self.asked.append((kind, model, payload))
        ended = False
        try:
            for i in range(payload["tokens"]):
                if i == self.fail_after:
                    raise Unavailable("the worker died", retry_after=2)
                await asyncio.sleep(0)
                self.written += 1
                yield {"text": f"{i} "}
            yield {"done": True, "tokens": payload["tokens"], "reason": "length"}
            ended = True
        finally:
            self.closed += not ended


def application(backend: FakeBackend, settings: ServerSettings | None = None) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None)
    app.include_router(router(backend, settings or ServerSettings()))
    app.include_router(docs_router())

    @app.exception_handler(ServerError)
    async def failed(request: Request, error: ServerError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, error.status)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": readable(error)}, 400)

    return app


class Client:
    """Sends requests without a socket."""

    def __init__(self, backend: FakeBackend | None = None, settings: ServerSettings | None = None) -> None:
        self.backend = backend or FakeBackend()
        self.app = application(self.backend, settings)

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **given)

        return asyncio.run(send())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, body: Any, **given: Any) -> httpx.Response:
        content = b"" if body is NOTHING else json.dumps(body).encode()
        headers = {"content-type": "application/json", **given.pop("headers", {})}
        return self.request("POST", path, content=content, headers=headers, **given)

    def error(self, path: str, body: Any, status: int = 400, **given: Any) -> str:
        """The message of a request that must fail."""
        answer = self.post(path, body, **given)
        assert answer.status_code == status, answer.text
        assert list(answer.json()) == ["error"]
        return str(answer.json()["error"])
