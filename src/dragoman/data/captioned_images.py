"""Images with captions: pixels, and a caption as labels with start and end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import UNKNOWN, Batch
from dragoman.data.colour_captions import ColourCaptions
from dragoman.data.images import ImageEncoder, ImageSchema
from dragoman.data.images.schema import PIXEL
from dragoman.data.pair_encoding import add_marks
from dragoman.data.schema import Encoders, Texts
from dragoman.data.stores import Store, TextStore
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

LONGEST = 128  # labels of a caption, start and end included


@dataclass(frozen=True)
class CaptionedImages(ImageSchema):
    """How captioned images become numbers. An image with several captions is several samples, all in one part.

    vocabulary  of the captions; None derives it from the training part
    maximum     longest caption in labels, start and end included; what is longer is cut
    """

    kind: Kind = "wordpiece"
    vocabulary: int | None = None
    maximum: int = LONGEST

    name: ClassVar[str] = "captioned images"
    fields: ClassVar[tuple[str, ...]] = ("image", "caption")
    encoders: ClassVar[Mapping[str, type[Any]]] = {
        "image": ImageEncoder,
        "caption": Tokenizer,
        "colours": ColourCaptions,
    }
    samples: ClassVar[str] = "captions"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.maximum < 3:
            raise ConfigurationError(
                f"a caption has at least a start, a word and an end, got a maximum of {self.maximum}"
            )

    def learn_in(self, work: Path, training: Array) -> Encoders:
        pixels = self.pixels(Store(work / "image-values", PIXEL))
        captions = TextStore(work / "caption-texts")
        samples = ((pixels[i], captions.text(int(i))) for i in training)
        return {**super().learn_in(work, training), "colours": ColourCaptions.learn(samples)}

    def learn(self, texts: Texts) -> Encoders:
        return {"caption": Tokenizer.train(texts("caption"), self.kind, self.vocabulary)}

    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        rows = []
        for labels in encoders["caption"].encode(values[0]):
            marked, cut = add_marks(labels, self.maximum)
            rows.append(marked)
            counts["truncated", "caption"] += cut
            counts["unknown", "caption"] += int(np.count_nonzero(labels == UNKNOWN))
        return [rows]

    def lengths(self, stores: Sequence[Store], items: Array) -> Array:
        """[n, 1] labels of the captions"""
        return stores[1].lengths(items)[:, None]

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        """Captions; their sources are the images [B, H, W, C] uint8."""
        source = Batch(self.images(stores, items), np.arange(len(items) + 1))
        return Batch.shifted(*stores[1].gather(items), source)
