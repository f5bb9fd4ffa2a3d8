"""Encode many texts with a tokenizer, remembering the labels of words.

A tokenizer's model sees one word at a time, and few words make up most of a corpus: finding words with Python's regular
expressions and looking them up takes a third of the time of the library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dragoman.data.tokenizer import LONGEST_PIECE, MARK, Tokenizer
from dragoman.graph import Array

MOST = 100_000  # words remembered, about 20 MB; then from the start again
# Where Python and the library find the same words and spaces, and NFC changes nothing; all other texts are left to it.
_PLAIN = re.compile(r"[\t-\r -~¡-\u02ff]+")
_PIECE = re.compile(rf" ?(?:\w{{1,{LONGEST_PIECE}}}|[^\w ])")


class WordCache:
    """Encodes texts exactly as its tokenizer does."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}
        splitter = tokenizer.engine.pre_tokenizer
        words = [] if splitter is None else splitter.pre_tokenize_str("ab c")  # not of a tokenizer of characters
        self._by_words = not tokenizer.keeps_spacing and [word for word, _ in words] == [f"{MARK}ab", f"{MARK}c"]

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """The labels of each text, without start and end: int32 arrays."""
        if not self._by_words:
            return self.tokenizer.encode(texts)
        found = [self._encode(text) if _PLAIN.fullmatch(text) else None for text in texts]
        others = iter(self.tokenizer.encode([text for text, own in zip(texts, found, strict=True) if own is None]))
        return [next(others) if own is None else own for own in found]

    def _encode(self, text: str) -> Array:
        labels: list[int] = []
        known = self._known
        for piece in _PIECE.findall(" " + " ".join(text.split())):
            if piece not in known:
                if len(known) == MOST:
                    known.clear()
                tokens = self.tokenizer.engine.model.tokenize(piece.replace(" ", MARK))
                known[piece] = [token.id for token in tokens]
            labels += known[piece]
        return np.array(labels, np.int32)
