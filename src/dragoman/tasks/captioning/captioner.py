"""Captioner: images in, sentences out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.data.colour_captions import ColourCaptions
from dragoman.data.images import ImageEncoder
from dragoman.data.schema import Encoders
from dragoman.data.tokenizer import MARK, Tokenizer
from dragoman.decoding import Hypothesis, decode
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.tasks.captioning.settings import CaptionerMetadata
from dragoman.tasks.inputs import takes_images
from dragoman.tasks.trained_model import TrainedModel
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.text.sentences import collapsed
from dragoman.training.workers import Workers, threads_per_rank

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport
    from dragoman.tasks.captioning.testing import CaptionedImage

MORE = 10  # tokens that a caption may have beyond the longest one trained on
TOGETHER = 64  # images at a time


@dataclass(frozen=True)
class Caption:
    """The captions of an image, best first, with the mean log-probability of their tokens."""

    alternatives: tuple[tuple[str, float], ...]

    @property
    def text(self) -> str:
        return self.alternatives[0][0]

    def as_dict(self) -> dict[str, Any]:
        return {
            "caption": self.text,
            "captions": [{"text": text, "score": round(score, 4)} for text, score in self.alternatives],
        }


@dataclass(frozen=True)
class CaptionAttention:
    """Where each token of a caption looked: weights [tokens, rows, columns] over the patches of the image."""

    pixels: Array
    tokens: list[str]
    weights: Array


class Captioner(TrainedModel):
    """A network with the encoder of its images and the tokenizer of its captions."""

    task = "captioning"
    metadata: CaptionerMetadata

    def __init__(self, network: Any, encoders: Encoders, metadata: CaptionerMetadata) -> None:
        super().__init__(network, encoders, metadata)
        self.workers = Workers(threads_per_rank())

    @property
    def images(self) -> ImageEncoder:
        found: ImageEncoder = self.encoders["image"]
        return found

    @property
    def tokenizer(self) -> Tokenizer:
        found: Tokenizer = self.encoders["caption"]
        return found

    @property
    def colours(self) -> ColourCaptions:
        found: ColourCaptions = self.encoders["colours"]
        return found

    # Images in, captions out

    @takes_images
    def caption(self, images: Sequence[Any], /, resize: bool = False, **options: Any) -> list[str]:
        """A caption for each image: a path, an array [H, W, C] of 0 to 255, or a Picture.

        resize   images of another size than those trained on, instead of an error
        options  of DecodingOptions: beam=4, sample=True, ...
        """
        return [found.text for found in self.captions(images, DecodingOptions(**options), resize)]

    @takes_images
    def captions(
        self, images: Sequence[Any], options: DecodingOptions | None = None, resize: bool = False
    ) -> list[Caption]:
        """Captions with alternatives and scores."""
        options = options or DecodingOptions()
        pixels = self.images.batch(images, resize)
        limit = self.network.maximum_length
        longest = self.metadata.longest + MORE if options.maximum is None else options.maximum
        longest = longest if limit is None else max(1, min(longest, limit - 1))
        rows = [x[None] for x in pixels]
        found = decode(self.network, rows, options.method(), longest, batch=TOGETHER, each=self.workers.map)
        return [Caption(tuple(self._alternative(each) for each in hypotheses)) for hypotheses in found]

    def _alternative(self, hypothesis: Hypothesis) -> tuple[str, float]:
        tokens = len(hypothesis.labels) + hypothesis.finished
        text = collapsed(self.tokenizer.decode([hypothesis.labels])[0])
        return text, hypothesis.log_probability / max(1, tokens)

    # Explaining

    def look(
        self, image: Any, caption: str | None = None, head: int | None = None, resize: bool = False
    ) -> CaptionAttention:
        """Where each token of a caption (by default its own) looked: last decoder, mean of all heads, or one from 1."""
        pixels = self.images.batch([image], resize)
        text = self.captions([pixels[0]])[0].text if caption is None else caption
        labels = self.tokenizer.encode([text])[0]
        batch = Batch(np.array([START, *labels]), np.array([0, len(labels) + 1]), source=Batch(pixels, np.arange(2)))
        weights = self.network.alignment(batch)[0] if head is None else self._head(batch, head)
        rows, columns = self.network.configuration.grid
        tokens = [piece.removeprefix(MARK) for piece in self.tokenizer.pieces([*labels, END])]
        return CaptionAttention(pixels[0], tokens, weights.reshape(len(labels) + 1, rows, columns))

    def _head(self, batch: Batch, head: int) -> Array:
        """[T, patches] the cross-attention of one head of the last decoder."""
        maps = self.network.attention(batch)
        if not maps:
            self.network.alignment(batch)  # says why there is none
        found: list[Array] = list(list(maps.values())[-1][0])
        if head > len(found):
            raise ConfigurationError(f"--head {head}: the last decoder has {len(found)} heads")
        return found[head - 1]

    # Testing analysis

    def evaluate(self, samples: Sequence[CaptionedImage]) -> TaskReport:
        """Compare the captions of a model, and those of one who sees colours alone, with the given ones."""
        from dragoman.tasks.captioning.evaluation import evaluate

        return evaluate(self, samples)
