"""Split texts into sentences, and long sentences into pieces that fit a network; joining the parts gives the text.

Each part keeps the white space after it; white space at the beginning belongs to the first part. In doubt a text is not
split: two sentences in one part are translated well, half a sentence is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_OPENING = frozenset("¿¡«\"“„‘'([{<「『（")
_CLOSING = r"\"”’'»)\]}」』）"
# Matching starts at the first of several marks only; otherwise a long row of marks would take quadratic time.
_ENDS = re.compile(
    rf"(?<![.!?…؟।])(?P<marks>[.!?…؟।]++)[{_CLOSING}]*+\s++"
    rf"|(?P<wide>[。！？]++[{_CLOSING}]*+\s*+)"  # Chinese and Japanese put no space between sentences
    r"|\n\s*+"
)
# Words whose full stop does not end a sentence; those in the second list only before a number.
_ABBREVIATION = re.compile(
    "mrs?|ms|messrs|dra?|prof|ste?|[js]r|sra|srta|sres|dña|rev|hon|gen|col|capt|lt|sgt|gob|pres|lic|ing|arq|uds?|vds?|ee|"
    "uu|ej|etc|cf|vs|approx|aprox|dept|dpto|inc|ltd|co|corp|bros|av|avda|gral",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile("nº?|no|n[uú]m|pp?|págs?|art|fig|vol|cap|ch|sec|eq|ca?|tel", re.IGNORECASE)
_LAST_WORD = re.compile(r"[\w.]+$")
_LONGEST = 10  # characters of the last word to look at: longer than any abbreviation
_DOTTED = re.compile(r"(?:[^\W\d]{1,2}\.)+[^\W\d]{1,2}")
_LIST_NUMBER = re.compile(r"\s*+\d{1,3}")
# Where a sentence may be cut: after a mark, and where a dash joins or opens a clause ("fue —dijo— así").
_CLAUSES = re.compile(rf"[,;:—][{_CLOSING}]*+\s++|[，、；：]|(?<=\S)\s++(?=—\S)|(?<=\w)—(?=\w)")
_SPACES = re.compile(r"(?<=\S)\s++")


def collapsed(text: str) -> str:
    """Collapse white space, as tokenizers do: texts that differ in white space only are the same sentence."""
    return " ".join(text.split())


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences. A blank line ends one too; a single line break is white space."""
    parts = []
    start, beginning = 0, len(text) - len(text.lstrip())
    for match in _ENDS.finditer(text, beginning):
        stop = match.end()
        if stop < len(text) and _ends_sentence(text, start, match):
            parts.append(text[start:stop])
            start = stop
    return [*parts, text[start:]] if text else []


def pieces(text: str, fits: Callable[[str], bool], most: int = 1 << 12) -> Iterator[str]:
    """Yield the text if it fits, otherwise its sentences; a sentence that does not fit is cut further.

    It is cut after , ; : or at a dash, else at a space, else anywhere; a single character is a piece even if it does
    not fit, and none has more than `most` characters. `fits` must be monotone: a prefix of a text that fits must fit
    too. It is called a few times per piece, so the work is linear in the text.
    """
    if len(text) <= most and fits(text):
        yield text
    else:
        for sentence in split_sentences(text):
            yield from _cut(sentence, fits, most)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the sentence that began at `start` ends with this match."""
    if match["wide"] or match[0].count("\n") > 1:
        return True
    if not match["marks"] or not _begins_sentence(text[match.end() : match.end() + 3]):
        return False
    return match["marks"] != "." or not _abbreviates(text, start, match.start(), text[match.end()].isdecimal())


def _begins_sentence(text: str) -> bool:
    """Return whether a text begins with a character that can begin a sentence, after an optional dash."""
    first = text.lstrip("—–-")[:1]
    return first in _OPENING or (first.isalnum() and not first.islower())


def _abbreviates(text: str, start: int, stop: int, before_number: bool) -> bool:
    """Return whether the full stop at `stop` belongs to its word: Dr., etc., initials, EE.UU., list numbers."""
    found = _LAST_WORD.search(text, max(start, stop - _LONGEST), stop)
    word = found[0] if found else ""
    return bool(
        _ABBREVIATION.fullmatch(word)
        or (before_number and _BEFORE_NUMBER.fullmatch(word))
        or (len(word) == 1 and word.isupper())
        or _DOTTED.fullmatch(word)
        or _LIST_NUMBER.fullmatch(text, start, stop)
    )


def _cut(sentence: str, fits: Callable[[str], bool], most: int) -> Iterator[str]:
    start, guess = 0, most
    while start < len(sentence):
        stop = _longest_fit(sentence, start, guess, fits, most)
        if stop < len(sentence):
            guess = stop - start
            better = _best_cut(sentence, start, stop)
            stop = better if fits(sentence[start:better]) else stop  # in case `fits` is not quite monotone
        yield sentence[start:stop]
        start = stop


def _longest_fit(text: str, start: int, guess: int, fits: Callable[[str], bool], most: int) -> int:
    """Find the end of the longest part from `start` that fits: growing steps from a guess, then bisection."""
    known, size, end = start + 1, guess, min(start + most, len(text))
    while fits(text[start : start + size]):
        known = start + size
        if known >= end:
            return end
        size = min(size + size // 4 + 1, most)  # the pieces of a text have similar lengths
    beyond = min(start + size, end)
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if fits(text[start:middle]):
            known = middle
        else:
            beyond = middle
    return known


def _best_cut(text: str, start: int, stop: int) -> int:
    """Find the last good place to cut, up to `stop`."""
    window = text[start:stop]
    clauses = [match.end() for match in _CLAUSES.finditer(window)]
    if not clauses and text[stop].isspace():
        return stop
    cuts = clauses or [match.end() for match in _SPACES.finditer(window)]
    return start + cuts[-1] if cuts else stop
