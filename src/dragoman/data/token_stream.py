"""A text as one long sequence of tokens on disk, read through a memory map: it may be of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dragoman.data.dataset import Dataset
from dragoman.data.schema import Fields
from dragoman.data.splits import PARTS, TESTING
from dragoman.data.stores import mapped
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.data.windows import Windows
from dragoman.errors import ConfigurationError, FileFormatError

VERSION = 2
CHUNK = 1 << 20  # characters read together
FEW_LABELS = 1 << 16  # fit into two bytes each


@dataclass(frozen=True)
class StreamSchema(Fields):
    """How a text becomes tokens and windows."""

    kind: Kind = "characters"
    vocabulary: int | None = None
    context: int = 128

    name: ClassVar[str] = "token stream"
    fields: ClassVar[tuple[str, ...]] = ("text",)
    encoders: ClassVar[Mapping[str, type[Any]]] = {"text": Tokenizer}

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
    version: int = VERSION


class TokenStream(Dataset):
    """A prepared text; nothing is loaded until it is used."""

    schema: Any  # a StreamSchema
    version = VERSION

    def _open(self) -> None:
        self.tokens = mapped(self.directory / "tokens.data", token_dtype(self.encoders["text"].size))
        if len(self.tokens) != self.about["bounds"][-1]:
            raise FileFormatError(
                f"{self.directory}: its files do not match each other; delete the directory and try again"
            )

    def __len__(self) -> int:
        return sum(self.about["parts"].values())

    def part(self, name: str) -> Windows:
        if name not in PARTS:
            raise ConfigurationError(f"unknown part '{name}'; available: {', '.join(PARTS)}")
        first, last = self.about["bounds"][PARTS.index(name) :][:2]
        return Windows(self, np.arange(self.about["parts"][name]), first, last)

    def text(self, name: str) -> Iterator[str]:
        """The testing part as it was given, in pieces."""
        if name != PARTS[TESTING]:
            raise ConfigurationError(f"only the testing part is kept as text, not '{name}'")
        with (self.directory / "testing.txt").open(encoding="utf-8", newline="") as file:
            while piece := file.read(CHUNK):
                yield piece


def token_dtype(labels: int) -> np.dtype[Any]:
    return np.dtype("<u2" if labels <= FEW_LABELS else "<i4")
