"""ImageClassifier: images in, classes with their probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.data.classes import Classes
from dragoman.data.images import ImageEncoder
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.networks import VisionTransformer
from dragoman.tasks.classification.classifier import ClassPrediction, class_prediction
from dragoman.tasks.inputs import takes_images
from dragoman.tasks.trained_model import TrainedModel

TOGETHER = 128  # images that are read at a time


class ImageClassifier(TrainedModel):
    """Tells the class of an image: the name of a file, or an array [H, W] or [H, W, C] of numbers from 0 to 255."""

    task = "image-classification"

    @property
    def classes(self) -> Classes:
        found: Classes = self.encoders["label"]
        return found

    @property
    def images(self) -> ImageEncoder:
        """The size that images must have, and how they are standardized."""
        found: ImageEncoder = self.encoders["image"]
        return found

    def probabilities(self, images: Sequence[Any], resize: bool = False) -> Array:
        """[n, classes]; rows add up to 1. `resize`: images of another size are resized, which is an error otherwise."""
        if isinstance(images, str | Path):
            raise ConfigurationError("a list of images is expected: [image]")
        found = np.zeros((len(images), self.classes.size))
        with fast_compute():
            for start in range(0, len(images), TOGETHER):
                batch = self.batch(images[start : start + TOGETHER], resize)
                z = value_of(self.network.plain(batch)).astype(np.float64)
                e = np.exp(z - z.max(axis=1, keepdims=True))
                found[start : start + TOGETHER] = e / e.sum(axis=1, keepdims=True)
        return found

    def batch(self, images: Sequence[Any], resize: bool = False) -> Batch:
        """The images as the network reads them."""
        return Batch(self.images.batch(images, resize), np.arange(len(images) + 1), per="sample")

    @takes_images
    def predict(self, images: Sequence[Any], resize: bool = False) -> list[ClassPrediction]:
        """The class of each image; the same for an image alone and among others."""
        return [class_prediction(row, self.classes) for row in self.probabilities(images, resize)]

    def attention(self, image: Any, resize: bool = False) -> Array:
        """[layers, heads, T, T] the attention weights of one image; a class token is the last row."""
        if not isinstance(self.network, VisionTransformer):
            raise ConfigurationError(
                f"a model of the architecture '{self.metadata.architecture}' pays no attention to patches; train one "
                "with --architecture transformer"
            )
        maps = self.network.attention(self.batch([image], resize))
        return np.stack([weights[0] for weights in maps.values()])
