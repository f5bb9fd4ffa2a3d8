"""Networks that write a text about an image: an encoder of images, and the decoder of a translator, unchanged."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Value
from dragoman.layers import CellKind, Convolution, ForwardContext, Initializer, Perceptron, State
from dragoman.networks.blocks import (
    EncoderBlock,
    Layout,
    Packed,
    Stream,
    finish,
    new_normalization,
    new_row_embedding,
    one_bias,
)
from dragoman.networks.encoder_decoder import RecurrentDecoder
from dragoman.networks.network import Configuration
from dragoman.networks.sizes import (
    MOST_LABELS,
    MOST_LAYERS,
    WIDEST,
    check_memory,
    count_convolutional_decoder,
    count_patch_transformer,
)
from dragoman.networks.transformer import TransformerDecoder, TransformerSettings
from dragoman.operations import max_pool, patches, reshape

WINDOW = 3  # pixels of a convolution, down and across
POOL = 2  # pixels that become one


class CaptionedImageSizes(Configuration):
    """What the data say: images [height, width, channels] with their mean and deviation, and a vocabulary."""

    height: int = Field(ge=1, le=4096)
    width: int = Field(ge=1, le=4096)
    channels: int = Field(ge=1, le=4)
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    target_vocabulary: int = Field(ge=1, le=MOST_LABELS)

    def standardized(self, images: Array, dtype: Any) -> Array:
        """Pixels [B, H, W, C] from 0 to 255 as numbers with mean 0 and deviation 1 over the training part."""
        shape = (self.height, self.width, self.channels)
        if images.shape[1:] != shape:
            raise ShapeError(f"expected images of shape {shape}, the batch holds an array of shape {images.shape}")
        scale = 1 / np.array(self.deviation)
        found: Array = images * (scale / 255).astype(dtype) - (np.array(self.mean) * scale).astype(dtype)
        return found


class PatchTransformerSettings(TransformerSettings):
    """What is chosen of a Transformer that writes about images.

    patch  height and width of the squares that an image is cut into
    """

    patch: int = Field(default=4, ge=1, le=1024)

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if self.tied == "all":
            raise ValueError("tied='all' shares the table of the sources, but images have none; use tied='output'")
        return self


class PatchTransformerConfiguration(PatchTransformerSettings, CaptionedImageSizes):
    """Settings of a PatchTransformer, with the sizes of its images and of its vocabulary."""

    @model_validator(mode="after")
    def _patches_fit(self) -> Self:
        if self.height % self.patch or self.width % self.patch:
            raise ValueError(
                f"images of {self.height} x {self.width} pixels cannot be cut into patches of {self.patch} x "
                f"{self.patch}; set network.patch to a divisor of both"
            )
        return self

    @property
    def patches(self) -> int:
        return (self.height // self.patch) * (self.width // self.patch)

    def encoder(self) -> Self:
        """The settings of the encoder: every patch has a position that is learned."""
        return self.model_copy(update={"positions": "learned", "maximum_length": self.patches})

    def count(self) -> int:
        """Count the parameters without building the network."""
        return count_patch_transformer(self)


class PatchTransformer(TransformerDecoder):
    """Patches of an image -> encoders; caption -> decoders, which look at the patches -> one logit per label."""

    configuration: PatchTransformerConfiguration

    def __init__(self, configuration: PatchTransformerConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites, seen = Initializer(seed, dtype), itertools.count(), c.encoder()
        self.patch_embedding = new_row_embedding(seen, c.patch * c.patch * c.channels, initial, sites)
        self.encoder = one_bias([EncoderBlock(seen, initial, sites) for _ in range(c.layers)])
        self.encoder_normalization = new_normalization(seen, initial, sites) if c.block == "pre" else None
        self._build_decoder(c, initial, sites)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, Packed]:
        c, count = self.configuration, self.configuration.patches
        x = patches(c.standardized(source.labels, self.theta.values.dtype), size=(c.patch, c.patch))
        layout = Layout(count * np.arange(len(source) + 1), count * source.first_row)
        places = np.tile(np.arange(count), len(source))
        stream = Stream(self.patch_embedding(x, places, run, layout.first_row))
        for block in self.encoder:
            stream = block(stream, layout, run)
        return finish(self.encoder_normalization, stream, run, layout.first_row), layout


class ConvolutionalDecoderSettings(Configuration):
    """What is chosen of a convolutional encoder with a recurrent decoder.

    filters  of each convolution of 3 x 3 pixels, after which 2 x 2 pixels become one
    depth    of the embedded labels     units  of the decoder
    """

    cell: CellKind = "gru"
    filters: tuple[int, ...] = (16, 32, 64)
    depth: int = Field(default=64, ge=1, le=WIDEST)
    units: int = Field(default=128, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "tanh"
    dropout: float = Field(default=0.0, ge=0, lt=1)

    context: ClassVar[str] = "initial"  # the decoder sees the image in its first state alone

    @model_validator(mode="after")
    def _some_filters(self) -> Self:
        if not self.filters or min(self.filters) < 1 or max(self.filters) > WIDEST:
            raise ValueError(f"filters are one number for each convolution, such as [16, 32], got {self.filters}")
        return self

    def summary(self) -> str:
        """Describe sizes, in the book's letters, in one line."""
        filters = ", ".join(map(str, self.filters))
        return f"convolutions of {filters} filters, p = {self.depth}, m = {self.units}, L = {self.layers}"


