"""The routes under /v1: more than LibreTranslate's API can say, and tasks other than translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request, Security
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dragoman.server.backend import Backend, Payload, find_model
from dragoman.server.bounds import FEATURE_CHARACTERS, PROMPT, SCORED
from dragoman.server.errors import NotFound
from dragoman.server.settings import ServerSettings
from dragoman.server.v1 import requests, responses
from dragoman.server.v1.checks import check_texts, check_tokens, in_parts
from dragoman.server.v1.descriptions import EVENTS, PREDICT_BODY
from dragoman.server.v1.prediction import predict as predict_all
from dragoman.server.v1.prediction import read_request
from dragoman.server.v1.streaming import collect, event_stream
from dragoman.server.v1.translation import translate_all

SCORED_TOGETHER, VECTORS_TOGETHER = 32, 32  # items of one job
READERS = ("translation", "language-model", "classification", "regression", "tagging")
bearer = HTTPBearer(auto_error=False, description="An API key, where keys are needed.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


def router(backend: Backend, settings: ServerSettings) -> APIRouter:
    """All routes under /v1."""
    routes = APIRouter(prefix="/v1", responses=responses.ERRORS)
    for add in (_add_models, _add_translation, _add_language_models, _add_predictions):
        add(routes, backend, settings)
    return routes


def _check_key(settings: ServerSettings, given: str | None, header: HTTPAuthorizationCredentials | None) -> None:
    settings.check_key(given if header is None else header.credentials)


def _add_models(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    @routes.get("/models", tags=["models"], summary="List the models", response_model=responses.ModelsResponse)
    async def models() -> Response:
        """All models that are served, and what each can do. Needs no key."""
        return JSONResponse({"models": [model.as_dict() for model in backend.models()]})

    @routes.get("/models/{name}", tags=["models"], summary="Describe a model", response_model=responses.AboutResponse)
    async def about(name: str, header: Bearer) -> Response:
        """How a model was trained: metadata, training curves, and its testing analysis."""
        _check_key(settings, None, header)
        for model in backend.models():
            if model.name == name:
                found = await backend.run("about", name, {})
                return JSONResponse({"name": name, "task": model.task, **found})
        raise NotFound("there is no such model; /v1/models lists those that are served")


def _add_translation(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    @routes.post(
        "/translate",
        tags=["translation"],
        summary="Translate and explain",
        response_model=responses.ExplainedResponse | responses.ExplainedListResponse,
    )
    async def translate(request: requests.TranslateRequest, header: Bearer) -> Response:
        """Several translations with scores, the confidence of every word, the alignment of words, and attention.

        A text that is long, or HTML, is translated but not explained.
        """
        _check_key(settings, request.api_key, header)
        texts = [request.text] if isinstance(request.text, str) else request.text
        check_texts(texts, settings)
        results = await translate_all(backend, request, texts)
        return JSONResponse(results[0] if isinstance(request.text, str) else {"results": results})

    @routes.post(
        "/detect", tags=["translation"], summary="Detect a language", response_model=responses.DetectionsResponse
    )
    async def detect(request: requests.DetectRequest, header: Bearer) -> Response:
        """The languages that a text may be in, among those that are served, best first."""
        _check_key(settings, request.api_key, header)
        check_texts([request.text], settings)
        found = await backend.run("detect", "", {"texts": [request.text]})
        return JSONResponse({"detections": found["detections"][0]})

    @routes.post(
        "/score",
        tags=["translation", "language models"],
        summary="Score translations or texts",
        response_model=responses.ScoresResponse,
    )
    async def score(request: requests.ScoreRequest, header: Bearer) -> Response:
        """How probable translations are to a translator, or texts to a language model."""
        _check_key(settings, request.api_key, header)
        pairs = None if request.pairs is None else [[pair.source, pair.target] for pair in request.pairs]
        kind, task = ("texts", "language-model") if pairs is None else ("pairs", "translation")
        check_texts(request.texts or ["".join(pair) for pair in pairs or []], settings, SCORED)
        model = find_model(backend, (task,), request.model)

        async def run(some: Sequence[Any]) -> Payload:
            return await backend.run("score", model.name, {kind: list(some)})

        scores = await in_parts(run, pairs or request.texts or [], SCORED_TOGETHER, "scores")
        return JSONResponse({"model": model.name, "scores": scores})


def _add_language_models(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    @routes.post(
        "/generate",
        tags=["language models"],
        summary="Go on from a text",
        response_model=responses.GenerateResponse,
        responses={200: EVENTS},
    )
    async def generate(request: requests.GenerateRequest, header: Bearer, connection: Request) -> Response:
        """What a language model writes after a prompt: as server-sent events while it writes, or as one answer.

        Every event is `data: {"text": ...}`; the last one is `data: {"done": true, "tokens": ..., "reason": ...}`, or
        `data: {"error": ...}` after a failure in the middle of a text.
        """
        _check_key(settings, request.api_key, header)
        check_tokens(request.tokens, settings)
        check_texts([request.prompt], settings, PROMPT)
        model = find_model(backend, ("language-model",), request.model)
        payload = request.model_dump(exclude={"model", "api_key", "stream"}, exclude_none=True)
        parts = backend.stream("generate", model.name, payload)
        if request.stream:
            return await event_stream(parts)
        found = await collect(parts, connection)
        return Response(status_code=400) if found is None else JSONResponse({"model": model.name, **found})


def _add_predictions(routes: APIRouter, backend: Backend, settings: ServerSettings) -> None:
    @routes.post(
        "/predict",
        tags=["predictions"],
        summary="Predict from texts, images or a series",
        response_model=responses.PredictResponse,
        openapi_extra={"requestBody": PREDICT_BODY},
    )
    async def predict(connection: Request, header: Bearer) -> Response:
        """Classes, numbers or tags of texts; classes or captions of images; the next rows of a series.

        Send JSON, or a form with a `file` (an image, or a series as CSV) and the options as fields.
        """
        request = await read_request(connection, settings)
        _check_key(settings, request.api_key, header)
        return JSONResponse(await predict_all(backend, request, settings))

    @routes.post(
        "/features", tags=["predictions"], summary="Vectors of words", response_model=responses.FeaturesResponse
    )
    async def features(request: requests.FeaturesRequest, header: Bearer) -> Response:
        """A vector for each word of a text, in its context, and one for the whole text."""
        _check_key(settings, request.api_key, header)
        check_texts(request.texts, settings, FEATURE_CHARACTERS)
        model = find_model(backend, READERS, request.model)

        async def run(some: Sequence[Any]) -> Payload:
            return await backend.run("features", model.name, {"texts": list(some), "whole": request.whole})

        found = await in_parts(run, request.texts, VECTORS_TOGETHER, "features")
        return JSONResponse({"model": model.name, "features": found})
