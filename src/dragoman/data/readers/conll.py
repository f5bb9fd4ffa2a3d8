"""CoNLL files: a word and its tag on each line, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.data.readers.layout import Format, Layout, Unusable
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError

SEPARATOR = "\t"  # between the words of a record, and between their tags; no word holds one
MOST_WORDS = 5000  # of a sentence; more of them are a file whose blank lines were lost
CONLL_U = 10  # columns
NO_WORD = re.compile(r"\d+[-.]\d+")  # ids of multi-word tokens and empty nodes, whose words have rows of their own
DOCUMENT = "-DOCSTART-"


@dataclass
class _Sentence:
    """The rows of a sentence up to a blank line; none of them counts once one is bad."""

    line: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    bad: bool = False

    def record(self, source: Source, problems: ReadErrors) -> Record | None:
        if self.bad or not self.words:
            return None
        return make_record(
            [SEPARATOR.join(self.words), SEPARATOR.join(self.tags)],
            ("words", "tags"),
            source.shown,
            self.line,
            problems,
        )


def read_conll(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Columns between tabs (in a line without any: between spaces), the word first and its tag last.

    Ten columns are CoNLL-U: the word is FORM, the tag UPOS. Lines that begin with # are comments. A record has all
    words of a sentence, and all tags. A sentence with a line that cannot be used is left out whole.
    """
    width, spaced = 0, False
    sentence = _Sentence()
    for line in source.physical_lines():
        text = line.text
        if not text.strip() and not line.fault:
            if record := sentence.record(source, problems):
                yield record
            sentence = _Sentence()
            continue
        try:
            if line.fault:
                raise Unusable(line.fault, line.advice)
            row = text.split("\t") if "\t" in text else text.split()
            if _is_comment(text, row, width, spaced and bool(sentence.words)) or row[0] == DOCUMENT:
                continue
            width, spaced = width or len(row), "\t" not in text
            found = _word_and_tag(row, width, layout, source)
            if found is None or sentence.bad:
                continue
            if len(sentence.words) == MOST_WORDS:
                raise Unusable(f"a sentence of more than {MOST_WORDS:,} words", "a blank line ends a sentence")
        except Unusable as why:
            problems.add(why.reason, source.shown, line.number, text, why.detail)
            sentence.bad = True
            continue
        sentence.line = sentence.line or line.number
        sentence.words.append(found[0])
        sentence.tags.append(found[1])
    if record := sentence.record(source, problems):
        yield record


def _is_comment(text: str, row: Sequence[str], width: int, among_words: bool) -> bool:
    """A # begins a comment, unless it is a word with its tag.

    among_words  whether the line before is a word whose columns stand between spaces: comments stand above sentences
    """
    if not text.startswith("#"):
        return False
    if "\t" in text:
        return len(row[0].split()) > 1 or len(row) != (width or len(row))
    return not among_words or len(row) != width


def _word_and_tag(row: Sequence[str], width: int, layout: Layout, source: Source) -> tuple[str, str] | None:
    """None for a row that is no word."""
    if layout.columns is None and len(row) != width:
        raise Unusable("wrong number of columns", f"{len(row)}, but the first line has {width}")
    if width == CONLL_U and NO_WORD.fullmatch(row[0]):
        return None
    word, tag = _columns(layout, width, source)
    if len(row) <= max(word, tag) or word == tag:
        needed = f"at least {max(word, tag, 1) + 1}" if layout.columns is not None else "a word and its tag"
        raise Unusable("wrong number of columns", f"{len(row)}, expected {needed}")
    found = " ".join(row[word].split()), " ".join(row[tag].split())
    for name, value in zip(("word", "tag"), found, strict=True):
        if not value:
            raise Unusable(f"empty {name}")
    return found


def _columns(layout: Layout, width: int, source: Source) -> tuple[int, int]:
    if layout.columns is None:
        return (1, 3) if width == CONLL_U else (0, width - 1)
    word, tag = layout.columns
    if not isinstance(word, int) or not isinstance(tag, int):
        raise ConfigurationError(f"{source.shown}: columns of CoNLL files have no names; count them from 1")
    return word, tag


CONLL = Format("conll", ("conll", "conllu", "iob", "iob2", "bio", "tsv", "tab", "txt"), ("tagged",), read_conll)
