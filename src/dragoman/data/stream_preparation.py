"""From plain texts to tokens on disk.

The parts are contiguous ranges of the text, by default its first 90 %, the next 5 % and the last 5 %, cut at line ends:
no window of one part reaches into another, and the tokenizer is learnt from the training part alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import numpy as np

from dragoman.batch import END, UNKNOWN
from dragoman.data.cache import cached, dataset_key
from dragoman.data.dataset import published
from dragoman.data.splits import DEFAULT_SHARES, PARTS, TESTING, TRAINING
from dragoman.data.text_files import TextFiles
from dragoman.data.token_stream import VERSION, StreamAbout, StreamSchema, TokenStream, token_dtype
from dragoman.data.tokenizer import Tokenizer
from dragoman.data.windows import count_windows
from dragoman.errors import DataError

NEAR = 0.01  # of the text: how far beyond its share a part may end, to end with a line


def cached_stream(
    files: TextFiles,
    digest: str,
    schema: StreamSchema,
    shares: tuple[float, float, float] = DEFAULT_SHARES,
    tokenizer: Tokenizer | None = None,
    directory: Path | None = None,
) -> TokenStream:
    """The tokens of these files, prepared now or found from before."""
    given = None if tokenizer is None else hashlib.sha256(tokenizer.to_json().encode()).hexdigest()
    key = dataset_key([digest], schema.name, VERSION, asdict(schema), shares, given)
    return cached(key, TokenStream, lambda place: prepare_stream(files, place, schema, shares, tokenizer), directory)


def prepare_stream(
    files: TextFiles,
    directory: Path,
    schema: StreamSchema,
    shares: tuple[float, float, float] = DEFAULT_SHARES,
    tokenizer: Tokenizer | None = None,
) -> TokenStream:
    """Split, learn a tokenizer from the training part (or use the given one), encode; in bounded memory.

    The directory appears complete or not at all.
    """
    total = sum(len(piece) for piece in files if piece is not None)
    bounds, near = [round(share * total) for share in np.cumsum(shares)[:2]], int(NEAR * total)

    def pieces() -> Iterator[tuple[int, str | None]]:
        return in_parts(files, bounds, near)

    if tokenizer is None:
        training = (piece for part, piece in pieces() if part == TRAINING and piece is not None)
        tokenizer = Tokenizer.train(training, schema.kind, schema.vocabulary, spacing="kept")
    with published(directory) as work:
        about = _write(work, pieces(), tokenizer, schema, shares, len(files.names))
        schema.encoder_path(work, "text").write_text(tokenizer.to_json(), encoding="utf-8")
        (work / "about.json").write_text(json.dumps(asdict(about), indent=2), encoding="utf-8")
    return TokenStream(directory)


def _write(
    work: Path,
    pieces: Iterable[tuple[int, str | None]],
    tokenizer: Tokenizer,
    schema: StreamSchema,
    shares: tuple[float, float, float],
    texts: int,
) -> StreamAbout:
    """Write the tokens, and the testing part as text."""
    dtype, unknown = token_dtype(tokenizer.size), 0
    characters, tokens = [0] * len(PARTS), [0] * len(PARTS)
    with ExitStack() as stack:
        data = stack.enter_context((work / "tokens.data").open("wb"))
        testing = stack.enter_context((work / "testing.txt").open("w", encoding="utf-8", newline=""))
        for part, piece in pieces:
            labels = np.array([END]) if piece is None else tokenizer.encode([piece])[0]
            data.write(labels.astype(dtype).tobytes())
            unknown += int(np.count_nonzero(labels == UNKNOWN))
            tokens[part] += len(labels)
            characters[part] += len(piece or "")
            if part == TESTING and piece is not None:
                testing.write(piece)
    if tokens[TRAINING] <= schema.context:
        raise DataError(
            f"the training part has {tokens[TRAINING]:,} tokens, but a window takes {schema.context + 1:,}; give a "
            f"longer text, or read shorter windows: --set data.context={max(1, (tokens[TRAINING] - 1) // 4)}"
        )
    starts = np.cumsum([0, *tokens]).tolist()
    counts = {
        name: count_windows(last - first, schema.context, i == TRAINING)
        for i, (name, (first, last)) in enumerate(zip(PARTS, pairwise(starts), strict=True))
    }
    return StreamAbout(
        schema.name,
        counts,
        starts,
        dict(zip(PARTS, characters, strict=True)),
        [tokenizer.size],
        [unknown],
        texts,
        asdict(schema),
        list(shares),
        [schema.context],
    )


def in_parts(pieces: Iterable[str | None], bounds: Iterable[int], near: int) -> Iterator[tuple[int, str | None]]:
    """(part, piece): the first part ends at bounds[0] characters or at a line end up to `near` after it, and so on."""
    part, done, left = 0, 0, list(bounds)
    for piece in pieces:
        if piece is None:
            yield part, None
            continue
        while left and done + len(piece) >= left[0]:
            cut = _near_cut(piece, left.pop(0) - done, near)
            yield part, piece[:cut]
            part, done, piece = part + 1, done + cut, piece[cut:]
        if piece:
            yield part, piece
        done += len(piece)


def _near_cut(piece: str, at: int, near: int) -> int:
    """A line end soon after a place, else a space, else the place itself."""
    at = max(0, at)
    if at and piece[at - 1] == "\n":
        return at
    line, space = piece.find("\n", at, at + near), piece.find(" ", at, at + near)
    return line + 1 if line >= 0 else space if space >= 0 else at
