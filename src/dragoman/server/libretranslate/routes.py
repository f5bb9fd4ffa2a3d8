"""The routes of the LibreTranslate API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.server.backend import Backend
from dragoman.server.errors import BadRequest, Forbidden
from dragoman.server.libretranslate import checks
from dragoman.server.libretranslate.arguments import read_arguments
from dragoman.server.libretranslate.files import MEDIA_TYPES, FileStore, read_text_file
from dragoman.server.libretranslate.languages import served_languages
from dragoman.server.libretranslate.metrics import CONTENT_TYPE, Metrics, check_token, counted_route
from dragoman.server.libretranslate.names import language_name
from dragoman.server.libretranslate.spec import request_body, swagger
from dragoman.server.libretranslate.suggestions import Suggestions
from dragoman.server.libretranslate.translation import Translation, detect, translate
from dragoman.server.settings import ServerSettings

TAGS = ["LibreTranslate"]
FRONTEND_TIMEOUT = 500  # milliseconds that a page waits for the next key, LibreTranslate's default


def router(backend: Backend, settings: ServerSettings, metrics: Metrics | None = None) -> APIRouter:
    """The routes, over what a backend serves. Errors are raised as `ServerError`: the application answers them."""
    metrics = Metrics() if metrics is None else metrics
    routes = APIRouter(route_class=counted_route(metrics), tags=list(TAGS))
    _add_translation(routes, backend, settings, metrics)
    _add_files(routes, backend, settings, FileStore(settings))
    _add_suggestions(routes, backend, settings)
    _add_descriptions(routes, backend, settings)
    if settings.metrics:
        _add_metrics(routes, backend, settings, metrics)
    return routes


def _add_translation(routes: APIRouter, backend: Backend, settings: ServerSettings, metrics: Metrics) -> None:
    @routes.post("/translate", summary="Translate text", openapi_extra=request_body("/translate"))
    async def translate_text(request: Request) -> Response:
        arguments, languages = await read_arguments(request, settings), served_languages(backend)
        for name in ("q", "source", "target"):
            checks.required(arguments, name)
        alternatives = checks.alternatives(arguments, settings)
        texts, batch = checks.texts(arguments, settings)
        job = Translation(
            texts,
            checks.source(arguments.get("source"), languages),
            checks.language(arguments.get("target"), languages),
            checks.text_format(arguments),
            alternatives,
        )
        metrics.count_texts(texts)
        translated = await translate(backend, languages, job)
        answer: dict[str, Any] = {"translatedText": translated.texts if batch else translated.texts[0]}
        if translated.detected is not None:
            answer["detectedLanguage"] = [translated.detected] * len(texts) if batch else translated.detected
        if alternatives:
            answer["alternatives"] = translated.alternatives if batch else translated.alternatives[0]
        return JSONResponse(answer)

    @routes.post("/detect", summary="Detect the language of a text", openapi_extra=request_body("/detect"))
    async def detect_language(request: Request) -> Response:
        arguments = await read_arguments(request, settings)
        texts, _ = checks.texts(arguments, settings)
        return JSONResponse(await detect(backend, served_languages(backend), texts, "text"))


def _add_files(routes: APIRouter, backend: Backend, settings: ServerSettings, store: FileStore) -> None:
    @routes.post("/translate_file", summary="Translate a file", openapi_extra=request_body("/translate_file"))
    async def translate_file(request: Request) -> Response:
        arguments, languages = await read_arguments(request, settings), served_languages(backend)
        if "file" not in arguments.files:
            raise BadRequest("Invalid request: missing file parameter")
        source, target = (checks.required(arguments, name) for name in ("source", "target"))
        file = read_text_file(arguments.files["file"], settings)
        checks.check_size(len(file.text), settings)
        source, target = checks.source(source, languages), checks.language(target, languages)
        translated = await translate(backend, languages, Translation([file.text], source, target, file.format))
        name = await store.put(file, target, translated.texts[0])
        link = f"{request.scope.get('root_path', '')}/download_file/{quote(name)}"  # nothing of the request's Host
        return JSONResponse({"translatedFileUrl": link})

    @routes.get("/download_file/{name}", summary="Download a translated file", response_class=Response)
    async def download_file(name: str) -> Response:
        file = await store.get(name)
        return Response(file.content, media_type=file.media_type, headers=file.headers)


def _add_suggestions(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    suggestions = None if settings.suggestions is None else Suggestions(settings.suggestions)

    @routes.post("/suggest", summary="Suggest a better translation", openapi_extra=request_body("/suggest"))
    async def suggest(request: Request) -> Response:
        arguments, languages = await read_arguments(request, settings), served_languages(backend)
        if suggestions is None:
            raise Forbidden("Suggestions are disabled on this server.")
        q, s = (checks.text(arguments, settings, name) for name in ("q", "s"))
        source, target = (checks.required(arguments, name) for name in ("source", "target"))
        await suggestions.add(q, s, checks.language(source, languages, read=True), checks.language(target, languages))
        return JSONResponse({"success": True})


def _add_descriptions(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    @routes.get("/languages", summary="Languages that are served")
    async def list_languages() -> Response:
        return JSONResponse(served_languages(backend).as_list())

    @routes.get("/frontend/settings", summary="What a page needs to know")
    async def frontend_settings() -> Response:
        codes = served_languages(backend).codes
        target = codes[min(1, len(codes) - 1)] if codes else ""
        return JSONResponse(
            {
                "charLimit": settings.characters,
                "frontendTimeout": FRONTEND_TIMEOUT,
                "apiKeys": settings.keys is not None,
                "keyRequired": settings.keys is not None,
                "suggestions": settings.suggestions is not None,
                "filesTranslation": bool(codes),
                "supportedFilesFormat": list(MEDIA_TYPES) if codes else [],
                "language": {
                    "source": {"code": checks.AUTO, "name": "Auto Detect"},
                    "target": {"code": target, "name": language_name(target)},
                },
            }
        )

    @routes.get("/spec", summary="These routes in Swagger 2.0")
    async def spec() -> Response:
        return JSONResponse(swagger())


def _add_metrics(routes: APIRouter, backend: Backend, settings: ServerSettings, metrics: Metrics) -> None:
    @routes.get("/metrics", summary="Counts and times of requests", response_class=Response)
    async def show_metrics(request: Request) -> Response:
        check_token(request, settings.metrics_token)
        return Response(metrics.as_text(backend.status()), headers={"Content-Type": CONTENT_TYPE})
