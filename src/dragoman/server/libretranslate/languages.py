"""The languages that are served, and the models on the way from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.server.backend import Backend, ModelInfo
from dragoman.server.libretranslate.names import language_name

ALIASES = {"pb": "pt-br", "zh": "zh-hans", "zt": "zh-hant"}  # codes of LibreTranslate's own models


class Languages:
    """Codes are written as LibreTranslate does (`en`, `pt-BR`, `zh-Hans`), and found in any case and by an alias."""

    def __init__(self, models: Sequence[ModelInfo]) -> None:
        self._direct: dict[tuple[str, str], ModelInfo] = {}
        for model in models:
            if model.task == "translation" and model.source and model.target:
                self._direct.setdefault((written(model.source), written(model.target)), model)
        found = {code for pair in self._direct for code in pair}
        self.codes = sorted(found, key=lambda code: (code != "en", language_name(code), code))
        self.sources = [code for code in self.codes if any(code == first for first, _ in self._direct)]

    def find(self, code: str) -> str | None:
        """The code as it is written here; None if the language is not served."""
        code = written(code)
        return code if code in self.codes else None

    def path(self, source: str, target: str) -> list[ModelInfo] | None:
        """The models to run in turn: none for the same language, one, or two through a third language."""
        if source == target:
            return []
        if (source, target) in self._direct:
            return [self._direct[source, target]]
        for middle in self.codes:
            if (source, middle) in self._direct and (middle, target) in self._direct:
                return [self._direct[source, middle], self._direct[middle, target]]
        return None

    def targets(self, source: str) -> list[str]:
        return sorted(code for code in self.codes if self.path(source, code) is not None)

    def as_list(self) -> list[dict[str, Any]]:
        """What `/languages` answers."""
        return [{"code": code, "name": language_name(code), "targets": self.targets(code)} for code in self.codes]


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
