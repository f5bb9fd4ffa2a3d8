"""Plain text as a document: line breaks, indentation, list markers and columns stay where they are.

Every line is cut into sentences; a line break is never inside a segment, for whoever sends lines wants lines back.
Inside a sentence two spaces may become one, as the translator writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.text.documents.document import Document, Part, document_of, has_letter
from dragoman.text.sentences import split_sentences

# "- ", "* ", "> > ", "## ", "3. ", "2.1) ", "(b) ", "- [x] "; a number without a mark is part of the sentence.
_MARKERS = re.compile(
    r"\s*+(?>(?:(?:[-*+•◦▪‣·–—>#]{1,6}|\d{1,3}(?:\.\d{1,3}){0,4}[.)]"
    r"|\((?:\d{1,3}|[A-Za-z])\)|[A-Za-z]\)|\[[ Xx]\])\s++)*)"
)
_COLUMNS = re.compile(r"( *+\t[ \t]*+| {3,}+)")  # a tab or several spaces stand between columns


@dataclass(frozen=True)
class Sentence:
    """A sentence without the white space around it."""

    text: str

    def write(self, translation: str) -> str:
        return translation.strip()


def split_text(text: str) -> Document:
    """Cut a text into sentences; a text without letters has none to translate."""
    return document_of(part for line in text.splitlines(keepends=True) for part in _parts_of_line(line))


def _parts_of_line(line: str) -> Iterator[Part]:
    for i, cell in enumerate(_COLUMNS.split(line)):
        if i % 2:
            yield cell
            continue
        marker = _MARKERS.match(cell)
        start = marker.end() if marker else 0
        yield cell[:start]
        for sentence in split_sentences(cell[start:]):
            yield from _parts_of_sentence(sentence)


def _parts_of_sentence(sentence: str) -> Iterator[Part]:
    core = sentence.strip()
    if not has_letter(core):
        yield sentence
        return
    start = sentence.index(core)
    yield sentence[:start]
    yield Sentence(core)
    yield sentence[start + len(core) :]
