"""The file that the package ships, against the generator."""

from __future__ import annotations

import lzma

from dragoman.data.builtin import built_in
from tools.phrases import Pair
from tools.phrases.shipped import FILE, packed, tsv


def test_the_shipped_file_is_what_the_generator_makes(pairs: list[Pair]) -> None:
    """Fails after a change of the grammar until `python -m tools.phrases` has written the file again.

    The text is compared, not the compressed bytes: another version of xz may compress differently.
    """
    assert lzma.decompress(FILE.read_bytes()).decode("utf-8") == tsv(pairs)


def test_the_built_in_corpus_is_read_from_it(pairs: list[Pair]) -> None:
    assert built_in("phrases").pairs == [(pair.source, pair.reference) for pair in pairs]


def test_the_same_pairs_give_the_same_bytes(pairs: list[Pair]) -> None:
    some = pairs[:100]
    assert packed(some) == packed(list(some))
    assert lzma.decompress(packed(some)).decode("utf-8") == tsv(some)
