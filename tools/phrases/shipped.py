"""The corpus as the package ships it: a source, a tab and its reference on each line, compressed by xz."""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from pathlib import Path

from tools.phrases.corpus import Pair

FILE = Path(__file__).parents[2] / "src" / "dragoman" / "data" / "phrases.tsv.xz"


def packed(pairs: Iterable[Pair]) -> bytes:
    """The bytes of the file; xz stores neither a time nor a name, so the same pairs give the same bytes."""
    return lzma.compress(tsv(pairs).encode("utf-8"))


def tsv(pairs: Iterable[Pair]) -> str:
    """One line for each pair."""
    return "".join(f"{pair.source}\t{pair.reference}\n" for pair in pairs)
