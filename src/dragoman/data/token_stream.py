"""A text as one long sequence of tokens on disk, read through a memory map in windows: it may be of any size.

The parts are contiguous ranges of the text, by default its first 90 %, the next 5 % and the last 5 %, cut at line ends:
no window of one part reaches into another, and the tokenizer is learnt from the training part alone.

A window is a sample: it reads `context` tokens and must say the next one after each of them. In training the windows
begin at multiples of the context plus a shift that is drawn anew for every epoch, so that a text is not always cut at
the same places.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import END, UNKNOWN, Batch
from dragoman.data.batching import Batching, BatchStream
from dragoman.data.cache import cached, dataset_key, file_digest
from dragoman.data.dataset import Dataset, Part, published
from dragoman.data.documents import document_by_bytes
from dragoman.data.source import NAME_ENCODING, Source
from dragoman.data.splits import DEFAULT_SHARES, PARTS, TESTING, TRAINING
from dragoman.data.stores import mapped
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

VERSION = 1
CHUNK = 1 << 20  # characters tokenised together
NEAR = 0.01  # of the text: how far beyond its share a part may end, to end with a line
TRACKS = 16  # in which the state of a recurrent network is carried through a part that is evaluated
FEW_LABELS = 1 << 16  # fit into two bytes each


@dataclass(frozen=True)
class TextFiles:
    """Plain texts, read one after the other each time they are iterated over, in bounded memory."""

    names: tuple[str, ...]
    encoding: str = "utf-8"

    def digest(self) -> str:
        """Of the contents and of how they are read."""
        contents = [file_digest(Path(name)) for name in self.names]
        return hashlib.sha256("\n".join([*contents, self.encoding]).encode()).hexdigest()

    def __iter__(self) -> Iterator[str | None]:
        """Pieces of text that end with a line, or before a space where a line is too long; None between two files."""
        for i, name in enumerate(self.names):
            if i:
                yield None
            yield from self._pieces(Source(name, self.encoding))

    def _pieces(self, source: Source) -> Iterator[str]:
        with source.open() as stream:
            buffered = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
            _refuse_binary(source, buffered)
            text = io.TextIOWrapper(buffered, source.encoding)  # every kind of line end becomes \n
            empty, rest = True, ""
            try:
                while piece := text.read(CHUNK):
                    if "\0" in piece:
                        raise DataError(f"{source.shown} is not text: it has NUL characters; {NAME_ENCODING}")
                    rest += piece.removeprefix("\ufeff") if empty else piece
                    empty, place = False, _last_cut(rest)
                    if place:
                        yield rest[:place]
                        rest = rest[place:]
            except UnicodeError as error:
                raise DataError(f"{source.shown} is not {source.encoding} text: {error}; {NAME_ENCODING}") from None
            finally:
                text.detach()
            if rest:
                yield rest
            elif empty:
                raise DataError(f"{source.shown} is empty; a language model needs a text to learn from")


def _refuse_binary(source: Source, stream: Any) -> None:
    beginning = bytes(stream.peek(512))[:512] if hasattr(stream, "peek") else b""
    kind = document_by_bytes(beginning)
    if kind is not None and len("a".encode(source.encoding)) == 1:
        raise DataError(f"{source.shown} is {kind.what}; a language model is trained on plain text. {kind.advice}")


def _last_cut(text: str) -> int:
    """Where a text can be cut so that its pieces have the same tokens as the whole."""
    return text.rfind("\n") + 1 or (max(0, text.rfind(" ")) or len(text) if len(text) >= CHUNK else 0)


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


@dataclass(frozen=True)
class StreamSchema:
    """How a text becomes tokens and windows."""

    kind: Kind = "characters"
    vocabulary: int | None = None
    context: int = 128
    fields: ClassVar[tuple[str, ...]] = ("text",)
    name: ClassVar[str] = "token stream"

    def __post_init__(self) -> None:
        if self.context < 1:
            raise ConfigurationError(f"a window has at least one token, got data.context = {self.context}")


@dataclass(frozen=True)
class StreamAbout:
    """What a prepared text is, in numbers; saved beside it.

    parts       windows of each part
    bounds      the tokens at which parts begin, and their end
    characters  of each part, line ends counted as one
    texts       how many files it was made of
    """

    schema: str
    parts: dict[str, int]
    bounds: list[int]
    characters: dict[str, int]
    vocabularies: list[int]
    unknown: list[int]
    texts: int
    encoding: dict[str, Any]
    shares: list[float]
    longest: list[int]
    truncated: tuple[int, ...] = (0,)
    left_out: int = 0
    stream_version: int = VERSION


class TokenStream(Dataset):
    """A prepared text; nothing is loaded until it is used."""

    schema: Any

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
            version = about.get("stream_version")
        except (OSError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{directory} is not a prepared text: {error}") from None
        if version != VERSION:
            raise FileFormatError(
                f"{directory} has version {version} of prepared texts, this program reads {VERSION}; prepare again"
            )
        self.about = about
        self.schema = StreamSchema(**about["encoding"])
        tokenizer = Tokenizer.load(directory / "text-tokenizer.json")
        self.encoders = {"text": tokenizer}
        self.tokens = mapped(directory / "tokens.data", _dtype(tokenizer.size))
        if len(self.tokens) != about["bounds"][-1]:
            raise FileFormatError(f"{directory}: its files do not belong together; delete the directory and try again")

    def __len__(self) -> int:
        return sum(self.about["parts"].values())

    def part(self, name: str) -> Windows:
        if name not in PARTS:
            raise ConfigurationError(f"there is no part '{name}'; choose one of {', '.join(PARTS)}")
        first, last = self.about["bounds"][PARTS.index(name) :][:2]
        return Windows(self, np.arange(self.about["parts"][name]), first, last)

    def text(self, name: str) -> Iterator[str]:
        """The testing part as it was given, in pieces."""
        if name != PARTS[TESTING]:
            raise ConfigurationError(f"only the testing part is kept as text, not '{name}'")
        with (self.directory / "testing.txt").open(encoding="utf-8", newline="") as file:
            while piece := file.read(CHUNK):
                yield piece


def _dtype(labels: int) -> np.dtype[Any]:
    return np.dtype("<u2" if labels <= FEW_LABELS else "<i4")


@dataclass(frozen=True, eq=False)
class Windows(Part):
    """The windows of a part: tokens first to last - 1 of the stream. Only the last window may be shorter."""

    dataset: TokenStream
    first: int = 0
    last: int = 0

    @property
    def context(self) -> int:
        found: int = self.dataset.schema.context
        return found

    @property
    def predicted(self) -> int:
        """Tokens that have another one before them."""
        return max(0, self.last - self.first - 1)

    def lengths(self) -> Array:
        starts: Array = self.context * self.samples
        lengths: Array = np.minimum(self.context, self.predicted - starts)
        return lengths[:, None]

    def batch(self, items: Array) -> Batch:
        return self.windows(self.context * items)

    def windows(self, places: Array, length: int | None = None) -> Batch:
        """Windows that begin at these places of the part."""
        most = self.context if length is None else length
        lengths = np.minimum(most, self.predicted - places)
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        rows = np.arange(offsets[-1]) + np.repeat(self.first + places - offsets[:-1], lengths)
        tokens = self.dataset.tokens
        return Batch(tokens[rows].astype(np.int32), offsets, tokens[rows + 1].astype(np.int32))

    def tracks(self, count: int = TRACKS) -> Iterator[Batch]:
        """The part as so many tracks side by side, each batch going on where the last one ended; all but the last few
        tokens, fewer than there are tracks."""
        count = max(1, min(count, self.predicted // self.context))
        length = self.predicted // count
        for t in range(0, length, self.context):
            found = self.windows(np.arange(count) * length + t, min(self.context, length - t))
            yield replace(found, continues=t > 0)


def count_windows(tokens: int, context: int, training: bool) -> int:
    """Windows of a part: in training those that fit for every shift, else all, the last one shorter."""
    if training:
        return max(int(tokens > context), (tokens - context) // context)
    return max(0, -(-(tokens - 1) // context))


class WindowStream(BatchStream):
    """Windows in random order, shifted by another number of tokens in every epoch."""

    samples: Windows

    def _make_plan(self) -> list[Array]:
        part, rng = self.samples, np.random.default_rng([self.seed, self.epoch, 1])
        room = min(part.context - 1, part.predicted - part.context * len(part))
        self._shift = int(rng.integers(room + 1))
        return super()._make_plan()

    def _batch(self, items: Array) -> Batch:
        return self.samples.windows(self._shift + self.samples.context * items)


class TrackStream(BatchStream):
    """Tracks of contiguous text side by side: batches go on where the last ended, until the end of the epoch.

    Where the tracks begin is drawn anew for every epoch.
    """

    samples: Windows

    def _make_plan(self) -> list[Array]:
        part, c = self.samples, self.samples.context
        tracks = max(1, round(_tracks(self.batching, c) * self.batching.factor(self.epoch)))
        self.tracks = min(tracks, part.predicted // c)
        steps = part.predicted // (self.tracks * c)
        rng = np.random.default_rng([self.seed, self.epoch, 1])
        self._shift = int(rng.integers(part.predicted - self.tracks * steps * c + 1))
        return [np.arange(self.tracks) * steps + t for t in range(steps)]

    def _batch(self, items: Array) -> Batch:
        found = self.samples.windows(self._shift + self.samples.context * items)
        return replace(found, continues=self.position > 1)


def _tracks(batching: Batching, context: int) -> int:
    return batching.samples if batching.tokens is None else max(1, batching.tokens // context)


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
        (work / "text-tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
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
    dtype, unknown = _dtype(tokenizer.size), 0
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
