"""The language of a text, among those that the served translators were trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.text.language_codes import closest_languages
from dragoman.text.language_id import LanguageProfile, identify


def profiles_of(models: Mapping[str, Any]) -> dict[str, LanguageProfile]:
    """The profiles of all languages; of several models of a language, also of its regions, the first one's.

    Two profiles of one language would halve the confidence of each.
    """
    found: dict[str, LanguageProfile] = {}
    for model in models.values():
        for code, profile in getattr(model, "profiles", {}).items():
            if not closest_languages(code, found):
                found[code] = profile
    return found


def detect(models: Mapping[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    """For each text the languages that it may be in, best first, with a confidence in per cent."""
    profiles = profiles_of(models)
    return {"detections": [_detected(text, profiles) for text in payload["texts"]]}


def _detected(text: str, profiles: Mapping[str, LanguageProfile]) -> list[dict[str, Any]]:
    found = identify(text, profiles)
    return [{"language": code, "confidence": round(100 * confidence, 1)} for code, confidence in found]
