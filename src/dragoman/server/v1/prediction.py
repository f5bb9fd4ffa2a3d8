"""/v1/predict: a request as JSON, or as a form with a file, and the model that answers it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dragoman.server.backend import Backend, ModelInfo, Payload, find_model
from dragoman.server.errors import BadRequest
from dragoman.server.settings import ServerSettings
from dragoman.server.v1.checks import check_image_bytes, check_images, check_table_bytes, check_texts, in_parts
from dragoman.server.v1.requests import PredictForm, PredictOptions, PredictRequest

TASKS = {
    "texts": ("classification", "regression", "tagging"),
    "images": ("image-classification", "captioning"),
    "series": ("forecasting",),
    "csv": ("forecasting",),
}
PARTS = {"texts": 64, "images": 4}  # of one job
BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # of images
FIELDS = 20
Model = TypeVar("Model", bound=BaseModel)


async def read_request(request: Request, settings: ServerSettings) -> PredictRequest:
    """The request, whichever way it was sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _from_form(request, settings)
    if kind != "application/json" and not kind.endswith("+json"):
        raise BadRequest("send a JSON object with Content-Type: application/json, or a form with a file")
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        raise BadRequest("the body is not valid JSON") from None
    return _validated(PredictRequest, body)


def _validated(model: type[Model], given: Any) -> Model:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in problems]) from None


async def _from_form(request: Request, settings: ServerSettings) -> PredictRequest:
    try:
        async with request.form(max_files=1, max_fields=FIELDS, max_part_size=4096) as form:
            return await _from_fields(form, settings)
    except HTTPException as error:  # of the parser
        raise BadRequest(f"the form cannot be read: {error.detail}") from None


async def _from_fields(form: FormData, settings: ServerSettings) -> PredictRequest:
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise BadRequest("'file' is missing: send an image or a table as a file of the form")
    fields = {name: value for name, value in form.items() if name != "file"}
    given = _validated(PredictForm, {**fields, "file": "file"})
    options = given.model_dump(exclude={"file"}, exclude_unset=True)
    data = await file.read(max(settings.image_bytes, settings.file_bytes) + 1)
    if data.startswith(BEGINNINGS):
        check_image_bytes(len(data), settings, "the image")
        return _validated(PredictRequest, {**options, "images": [base64.b64encode(data).decode("ascii")]})
    check_table_bytes(len(data), settings)
    try:
        table = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest("the file is neither a PNG or JPEG image nor a table in UTF-8") from None
    return _validated(PredictRequest, {**options, "csv": table})


async def predict(backend: Backend, request: PredictRequest, settings: ServerSettings) -> Payload:
    """The predictions of the model that the request is for."""
    kind = next(name for name in TASKS if getattr(request, name) is not None)
    model = find_model(backend, TASKS[kind], request.model)
    if kind == "texts":
        check_texts(request.texts or [], settings)
    elif kind == "images":
        check_images(request.images or [], settings)
    elif kind == "csv":
        check_table_bytes(len((request.csv or "").encode()), settings)
    return {"model": model.name, "task": model.task, "predictions": await _predictions(backend, model, request, kind)}


async def _predictions(backend: Backend, model: ModelInfo, request: PredictRequest, kind: str) -> list[Any]:
    options = request.model_dump(include=set(PredictOptions.model_fields), exclude_none=True)
    if kind in PARTS and not request.explain:
        items: Sequence[Any] = getattr(request, kind)

        async def run(some: Sequence[Any]) -> Payload:
            return await backend.run("predict", model.name, {kind: list(some), **options})

        return await in_parts(run, items, PARTS[kind], "predictions")
    given = request.model_dump(include={kind})
    found: list[Any] = (await backend.run("predict", model.name, {**given, **options}))["predictions"]
    return found
