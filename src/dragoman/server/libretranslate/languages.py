"""The languages that are served, and the models on the way from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dragoman.server.backend import Backend, ModelInfo
from dragoman.server.libretranslate.names import language_name
from dragoman.text.language_codes import closest_languages

ALIASES = {"pb": "pt-br", "zh": "zh-hans", "zt": "zh-hant"}  # codes of LibreTranslate's own models


class Languages:
    """Codes are written as LibreTranslate does (`en`, `pt-BR`, `zh-Hans`), and found by BCP 47 or by an alias."""

    def __init__(self, models: Sequence[ModelInfo]) -> None:
        self._direct: dict[tuple[str, str], ModelInfo] = {}
        for model in models:
            if model.task == "translation" and model.source and model.target:
                self._direct.setdefault((written(model.source), written(model.target)), model)
        found = {code for pair in self._direct for code in pair}
        self.codes = sorted(found, key=lambda code: (code != "en", language_name(code), code))
        self.sources = [code for code in self.codes if any(code == first for first, _ in self._direct)]

    def find(self, code: str, read: bool = False) -> str | None:
        """The served language that a code means, `en-US` for `en` if that is served; None if there is none.

        read  whether one that is read here is meant rather than one that is written
        """
        preferred = {pair[not read] for pair in self._direct}
        for codes in ([code for code in self.codes if code in preferred], self.codes):
            if found := closest_languages(written(code), codes):
                return found[0]
        return None

    def path(self, source: str, target: str) -> list[ModelInfo] | None:
        """The models to run in turn: none for the same language, one, or two through a third language."""
        if source == target:
            return []
        if model := self._model(source, target):
            return [model]
        for middle in self.codes:
            if (first := self._model(source, middle)) and (second := self._model(middle, target)):
                return [first, second]
        return None

    def _model(self, source: str, target: str) -> ModelInfo | None:
        """The model of two languages, or else of two that are close to them."""
        if model := self._direct.get((source, target)):
            return model
        close = [pair for pair in self._direct if _are_close(source, pair[0]) and _are_close(target, pair[1])]
        sources = closest_languages(source, [pair[0] for pair in close])
        targets = closest_languages(target, [pair[1] for pair in close if pair[0] in sources])
        return next((self._direct[pair] for pair in close if pair[0] in sources and pair[1] in targets), None)

    def targets(self, source: str) -> list[str]:
        return sorted(code for code in self.codes if self.path(source, code) is not None)

    def as_list(self) -> list[dict[str, Any]]:
        """What `/languages` answers."""
        return [{"code": code, "name": language_name(code), "targets": self.targets(code)} for code in self.codes]


@cache
def _are_close(first: str, second: str) -> bool:
    """Whether two served codes mean about the same language."""
    return bool(closest_languages(first, [second]))


def served_languages(backend: Backend) -> Languages:
    return Languages(backend.models())


def written(code: str) -> str:
    """A language code in its usual case: `pt-BR`, `zh-Hans`."""
    code = code.lower().replace("_", "-")
    language, *rest = ALIASES.get(code, code).split("-")
    return "-".join([language, *(_subtag(part) for part in rest)])


def _subtag(part: str) -> str:
    """A region of 2 letters is written large, a script of 4 begins large."""
    return part.upper() if len(part) == 2 else part.title() if len(part) == 4 else part
