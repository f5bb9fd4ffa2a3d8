"""Contextual vectors of words and texts."""

from __future__ import annotations

from typing import Any

from dragoman.server.answers.values import Payload, as_json, flag_of, texts_of
from dragoman.server.bounds import FEATURE_CHARACTERS, FEATURE_NUMBERS
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.features import TextFeatures, features_of
from dragoman.tasks.task import find_task


def features(model: Any, payload: Payload) -> dict[str, Any]:
    """The words of each text, a vector for each of them, and one for the whole text; with `whole`, that one alone."""
    if find_task(model.task).reads_images or model.task == "forecasting":
        raise BadRequest(f"a model for {model.task} reads no text, so words have no vectors in it")
    texts, whole = texts_of(payload), flag_of(payload, "whole")
    if sum(map(len, texts)) > FEATURE_CHARACTERS:
        raise TooLarge(f"'texts' has more than the {FEATURE_CHARACTERS:,} characters that get vectors at a time")
    found = features_of(model, texts)
    numbers = sum(each.sentence.size + (0 if whole else each.vectors.size) for each in found)
    if numbers > FEATURE_NUMBERS:
        raise TooLarge(
            f"the vectors have {numbers:,} numbers, more than {FEATURE_NUMBERS:,}; send fewer texts, or ask for those "
            "of whole texts alone"
        )
    return {"features": [_shown(each, whole) for each in found]}


def _shown(found: TextFeatures, whole: bool) -> dict[str, Any]:
    vectors = {} if whole else {"words": list(found.words), "vectors": as_json(found.vectors)}
    return {**vectors, "text": as_json(found.sentence)}
