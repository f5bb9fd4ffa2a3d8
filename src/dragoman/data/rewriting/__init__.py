"""Write files of sentence pairs again, in their own format: without the pairs that are dropped, the others mended.

All else stays as it is: other columns and keys, ids, attributes, notes, comments, segments that are not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO

from dragoman.data.readers.layout import Layout
from dragoman.data.rewriting.catalogue import rewrite_po
from dragoman.data.rewriting.edits import Edits
from dragoman.data.rewriting.rows import rewrite_csv, rewrite_jsonl, rewrite_tsv
from dragoman.data.rewriting.units import rewrite_tmx, rewrite_xliff
from dragoman.data.source import Source

__all__ = ["EMPTIED", "REWRITERS", "WHOLE", "Edits"]

Rewriter = Callable[[Sequence[Source], Layout, Edits, BinaryIO], None]
REWRITERS: dict[str, Rewriter] = {
    "tsv": rewrite_tsv,
    "csv": rewrite_csv,
    "jsonl": rewrite_jsonl,
    "tmx": rewrite_tmx,
    "xliff": rewrite_xliff,
    "po": rewrite_po,
}
WHOLE = ("tmx", "xliff", "po")  # formats in which what is no pair, such as an unfinished segment, is kept
EMPTIED = (
    "xliff",
    "po",
)  # formats of a program's texts: a pair that is dropped stays as a segment without a translation
