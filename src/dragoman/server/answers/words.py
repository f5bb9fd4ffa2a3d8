"""Pieces of a tokenizer as the words that a reader sees, and matrices of pieces as matrices of words."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.batch import UNKNOWN
from dragoman.data.tokenizer import BYTES, MARK, SHOWN_UNKNOWN, SPECIAL
from dragoman.graph import Array

CONTINUED = "##"  # before a piece inside a word, of WordPiece
_BYTES = {piece: byte for byte, piece in enumerate(BYTES)}
_MARKS = frozenset(mark for label, mark in SPECIAL.items() if label != UNKNOWN)


@dataclass(frozen=True)
class Word:
    """A word or a punctuation mark, and which pieces it is made of."""

    text: str
    start: int
    stop: int

    @property
    def pieces(self) -> slice:
        return slice(self.start, self.stop)


def words_of(pieces: Sequence[str], continued: bool = True) -> list[Word]:
    """The words of some pieces; start and end marks belong to none.

    continued  whether pieces inside a word are written ##so (WordPiece)
    """
    found: list[Word] = []
    for i, piece in enumerate(pieces):
        if piece in _MARKS:
            continue
        if found and found[-1].stop == i and _goes_on(pieces[found[-1].pieces], piece, continued):
            found[-1] = Word("", found[-1].start, i + 1)
        else:
            found.append(Word("", i, i + 1))
    return [Word(_joined(pieces[word.pieces], continued), word.start, word.stop) for word in found]


def _goes_on(before: Sequence[str], piece: str, continued: bool) -> bool:
    """Whether a piece belongs to the word of the pieces before it."""
    if piece.startswith(MARK):
        return False
    if all(each == MARK for each in before) or (continued and _is_continued(piece)):
        return True
    last, first = before[-1], piece
    if last == SPECIAL[UNKNOWN] or first == SPECIAL[UNKNOWN]:
        return False
    return (last in _BYTES or _in_word(last[-1])) and (first in _BYTES or _in_word(first[0]))


def _is_continued(piece: str) -> bool:
    return len(piece) > len(CONTINUED) and piece.startswith(CONTINUED)


def _in_word(character: str) -> bool:
    """Letters, numbers and the marks on them."""
    return unicodedata.category(character)[0] in "LNM" or character == "_"


def _joined(pieces: Sequence[str], continued: bool) -> str:
    """The text of a word; a character that is spelled in bytes is decoded."""
    parts: list[str] = []
    for in_bytes, group in itertools.groupby(pieces, lambda piece: piece in _BYTES):
        if in_bytes:
            parts.append(bytes(_BYTES[piece] for piece in group).decode("utf-8", "replace"))
        else:
            parts += [shown(piece, continued) for piece in group]
    return "".join(parts)


def shown(piece: str, continued: bool = True) -> str:
    """A piece without the marks of its tokenizer."""
    if piece == SPECIAL[UNKNOWN]:
        return SHOWN_UNKNOWN
    return piece[len(CONTINUED) :] if continued and _is_continued(piece) else piece.replace(MARK, "")


def word_weights(weights: Array, queries: Sequence[Word], keys: Sequence[Word] | None = None) -> Array:
    """Attention of pieces [Tq, Tk] as that of words: the sum over a key's pieces, the mean over a query's.

    Without keys the columns stay, whatever they are.
    """
    if keys is not None:
        columns = [weights[:, word.pieces].sum(axis=1) for word in keys]
        weights = np.stack(columns, axis=1) if columns else np.zeros((len(weights), 0))
    rows = [weights[word.pieces].mean(axis=0) for word in queries]
    return np.stack(rows) if rows else np.zeros((0, *weights.shape[1:]))