class ConvolutionalDecoderConfiguration(ConvolutionalDecoderSettings, CaptionedImageSizes):
    """Settings of a ConvolutionalDecoder, with the sizes of its images and of its vocabulary."""

    @model_validator(mode="after")
    def _something_is_left(self) -> Self:
        if min(self.height, self.width) < POOL ** len(self.filters):
            raise ValueError(
                f"images of {self.height} x {self.width} pixels cannot be halved {len(self.filters)} times; "
                "set network.filters to fewer convolutions"
            )
        return self

    @property
    def numbers(self) -> int:
        """Numbers that the last convolution leaves of an image."""
        shrunk = POOL ** len(self.filters)
        return (self.height // shrunk) * (self.width // shrunk) * self.filters[-1]

    @property
    def states(self) -> int:
        """Vectors that the decoder begins with."""
        return self.layers * (2 if self.cell == "lstm" else 1)

    def count(self) -> int:
        """Count the parameters without building the network."""
        return count_convolutional_decoder(self)


class ConvolutionalDecoder(RecurrentDecoder):
    """Image -> convolutions -> a vector, the first state of a recurrent decoder -> labels (book, Figure 7.1 d)."""

    configuration: ConvolutionalDecoderConfiguration

    def __init__(
        self, configuration: ConvolutionalDecoderConfiguration, seed: int = 0, dtype: Any = np.float32
    ) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.encoder = [
            Convolution(inputs, outputs, (WINDOW, WINDOW), initial, padding="same", activation="relu")
            for inputs, outputs in itertools.pairwise((c.channels, *c.filters))
        ]
        self.first_state = [Perceptron(c.numbers, c.units, initial, "tanh") for _ in range(c.states)]
        self._build_decoder(initial, sites)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, list[State]]:
        c = self.configuration
        x: Value = c.standardized(source.labels, self.theta.values.dtype)
        for convolution in self.encoder:
            x = max_pool(convolution(x), size=(POOL, POOL))
        x = reshape(x, shape=(len(source), c.numbers))
        vectors, parts = [perceptron(x) for perceptron in self.first_state], c.states // c.layers
        return x, [tuple(vectors[i : i + parts]) for i in range(0, c.states, parts)]

    def attention(self, batch: Batch) -> dict[str, Array]:
        """None: the decoder sees the image in its first state alone."""
        return {}

    def alignment(self, batch: Batch) -> Array:
        raise ConfigurationError(
            "this network has no attention: its decoder begins with a vector of the whole image; "
            "`--architecture transformer` trains one that looks at patches"
        )
