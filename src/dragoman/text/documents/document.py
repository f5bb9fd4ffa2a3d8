"""A document: what stays as it is, and the segments that are translated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dragoman.errors import ConfigurationError
from dragoman.text.spacing import joint


class Segment(Protocol):
    """A part of a document that is translated."""

    @property
    def text(self) -> str:
        """What the translator reads."""

    def write(self, translation: str) -> str:
        """What the document holds instead; for a translation equal to `text` what it held before."""


Part = str | Segment
Split = Callable[[str], list[str]]  # a text into sentences, which joined are the text


@dataclass(frozen=True)
class Document:
    """A text or an HTML document. `join(segments)` is the document itself, character for character."""

    parts: tuple[Part, ...]

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """What is to be translated, in order: a sentence each, or several in a row."""
        return tuple(part.text for part in self.parts if not isinstance(part, str))

    @property
    def head(self) -> str:
        """What stands before the first segment."""
        return self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""

    def join(self, translations: Sequence[str]) -> str:
        """The document with each segment replaced by its translation; all else is kept."""
        if len(translations) != len(self.segments):
            raise ConfigurationError(
                f"a document of {len(self.segments):,} segments takes as many translations, not {len(translations):,}"
            )
        left = iter(translations)
        written, after_segment = [""], False
        for part in self.parts:
            if isinstance(part, str):
                written.append(part)
            else:
                translation = part.write(next(left))
                written += joint(written[-1], translation) if after_segment else "", translation
            after_segment = not isinstance(part, str)
        return "".join(written)


def document_of(parts: Iterable[Part]) -> Document:
    """A document of these parts, with the strings between two segments as one."""
    kept: list[Part] = []
    between: list[str] = []
    for part in parts:
        if isinstance(part, str):
            between.append(part)
        else:
            kept += ["".join(between), part]
            between = []
    return Document(tuple(part for part in [*kept, "".join(between)] if part))


def has_letter(text: str) -> bool:
    return text.isalpha() or any(map(str.isalpha, text))
