"""Encode many texts with a tokenizer, remembering the labels of words.

A tokenizer's model sees one word at a time, and few words make up most of a corpus: finding words with Python's regular
expressions and looking them up takes a third of the time of the library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.data.tokenizer import MARK, Tokenizer, plain_words
from dragoman.graph import Array

MOST = 100_000  # words remembered, about 20 MB; then from the start again


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
        found = [None if words is None else self._encode(words) for words in map(plain_words, texts)]
        others = iter(self.tokenizer.encode([text for text, own in zip(texts, found, strict=True) if own is None]))
        return [next(others) if own is None else own for own in found]

    def _encode(self, words: Sequence[str]) -> Array:
        labels: list[int] = []
        known = self._known
        for word in words:
            if word not in known:
                if len(known) == MOST:
                    known.clear()
                known[word] = [token.id for token in self.tokenizer.engine.model.tokenize(word)]
            labels += known[word]
        return np.array(labels, np.int32)
