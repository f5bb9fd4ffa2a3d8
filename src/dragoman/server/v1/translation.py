"""/v1/translate: which model translates a text, and what is asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from dragoman.server.backend import Backend, ModelInfo, Payload
from dragoman.server.bounds import EXPLAINED
from dragoman.server.errors import BadRequest
from dragoman.server.v1.requests import TranslateRequest
from dragoman.text.language_codes import closest_languages

AUTO = "auto"
TOGETHER = 8  # texts of a request that are jobs at the same time
OPTIONS = ("best", "attention", "sample", "temperature", "top_k", "top_p", "seed")


async def translate_all(backend: Backend, request: TranslateRequest, texts: Sequence[str]) -> list[Payload]:
    """The results of all texts; if one fails, the others are given up."""
    room = asyncio.Semaphore(TOGETHER)

    async def one(text: str) -> Payload:
        async with room:
            return await translate(backend, request, text)

    tasks = [asyncio.create_task(one(text)) for text in texts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


async def translate(backend: Backend, request: TranslateRequest, text: str) -> Payload:
    """The result of one text."""
    detections = await _detections(backend, text) if request.source == AUTO else None
    model, detected = choose(backend, request, detections)
    result = await (_explained if _explains(request, text) else _translated)(backend, model, request, text)
    found = {"source": model.source, "target": model.target, "model": model.name, **result}
    return found if detections is None else {**found, "detected": detected}


async def _detections(backend: Backend, text: str) -> list[Payload]:
    found: list[Payload] = (await backend.run("detect", "", {"texts": [text]}))["detections"][0]
    return found


def choose(
    backend: Backend, request: TranslateRequest, detections: list[Payload] | None
) -> tuple[ModelInfo, Payload | None]:
    """The model for the languages of a request, and the detected language that it reads."""
    served = [model for model in backend.models() if model.task == "translation"]
    if not served:
        raise BadRequest("no model for translation is served")
    fitting = _closest([model for model in served if request.model in (None, model.name)], "target", request.target)
    if request.model is not None and not any(model.name == request.model for model in served):
        raise BadRequest(f"'model' is not served; choose one of {', '.join(model.name for model in served)}")
    if detections is not None:
        for detected in detections:
            if reading := _closest(fitting, "source", detected["language"]):
                return reading[0], detected
        if request.model is not None and fitting:
            return fitting[0], detections[0] if detections else None
        raise BadRequest(f"the language of the text could not be told; name it in 'source'. Served: {_pairs(served)}")
    fitting = _closest(fitting, "source", request.source)
    if len(fitting) == 1 or (fitting and request.source and request.target):
        return fitting[0], None
    if fitting:
        raise BadRequest(f"several models are served; name 'source' and 'target': {_pairs(fitting)}")
    raise BadRequest(f"these languages are not served; there is {_pairs(served)}")


def _closest(models: Sequence[ModelInfo], side: str, code: str | None) -> list[ModelInfo]:
    """The models whose source or target is closest to a language; all of them if none is named."""
    if code is None:
        return list(models)
    codes = closest_languages(code, {getattr(model, side): None for model in models if getattr(model, side)})
    return [model for model in models if getattr(model, side) in codes]


def _pairs(models: Sequence[ModelInfo]) -> str:
    return ", ".join(dict.fromkeys(f"{model.source} to {model.target}" for model in models))


def _explains(request: TranslateRequest, text: str) -> bool:
    """Whether a text is explained, or only translated."""
    if request.format == "text" and len(text) <= EXPLAINED:
        return True
    if request.sample or request.beam is not None:
        raise BadRequest(f"'sample' and 'beam' are for plain texts of at most {EXPLAINED:,} characters")
    return False


async def _explained(backend: Backend, model: ModelInfo, request: TranslateRequest, text: str) -> Payload:
    options = request.model_dump(include=set(OPTIONS))
    payload = {"text": text, **options} | ({} if request.beam is None else {"beam": request.beam})
    return await backend.run("explain", model.name, payload)


async def _translated(backend: Backend, model: ModelInfo, request: TranslateRequest, text: str) -> Payload:
    payload = {"texts": [text], "format": request.format, "alternatives": request.best - 1}
    found = await backend.run("translate", model.name, payload)
    texts = [found["translations"][0], *found["alternatives"][0][: request.best - 1]]
    unknown: dict[str, Any] = {"score": None, "confidence": None, "words": None}
    translations = [{"text": each, **unknown} for each in texts]
    translations[0]["confidence"] = found["confidences"][0]
    said = {"pieces": found["pieces"][0], "warnings": found["warnings"][0]}
    return {"translations": translations, **said, "alignment": None, "attention": None}
