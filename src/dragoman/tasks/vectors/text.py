"""Read a text as words, and its words as labels, in bounded memory."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from dragoman.data.source import Source
from dragoman.data.stores import LABEL, LabelStore, StoreWriter
from dragoman.data.tokenizer import word_splitter
from dragoman.errors import DataError

LONGEST_PART = 1 << 16  # characters; a longer line is read in parts, to bound memory
MOST_COUNTED = 4_000_000  # different words to count; beyond it the rarest are dropped

Split = Literal["words", "spaces"]


def copied(source: Source, path: Path) -> Source:
    """Copy standard input or a pipe to a file, because the text is read twice."""
    with source.open() as stream, path.open("wb") as file:
        while part := stream.read(1 << 20):
            file.write(part)
    return Source(str(path), source.encoding)


def sentences(source: Source, split: Split = "words", lower_case: bool = False) -> Iterator[list[str]]:
    """Yield the words of each line; of a very long line, part by part.

    split   words: words and marks, as the tokenizers of translators have them; spaces: whatever is between spaces
    """
    found = word_splitter() if split == "words" else str.split
    for part in _parts(source):
        words = found(part.lower() if lower_case else part)
        if words:
            yield words


def _parts(source: Source) -> Iterator[str]:
    """Yield lines; one longer than LONGEST_PART is cut after its last space, if it has any."""
    with source.open() as stream:
        text = io.TextIOWrapper(stream, source.encoding, newline="\n")
        number, rest = 1, ""
        try:
            while line := text.readline(LONGEST_PART):
                part, rest = rest + line, ""
                cut = part.rfind(" ") + 1
                if cut and len(line) == LONGEST_PART and not line.endswith("\n"):  # its last word may continue
                    part, rest = part[:cut], part[cut:]
                yield part.removeprefix("\ufeff")
                number += line.endswith("\n")
            yield rest
        except UnicodeError as error:
            raise DataError(
                f"{source.shown}, about line {number:,}: not {source.encoding} ({error}); save the text as UTF-8"
            ) from None
        finally:
            text.detach()


def count_words(texts: Iterable[list[str]], notice: Callable[[str], None] = lambda sentence: None) -> Counter[str]:
    """Count the words. With more different words than fit in memory the rarest are dropped."""
    counts: Counter[str] = Counter()
    least = 1
    for words in texts:
        counts.update(words)
        if len(counts) > MOST_COUNTED:
            least += 1
            counts = Counter({word: count for word, count in counts.items() if count >= least})
    if least > 1:
        notice(f"more than {MOST_COUNTED:,} different words: those seen less than {least} times by then were given up")
    return counts


def frequent_words(counts: Counter[str], minimum: int) -> list[str]:
    """Return the words that occur often enough, most frequent first."""
    words = [word for word, count in counts.items() if count >= minimum]
    if len(words) < 2:
        raise DataError(
            f"{len(words)} of {len(counts):,} different words occur {minimum} times or more; vectors "
            "need at least two: give more text, or a lower minimum count"
        )
    return sorted(words, key=lambda word: (-counts[word], word))


def numbered(texts: Iterable[list[str]], words: list[str], path: Path) -> LabelStore:
    """Write the text as labels to disk; rare words are left out, so their neighbours become adjacent."""
    number = {word: label for label, word in enumerate(words)}
    try:
        with StoreWriter(path, LABEL.itemsize) as store:
            for sentence in texts:
                labels = [number[word] for word in sentence if word in number]
                if len(labels) > 1:
                    store.append(np.array(labels, LABEL).tobytes())
    except OSError as error:
        raise DataError(
            f"{path.parent}: the labels of the text could not be written ({error}); free some disk space"
        ) from None
    found = LabelStore(path)
    if not len(found):
        raise DataError("no line of this text has two frequent words; give more text, or a lower minimum count")
    return found
