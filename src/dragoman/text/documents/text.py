"""Plain text as a document: line breaks, indentation, list markers and columns stay where they are.

Every line is cut into sentences; a line break is never inside a segment, for whoever sends lines wants lines back.
Inside a sentence two spaces may become one, as the translator writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.text.documents.document import Document, Part, Split, document_of, has_letter
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


def split_text(text: str, split: Split = split_sentences, keep_marks: bool = True) -> Document:
    """Cut a text into sentences.

    keep_marks  leave list markers, and what has no letters, as they are; else all but white space is translated, for
                models that read numbers and signs
    """
    lines = text.splitlines(keepends=True)
    return document_of(part for line in lines for part in _parts_of_line(line, split, keep_marks))


def _parts_of_line(line: str, split: Split, keep_marks: bool) -> Iterator[Part]:
    for i, cell in enumerate(_COLUMNS.split(line)):
        if i % 2:
            yield cell
            continue
        marker = _MARKERS.match(cell) if keep_marks else None
        start = marker.end() if marker else 0
        yield cell[:start]
        for sentence in split(cell[start:]):
            yield from _parts_of_sentence(sentence, keep_marks)


def _parts_of_sentence(sentence: str, keep_marks: bool) -> Iterator[Part]:
    core = sentence.strip()
    if not (has_letter(core) if keep_marks else core):
        yield sentence
        return
    start = sentence.index(core)
    yield sentence[:start]
    yield Sentence(core)
    yield sentence[start + len(core) :]
