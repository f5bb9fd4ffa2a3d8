"""Recognise what `dragoman serve --suggestions FILE` writes: corrected translations in any direction.

    {"time": "...", "source": "en", "target": "es", "q": "Go.", "s": "Ve."}

Here source and target are languages, q is the text and s its better translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.text.language_codes import Languages, closest_languages, is_known_code, language_code
from dragoman.wording import counted

KEYS = ("source", "target", "q", "s")


def directions(found: Any) -> Languages | None:
    """The languages of a suggestion; None of any other object."""
    if not isinstance(found, Mapping) or not all(isinstance(found.get(key), str) for key in KEYS):
        return None
    return languages_under(found)


def languages_under(found: Mapping[str, Any]) -> Languages | None:
    """The codes under the keys source and target; None if there is a text."""
    try:
        source, target = (language_code(found[key]) for key in ("source", "target"))
    except (KeyError, AttributeError, ConfigurationError):
        return None
    return (source, target) if is_known_code(source) and is_known_code(target) else None


class Suggestions:
    """Pairs in one direction: suggestions for the other one are turned round.

    languages  of source and target; None: those of the first suggestion
    """

    def __init__(self, languages: Languages | None) -> None:
        self.languages = languages
        self.used = self.turned = 0

    def pair(self, found: Mapping[str, str], directions: Languages) -> list[str] | None:
        """Source and target; None if the suggestion is for other languages."""
        self.languages = self.languages or directions
        if _are(directions, self.languages):
            self.used += 1
            return [found["q"], found["s"]]
        if _are(directions[::-1], self.languages):
            self.turned += 1
            return [found["s"], found["q"]]
        return None

    def note(self, file: str) -> str:
        """What was read; "" if the file has no suggestion."""
        if self.languages is None:
            return ""
        source, target = self.languages
        turned = f", {self.turned:,} from {target} to {source} turned round" if self.turned else ""
        return f"{file}: {counted(self.used, 'suggestion')} from {source} to {target}{turned}"


def _are(found: Languages, wanted: Languages) -> bool:
    return all(closest_languages(code, [tag]) for code, tag in zip(wanted, found, strict=True))
