"""What networks that read images have in common: standardized pixels, and patches as the rows of a batch."""

from __future__ import annotations

import functools
import math
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, value_of
from dragoman.networks.network import Configuration
from dragoman.operations import patches

LARGEST = 1024  # pixels of a side
SIDES = 7  # patches of a side that are aimed at
LEAST_PATCHES = (4, 2)  # pixels of a side; the second where no other patch fits


class ImageSizes(Configuration):
    """What the data decide of a network that reads images.

    mean, deviation  of each channel of pixels / 255 in the training part
    """

    height: int = Field(ge=1, le=LARGEST)
    width: int = Field(ge=1, le=LARGEST)
    channels: int = Field(ge=1, le=3)
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @model_validator(mode="after")
    def _a_number_for_each_channel(self) -> Self:
        if len(self.mean) != self.channels or len(self.deviation) != self.channels or min(self.deviation) <= 0:
            raise ValueError("mean and deviation are a number for each channel, deviation above 0")
        return self


def standardize_images(batch: Batch, sizes: ImageSizes, dtype: Any) -> Array:
    """[B, H, W, C] (pixels / 255 - mean) / deviation of a batch whose labels are images [B, H, W, C]"""
    shape = (sizes.height, sizes.width, sizes.channels)
    if batch.labels.shape != (len(batch), *shape):
        raise ShapeError(f"expected images of shape {shape}, one for each sample, got an array {batch.labels.shape}")
    deviation = np.asarray(sizes.deviation)
    scale, offset = 1 / (255 * deviation), np.asarray(sizes.mean) / deviation
    x: Array = batch.labels * scale.astype(dtype) - offset.astype(dtype)
    return x


def patch_batch(batch: Batch, sizes: ImageSizes, patch: tuple[int, int], dtype: Any) -> Batch:
    """The patches of each image as the rows of a sequence; dropout counts them over the whole batch."""
    width = patch[0] * patch[1] * sizes.channels
    return batch.derive(functools.partial(_cut_into_patches, sizes=sizes, patch=patch, dtype=dtype), width)


def _cut_into_patches(batch: Batch, sizes: ImageSizes, patch: tuple[int, int], dtype: Any) -> Batch:
    rows = value_of(patches(standardize_images(batch, sizes, dtype), size=patch))
    count = (sizes.height // patch[0]) * (sizes.width // patch[1])
    offsets = np.arange(len(batch) + 1) * count
    return Batch(rows, offsets, first_row=batch.first_sequence * count, first_sequence=batch.first_sequence)


def choose_patch(height: int, width: int) -> tuple[int, int]:
    """Patches of 4 x 4 pixels or more that cut an image exactly, about seven for a side: 4 x 4 of 8 x 8 and of
    28 x 28 pixels, 8 x 8 of 64 x 64. Where the sides allow none of them, smaller ones."""
    return _patch_side(height), _patch_side(width)


def _patch_side(length: int) -> int:
    for least in LEAST_PATCHES:
        sides = [side for side in range(least, length // 2 + 1) if length % side == 0]
        if sides:
            return min(sides, key=lambda side: abs(math.log(length / side / SIDES)))
    raise ConfigurationError(
        f"{length} pixels cannot be cut into equal patches; resize the images, such as --resize "
        f"{length + 1}x{length + 1}, or choose --architecture convolutional"
    )
