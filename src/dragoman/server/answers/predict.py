"""Predictions of every task that is no translation: of texts, of images, and of series."""

from __future__ import annotations

import re
from typing import Any

from dragoman.server.answers.pictures import of_images
from dragoman.server.answers.series import of_series
from dragoman.server.answers.values import Payload, as_json, flag_of, texts_of
from dragoman.server.bounds import TEXT_CHARACTERS, WORDS
from dragoman.server.errors import BadRequest, TooLarge

TEXTS = ("classification", "regression", "tagging")
IMAGES = ("image-classification", "captioning")
SERIES = ("forecasting",)
_WORD = re.compile(r"\w+|[^\w\s]")


def predict(model: Any, payload: Payload) -> dict[str, Any]:
    """{"predictions": [...]}, one for each text or image, or one of a series."""
    given = [name for name in ("texts", "images", "series", "csv") if payload.get(name) is not None]
    wanted = _wanted(model.task)
    if len(given) != 1 or given[0] not in wanted:
        raise BadRequest(f"a model for {model.task} predicts from {' or '.join(map(repr, wanted))}, and nothing else")
    if model.task in TEXTS:
        return {"predictions": _of_texts(model, payload)}
    return {"predictions": of_images(model, payload) if model.task in IMAGES else [of_series(model, payload)]}


def _wanted(task: str) -> tuple[str, ...]:
    for tasks, names in ((TEXTS, ("texts",)), (IMAGES, ("images",)), (SERIES, ("series", "csv"))):
        if task in tasks:
            return names
    raise BadRequest(f"a model for {task} does not predict; it has routes of its own")


def _of_texts(model: Any, payload: Payload) -> list[dict[str, Any]]:
    texts, explained = texts_of(payload), flag_of(payload, "explain")
    if explained:
        _check_explained(model, texts)
    found = [as_json(each.as_dict()) for each in model.predict(texts)]
    if explained:
        for text, prediction in zip(texts, found, strict=True):
            prediction["explanation"] = as_json(model.explain(text).as_dict())
    return found


def _check_explained(model: Any, texts: list[str]) -> None:
    """An explanation costs a prediction for every word."""
    if not hasattr(model, "explain"):
        raise BadRequest(f"a model for {model.task} does not say which words decided; leave 'explain' out")
    words = sum(len(_WORD.findall(text)) for text in texts)
    if words > WORDS or max(map(len, texts)) > TEXT_CHARACTERS:
        raise TooLarge(f"the texts have {words:,} words; at most {WORDS} are explained at a time")
