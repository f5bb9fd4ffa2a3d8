"""Initialize the embeddings of a network with word vectors, fixed or trained further (book 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.data.tokenizer import FIRST_PIECE, MARK, Tokenizer
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, value_of
from dragoman.networks import Network
from dragoman.tasks.start import StartVectors
from dragoman.tasks.vectors.files import depth_of, load_vectors
from dragoman.tasks.vectors.words import WordVectors

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
EMBEDDINGS: dict[Side, str] = {"source": "source_embedding", "target": "reference_embedding"}


@dataclass(frozen=True)
class Filled:
    """How many labels got a vector, how many can be a word, and the scale of the vectors."""

    found: int
    words: int
    scale: float

    def __str__(self) -> str:
        return f"{self.found:,} of {self.words:,} tokens that can be a word start with a vector"


def words_of(tokenizer: Tokenizer) -> list[str | None]:
    """Return the word of each label; None for special labels and pieces that only continue a word."""
    return [None] * FIRST_PIECE + [_word(piece) for piece in tokenizer.pieces(range(FIRST_PIECE, tokenizer.size))]


def _word(piece: str) -> str | None:
    """Return the word of a piece: one with a space mark, or punctuation anywhere."""
    if piece.startswith(MARK):
        return piece.removeprefix(MARK) or None
    return piece if len(piece) == 1 and not piece.isalnum() else None


def initial_embeddings(
    network: Network, side: Side, words: Sequence[str | None], vectors: WordVectors, freeze: bool = False
) -> Filled:
    """Put the vectors of known words into the embedding table of one side; the other rows keep their initial values.

    words   the word of each label, as `words_of` tells it; one without a vector is looked up in lower case
    freeze  leave the whole table as it is from now on; the rows of unknown words too

    Vectors are scaled by one number, so that they are as long as the rows they replace: a network is built for those.
    """
    table = _table(network, side)
    if len(words) != len(table):
        raise ShapeError(f"{len(words)} words for a table of {len(table)} tokens; is it this network's tokenizer?")
    _check_depth(vectors.depth, side, table)
    known = {label: number for label, word in enumerate(words) if (number := _number(word, vectors)) is not None}
    scale = 1.0
    if known:
        rows, labels = vectors.vectors[list(known.values())], list(known)
        scale = _size(table[labels]) / (_size(rows) or 1.0)
        table[labels] = rows * table.dtype.type(scale)
    if freeze:
        network.freeze(f"{EMBEDDINGS[side]}.table")
    return Filled(len(known), sum(word is not None for word in words), scale)


def _table(network: Network, side: Side) -> Array:
    table = getattr(getattr(network, EMBEDDINGS[side], None), "table", None)
    if table is None:
        raise ConfigurationError(f"this network has no {side} embedding to put vectors into; leave its vectors out")
    return value_of(table)


def _check_depth(depth: int, side: Side, table: Array) -> None:
    if depth != table.shape[1]:
        raise ShapeError(
            f"vectors of depth {depth} for a {side} embedding of depth {table.shape[1]}; train vectors with "
            f"--depth {table.shape[1]}, or build a network as deep as the vectors"
        )


def _number(word: str | None, vectors: WordVectors) -> int | None:
    if word is None:
        return None
    return vectors.numbers.get(word, vectors.numbers.get(word.lower()))


def _size(rows: Array) -> float:
    return float(np.sqrt(np.mean(np.square(rows, dtype=np.float64))))


def check_start(start: StartVectors) -> None:
    """Check that the files exist and hold vectors, before the data are prepared."""
    for side in SIDES:
        file = getattr(start, side)
        if file is not None:
            depth_of(file)


def start_from_vectors(
    network: Network,
    start: StartVectors,
    tokenizers: tuple[Tokenizer, Tokenizer],
    resumed: bool,
    tell: Callable[[str], None],
) -> None:
    """Fill the embeddings with word vectors, report how many words were found, and freeze them if asked.

    resumed   the tables come from a checkpoint; the files are not read, and need not be there any more
    """
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        file: str | None = getattr(start, side)
        if file is None:
            continue
        if not resumed:
            tell(f"{side} embedding: {_filled(network, side, file, tokenizer)} ({file})")
        if start.freeze:
            network.freeze(f"{EMBEDDINGS[side]}.table")


def _filled(network: Network, side: Side, file: str, tokenizer: Tokenizer) -> Filled:
    words = words_of(tokenizer)
    try:
        _check_depth(depth_of(file), side, _table(network, side))
        wanted = {form for word in words if word is not None for form in (word, word.lower())}
        filled = initial_embeddings(network, side, words, load_vectors(file, wanted))
    except ShapeError as error:
        raise ConfigurationError(f"start.vectors.{side}: {file}: {error}") from None
    if not filled.found:
        raise ConfigurationError(
            f"start.vectors.{side}: {file} has a vector for none of the {filled.words:,} tokens of the {side} "
            "vocabulary that can be a word; is it for another language?"
        )
    return filled
