"""The two networks of the custom-net sheet on images: every row of pixels is a row of the sample X."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Value
from dragoman.layers import ForwardContext
from dragoman.networks.custom import ClassTokenEncoder, TwoLayerNetwork
from dragoman.networks.images import ImageSizes
from dragoman.networks.network import Configuration
from dragoman.networks.sizes import MOST_LABELS, WIDEST, check_memory


class SheetSettings(Configuration):
    """What is chosen of a network of the sheet: d, the depth of its hidden rows."""

    depth: int = Field(default=32, ge=1, le=WIDEST)

    def summary(self) -> str:
        return f"d = {self.depth}"

    @property
    def dropout(self) -> float:
        """The sheet has none."""
        return 0.0


class SheetConfiguration(SheetSettings, ImageSizes):
    """A network of the sheet for images of H rows of W C numbers each. (It standardizes every sample by itself.)"""

    outputs: int = Field(ge=1, le=MOST_LABELS)

    @property
    def positions(self) -> int:
        return self.height

    @property
    def inputs(self) -> int:
        return self.width * self.channels

    @property
    def attention_depth(self) -> int:
        return self.depth

    @property
    def classes(self) -> int:
        return self.outputs


class TwoLayerImageConfiguration(SheetConfiguration):
    def count(self) -> int:
        """p, without building the network."""
        hidden = self.depth * (self.inputs + self.positions)
        return hidden + self.outputs * (self.depth * self.positions + 1)


class ClassTokenImageConfiguration(SheetConfiguration):
    def count(self) -> int:
        """p, without building the network."""
        return self.depth * (self.inputs + 1 + 3 * self.depth + self.outputs)


def image_rows(batch: Batch, c: SheetConfiguration) -> Batch:
    """Images [B, H, W, C] as sequences of H rows of W C numbers."""
    if batch.labels.shape != (len(batch), c.height, c.width, c.channels):
        expected = (c.height, c.width, c.channels)
        raise ShapeError(f"expected images of shape {expected}, one for each sample, got an array {batch.labels.shape}")
    rows = batch.labels.reshape(len(batch) * c.positions, c.inputs)
    offsets = np.arange(len(batch) + 1) * c.positions
    return Batch(rows, offsets, first_row=batch.first_sequence * c.positions, first_sequence=batch.first_sequence)


class TwoLayerImages(TwoLayerNetwork):
    """The two-layer network of the sheet, section 1, on images."""

    configuration: Any

    def __init__(self, configuration: TwoLayerImageConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        check_memory(configuration.count(), dtype)
        c: Any = configuration
        super().__init__(c, seed, dtype)

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return super().__call__(image_rows(batch, self.configuration), run)


class ClassTokenImages(ClassTokenEncoder):
    """The encoder of the sheet, section 2, on images."""

    configuration: Any

    def __init__(self, configuration: ClassTokenImageConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        check_memory(configuration.count(), dtype)
        c: Any = configuration
        super().__init__(c, seed, dtype)

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return super().__call__(image_rows(batch, self.configuration), run)
