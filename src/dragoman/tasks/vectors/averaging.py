"""Word vectors on several ranks: each trains on its share of a part of the text, then their tables are averaged.

The mean of N ranks moves a word 1/N as far as they would one after the other, so that the learning rate is N times as
high. Between two averages a rank does not see what the others have learnt.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from dragoman.errors import DataError
from dragoman.graph import Array
from dragoman.ranks import Ranks

LEAST = 10_000  # words that a rank trains on between two averages, if the text has as many
PER_ROW = 4  # words for each row of the tables: sending them then takes little of the time

Range = tuple[int, int]  # of sentences


def own_parts(offsets: Array, rows: int, ranks: Ranks) -> list[Range]:
    """This rank's share of each part of the text; a part ends where tables of so many rows are averaged."""
    words = int(offsets[-1])
    count = max(1, -(-words // (ranks.size * max(LEAST, PER_ROW * rows))))
    shares = count * ranks.size
    cuts = np.searchsorted(offsets, np.arange(shares + 1) * words // shares).tolist()
    return [(cuts[i], cuts[i + 1]) for i in range(ranks.rank, shares, ranks.size)]


def average(tables: Sequence[Array], words: Array, ranks: Ranks) -> None:
    """Replace the tables by their mean over all ranks, each weighted by the words it was trained on; words [size]."""
    if not words.any():  # a part within one long sentence
        return
    share = words[ranks.rank] / words.sum()
    for table in tables:
        table *= table.dtype.type(share)
        ranks.sum(table)


def check_same_words(name: str, words: Sequence[str], counts: Array, ranks: Ranks) -> None:
    """Raise an error if the ranks have counted different words."""
    found = ranks.collect([zlib.crc32("\n".join(words).encode()), zlib.crc32(counts.astype(np.int64).tobytes())])
    for rank, other in enumerate(found):
        if other != found[0]:
            raise DataError(
                f"{name}: rank {rank} reads another text than the first rank; copy the same file to every machine"
            )
