"""Samples with an image: its pixels go to a memory-mapped store of bytes as they are read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import Batch
from dragoman.data.classes import Classes
from dragoman.data.images.encoder import ImageEncoder, fitting
from dragoman.data.images.picture import LARGEST, Picture, Shape
from dragoman.data.labelled_texts import check_several_classes, train_on_every_class
from dragoman.data.schema import Encoders, Schema, Texts
from dragoman.data.stores import Store, StoreWriter
from dragoman.errors import DataError
from dragoman.graph import Array

PIXEL = np.dtype(np.uint8)


@dataclass(frozen=True)
class ImageSchema(Schema):
    """The base of samples whose first field is an image: a `Picture`, all of one shape. Other fields are texts.

    The texts of the image field are the names of the pictures.
    """

    height: int = 1
    width: int = 1
    channels: int = 1

    stored: ClassVar[tuple[str, ...]] = ("image",)
    dtypes: ClassVar[Mapping[str, np.dtype[Any]]] = {"image": PIXEL}
    samples: ClassVar[str] = "images"

    def __post_init__(self) -> None:
        if max(self.height, self.width) > LARGEST:
            raise DataError(
                f"the images have {self.height} x {self.width} pixels, more than {LARGEST} a side; make them smaller "
                "with --resize, such as --resize 64x64"
            )

    @property
    def shape(self) -> Shape:
        return Shape(self.height, self.width, self.channels)

    def write(self, samples: Iterable[Any], work: Path) -> int:
        """Write names, pixels and the texts of the other fields."""
        count = 0
        with ExitStack() as stack:
            pixels = stack.enter_context(StoreWriter(work / "image-values", 1))
            texts = [stack.enter_context(StoreWriter(work / f"{name}-texts", 1)) for name in self.fields]
            for picture, *others in samples:
                found: Picture = fitting(picture, self.shape)
                pixels.append(found.pixels.tobytes())
                for writer, value in zip(texts, (found.name, *others), strict=True):
                    writer.append(value.encode(errors="surrogateescape"))
                count += 1
        return count

    def keys(self, work: Path) -> Iterator[str]:
        """Equal pictures go to one part."""
        store = Store(work / "image-values", PIXEL)
        for i in range(len(store)):
            yield hashlib.blake2b(store[i].tobytes(), digest_size=16).hexdigest()

    def learn_in(self, work: Path, training: Array) -> Encoders:
        pixels = self.pixels(Store(work / "image-values", PIXEL))
        return {"image": ImageEncoder.learn(pixels, training), **super().learn_in(work, training)}

    def pixels(self, store: Store) -> Array:
        """[n, H, W, C] of all samples, through the memory map"""
        return store.data.reshape(-1, *self.shape)

    def images(self, stores: Sequence[Store], items: Array) -> Array:
        """[B, H, W, C] uint8 of some samples"""
        return self.pixels(stores[0])[items]


@dataclass(frozen=True)
class LabelledImages(ImageSchema):
    """Images with a class each.

    given  the samples came in parts; otherwise those of a class that has none to train on are trained on
    """

    given: bool = False

    name: ClassVar[str] = "labelled images"
    fields: ClassVar[tuple[str, ...]] = ("image", "label")
    encoders: ClassVar[Mapping[str, type[Any]]] = {"image": ImageEncoder, "label": Classes}

    def rewrite(self, work: Path, parts: Array) -> None:
        if not self.given:
            train_on_every_class(work, parts, lambda label: (label,))

    def learn(self, texts: Texts) -> Encoders:
        return {"label": check_several_classes(Classes.learn((label,) for label in texts("label")))}

    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        (labels,) = values
        return [[encoders["label"].encode((label,)) for label in labels]]

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        """Images [B, H, W, C] uint8, each a sample of its own; targets [B]"""
        targets = stores[1].gather(items)[0]
        return Batch(self.images(stores, items), np.arange(len(items) + 1), targets, per="sample")
