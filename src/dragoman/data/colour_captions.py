"""What one would say of an image who sees its colours alone: what a captioner is compared with."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array

LEVELS = 4  # of each channel that are told apart
LEAST = 0.005  # share of the pixels that a colour has at least


@dataclass(frozen=True)
class ColourCaptions:
    """The most frequent caption of the training images with the same set of colours.

    default  that of all training images, for a set of colours that does not occur
    """

    captions: Mapping[str, str]
    default: str

    file: ClassVar[str] = "captions"

    @property
    def size(self) -> int:
        return len(self.captions)

    @classmethod
    def learn(cls, samples: Iterable[tuple[Array, str]]) -> ColourCaptions:
        """From pixels [H, W, C] and captions; of equally frequent captions the first by name is taken."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for pixels, caption in samples:
            counts[colours_of(pixels)][caption] += 1
        if not counts:
            raise DataError("there are no captions to learn from")
        every: Counter[str] = sum(counts.values(), Counter())
        return cls({key: _most_frequent(counts[key]) for key in sorted(counts)}, _most_frequent(every))

    def caption(self, pixels: Array) -> str:
        return self.captions.get(colours_of(pixels), self.default)

    def to_json(self) -> str:
        return json.dumps({"default": self.default, "colours": dict(self.captions)}, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> ColourCaptions:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pairs = {str(key): str(caption) for key, caption in found["colours"].items()}
            return cls(pairs, str(found["default"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read as captions of colours: {error!r}") from None


def colours_of(pixels: Array) -> str:
    """The set of colours of an image [H, W, C] uint8, each channel in LEVELS levels: 'ab 3f c0'."""
    levels = pixels.reshape(-1, pixels.shape[2]).astype(np.int64) * LEVELS // 256
    numbers = levels @ LEVELS ** np.arange(levels.shape[1])
    found, counts = np.unique(numbers, return_counts=True)
    return " ".join(f"{number:02x}" for number in found[counts >= LEAST * len(numbers)])


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda caption: (-counts[caption], caption))
