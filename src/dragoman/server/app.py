"""The application: all routes, one form of error."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from dragoman import __version__
from dragoman.server import libretranslate, page, v1
from dragoman.server.backend import Backend
from dragoman.server.errors import ServerError, WrongKey
from dragoman.server.exchange import MODELS
from dragoman.server.limits import WRONG_KEY, Limits
from dragoman.server.settings import ServerSettings
from dragoman.server.v1.responses import ERRORS
from dragoman.server.validation import readable

CORS_AGE = 1_728_000  # seconds; LibreTranslate's
log = logging.getLogger("dragoman.server")


def create_app(backend: Backend, settings: ServerSettings) -> FastAPI:
    """The server as an ASGI application."""
    app = FastAPI(
        title="Dragoman",
        version=__version__,
        summary="Translation and other models, trained on your own data.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        responses=ERRORS,
    )
    metrics = libretranslate.Metrics()
    app.include_router(health_router(backend))
    app.include_router(libretranslate.router(backend, settings, metrics))
    app.include_router(v1.router(backend, settings))
    app.include_router(v1.docs_router())
    app.include_router(page.router())
    app.add_exception_handler(ServerError, _server_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)
    if settings.cors:
        app.add_middleware(
            Origins,
            allow_origins=list(settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=[MODELS.decode()],
            max_age=CORS_AGE,
        )
    app.add_middleware(Limits, settings=settings, observe=metrics.observe)
    return app


class Origins(CORSMiddleware):
    """Lets pages of other origins call the server; a refusal is an error as any other."""

    def preflight_response(self, request_headers: Headers) -> Response:
        found = super().preflight_response(request_headers)
        if found.status_code < 400:
            return found
        headers = {name: value for name, value in found.headers.items() if not name.startswith("content-")}
        return JSONResponse({"error": bytes(found.body).decode()}, found.status_code, headers)


def health_router(backend: Backend) -> APIRouter:
    router = APIRouter()

    @router.get("/livez", summary="Whether the server answers at all", tags=["server"])
    async def livez() -> Response:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz", summary="Whether a request would be answered now", tags=["server"])
    async def readyz() -> Response:
        if backend.ready():
            return JSONResponse({"status": "ok"})
        return JSONResponse({"error": "no worker is ready"}, 503, {"Retry-After": "5"})

    @router.get("/health", summary="Whether the models are loaded and answer as they should", tags=["server"])
    async def health() -> Response:
        found = backend.status()
        if backend.ready() and found["status"] == "ok":
            return JSONResponse(found)
        reason = "; ".join(found["problems"]) or f"the server is {found['status']}"
        return JSONResponse({**found, "error": reason}, 503, {"Retry-After": "5"})

    return router


async def _server_error(request: Any, error: Any) -> Response:
    request.scope[WRONG_KEY] = isinstance(error, WrongKey)
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse({"error": str(error)}, error.status, headers)


async def _validation_error(request: Any, error: Any) -> Response:
    return JSONResponse({"error": readable(error)}, 400)


async def _http_error(request: Any, error: Any) -> Response:
    path = request.url.path[:100]
    said = {404: f"there is no {path}", 405: f"{path} does not take {request.method}"}
    return JSONResponse({"error": said.get(error.status_code, str(error.detail))}, error.status_code, error.headers)


async def _bug(request: Any, error: Exception) -> Response:
    return JSONResponse({"error": "internal error; the server's log has more"}, 500)
