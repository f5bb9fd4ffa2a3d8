"""Translate texts: detect their language, run one model or two, and keep what has no words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from dragoman.server.backend import Backend, ModelInfo
from dragoman.server.errors import BadRequest
from dragoman.server.libretranslate.checks import AUTO
from dragoman.server.libretranslate.languages import Languages
from dragoman.server.libretranslate.names import language_name

NO_TEXT = re.compile(r"<[^<>]*>|&#\w{8,};?")  # tags, and numbers that are no character


@dataclass(frozen=True)
class Translated:
    """Translations of some texts.

    alternatives  other translations of each text, best first
    detected      what `detectedLanguage` says, where the client asked for it
    """

    texts: list[str]
    alternatives: list[list[str]]
    detected: dict[str, Any] | None = None


@dataclass(frozen=True)
class Translation:
    """Texts to translate, with their languages as `Languages` writes them."""

    texts: Sequence[str]
    source: str
    target: str
    format: str = "text"
    alternatives: int = 0
    words: list[int] = field(init=False)

    def __post_init__(self) -> None:
        found = [position for position, text in enumerate(self.texts) if has_words(text)]
        object.__setattr__(self, "words", found)


async def translate(backend: Backend, languages: Languages, job: Translation) -> Translated:
    """Texts without words (emoji, numbers, white space) come back as they are."""
    source, detected = job.source, None
    if source == AUTO:
        found = await detect(backend, languages, [job.texts[position] for position in job.words], job.format)
        source, detected = found[0]["language"], found[0]
    path = languages.path(source, job.target)
    if path is None:
        raise BadRequest(
            f"{language_name(job.target)} ({job.target}) is not available as a target language"
            f" from {language_name(source)} ({source})"
        )
    texts, alternatives = list(job.texts), [[] for _ in job.texts]  # type: tuple[list[str], list[list[str]]]
    if path and job.words:
        results = await _run(backend, path, job, [texts[position] for position in job.words])
        for position, text, others in zip(job.words, *results, strict=True):
            texts[position], alternatives[position] = text, _distinct(others, text, job.alternatives)
    return Translated(texts, alternatives, detected)


async def _run(
    backend: Backend, path: Sequence[ModelInfo], job: Translation, texts: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Translations and their alternatives; those are of the last model, and of plain text only."""
    others: list[list[str]] = []
    for model in path:
        count = job.alternatives if model is path[-1] and job.format == "text" else 0
        result = await backend.run(
            "translate", model.name, {"texts": texts, "format": job.format, "alternatives": count}
        )
        texts = list(result["translations"])
        others = [list(found) for found in result["alternatives"]] if count else [[] for _ in texts]
    return texts, others


async def detect(backend: Backend, languages: Languages, texts: Sequence[str], format: str) -> list[dict[str, Any]]:
    """Languages of some texts together, best first. Without evidence: English, or the first that is read here."""
    text = "\n".join(_plain(text) for text in texts) if format == "html" else "\n".join(texts)
    found: list[dict[str, Any]] = []
    if has_words(text):
        result = await backend.run("detect", "", {"texts": [text]})
        found = [
            {"confidence": float(one["confidence"]), "language": code}
            for one in result["detections"][0]
            if one["confidence"] > 0 and (code := languages.find(one["language"], read=True))
        ]
    default = (languages.sources or ["en"])[0]
    return found or [{"confidence": 0.0, "language": default}]


def has_words(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _plain(html: str) -> str:
    """The text of some HTML, roughly: enough to tell its language."""
    return unescape(NO_TEXT.sub(" ", html))


def _distinct(found: Sequence[str], best: str, count: int) -> list[str]:
    kept = [text for text in dict.fromkeys(found) if text and text != best]
    return kept[:count]
