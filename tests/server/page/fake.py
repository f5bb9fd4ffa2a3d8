"""A server with the routes that the page calls, answering from a word list.

Run `python -m tests.server.page.fake` and open the address that it prints.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from dragoman.server import page
from dragoman.server.errors import ServerError
from tests.server.page import answers, reports

Json = dict[str, Any]
TRANSLATORS = ("en-es", "es-en")


class Fake:
    """What tests change, and what they look at.

    models    names of those that are served
    failing   statuses of the next answers to POST requests; each is used once
    posted    paths and bodies of the POST requests so far
    settings  in place of those of `/frontend/settings`
    """

    def __init__(self, *models: str) -> None:
        self.reset(*models)
        self.app = FastAPI(openapi_url=None)
        self.app.include_router(page.router())
        self.app.middleware("http")(self._watch)
        self.app.add_exception_handler(ServerError, _failed)
        self._routes()

    def reset(self, *models: str) -> None:
        """Forget everything, and serve some models; none is all."""
        self.models = models or tuple(answers.MODELS)
        self.failing: list[int] = []
        self.posted: list[tuple[str, Any]] = []
        self.settings: Json = {}
        self.pause = 0.0

    async def _watch(self, request: Request, answer: Any) -> Response:
        if request.method == "POST":
            body = await request.body()
            kind = request.headers.get("content-type", "")
            self.posted.append((request.url.path, json.loads(body) if "json" in kind else body))
            await asyncio.sleep(self.pause)
            if self.failing:
                status = self.failing.pop(0)
                return JSONResponse({"error": "no luck"}, status, {"Retry-After": "3"})
        found: Response = await answer(request)
        return found

    def _routes(self) -> None:
        app = self.app

        @app.get("/v1/models")
        async def models() -> Json:
            return {"models": [answers.MODELS[name] for name in self.models]}

        @app.get("/v1/models/{name}")
        async def about(name: str) -> Json:
            return reports.about(answers.MODELS[name])

        @app.get("/frontend/settings")
        async def settings() -> Json:
            return answers.SETTINGS | self.settings

        @app.get("/languages")
        async def languages() -> list[Json]:
            served = [tuple(name.split("-")) for name in self.models if name in TRANSLATORS]
            names = {"en": "English", "es": "Spanish"}
            return [
                {"code": code, "name": names[code], "targets": [code, *(b for a, b in served if a == code)]}
                for code in sorted({code for pair in served for code in pair})
            ]

        @app.post("/v1/detect")
        async def detect(request: Request) -> Json:
            text = (await request.json())["text"]
            spanish = bool(re.search(r"[áéíóúñ¿¡]|\b(el|la|es|un|una|casa|está)\b", text, re.IGNORECASE))
            return {"detections": [{"language": "es" if spanish else "en", "confidence": 93.0}]}

        @app.post("/v1/translate")
        async def translate(request: Request) -> Json:
            body = await request.json()
            texts = body["text"] if isinstance(body["text"], list) else [body["text"]]
            found = [answers.translation(text, body) for text in texts]
            return {"results": found} if isinstance(body["text"], list) else found[0]

        @app.post("/v1/predict")
        async def predict(request: Request) -> Json:
            body = await request.json()
            return answers.prediction(answers.MODELS[body["model"]], body)

        @app.post("/v1/generate")
        async def generate(request: Request) -> StreamingResponse:
            return StreamingResponse(_events(await request.json()), media_type="text/event-stream")

        @app.post("/translate_file")
        async def translate_file(request: Request) -> Json:
            form = await request.form()
            upload: Any = form["file"]
            self.file = (await upload.read()).decode().upper()
            stem, _, ending = upload.filename.rpartition(".")
            name = f"0b0e8a52-1c1c-4d6a-9a51-3f4b1f0a5d11.{stem}_{form['target']}.{ending}"
            await form.close()
            return {"translatedFileUrl": f"http://elsewhere.invalid:5000/download_file/{name}"}

        @app.get("/download_file/{name}")
        async def download_file(name: str) -> Response:
            return Response(self.file, media_type="text/plain")


async def _failed(request: Request, error: Any) -> Response:
    return JSONResponse({"error": str(error)}, error.status)


async def _events(body: Json) -> AsyncIterator[str]:
    words = ["there", "was", "a", "small", "ship", "that", "could", "not", "find", "its", "way", "home", "."]
    for i in range(min(body["tokens"], 400)):
        yield f"data: {json.dumps({'text': ' ' + words[i % len(words)]})}\n\n"
        await asyncio.sleep(0.01)
    yield f"data: {json.dumps({'done': True, 'tokens': body['tokens'], 'reason': 'length'})}\n\n"


class Running:
    """A fake that listens on a port of its own, in a thread."""

    def __init__(self, fake: Fake, port: int = 0) -> None:
        self.fake = fake
        self._server = uvicorn.Server(uvicorn.Config(fake.app, port=port, log_level="error", lifespan="off", ws="none"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the fake server did not start")
            threading.Event().wait(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def __exit__(self, *reason: object) -> None:
        self._server.should_exit = True
        self._thread.join(5)


if __name__ == "__main__":
    with Running(Fake(), 5055) as address:
        print(address)  # noqa: T201, a program for people
        threading.Event().wait()
