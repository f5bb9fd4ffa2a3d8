"""Networks that write a text about an image: an encoder of images, and the decoder of a translator, unchanged."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import CellKind, ConvolutionStack, ForwardContext, Initializer, Perceptron, State
from dragoman.layers.convolution import POOLED
from dragoman.networks.blocks import (
    EncoderBlock,
    Packed,
    Stream,
    finish,
    new_normalization,
    new_row_embedding,
    one_bias,
)
from dragoman.networks.encoder_decoder import RecurrentDecoder
from dragoman.networks.images import ImageSizes, choose_patch, patch_batch, standardize_images
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
from dragoman.networks.vision_transformer import Patch
from dragoman.operations import reshape


class CaptionSizes(ImageSizes):
    """What the data decide of a network that writes about images."""

    target_vocabulary: int = Field(ge=1, le=MOST_LABELS)


class PatchTransformerSettings(TransformerSettings):
    """What is chosen of a Transformer that writes about images; its patches have learned positions.

    patch      height and width of a patch in pixels, or one number for both; None: by the size of the images
    positions  of the labels of captions
    """

    patch: Patch | None = None

    @model_validator(mode="after")
    def _images_have_no_table(self) -> Self:
        if self.tied == "all":
            raise ValueError("tied='all' shares the table of the sources, but images have none; use tied='output'")
        return self


class PatchTransformerConfiguration(PatchTransformerSettings, CaptionSizes):
    """Everything a PatchTransformer is built from."""

    @property
    def patch_size(self) -> tuple[int, int]:
        return self.patch or choose_patch(self.height, self.width)

    @property
    def grid(self) -> tuple[int, int]:
        """Patches down and across."""
        return self.height // self.patch_size[0], self.width // self.patch_size[1]

    @model_validator(mode="after")
    def _patches_fit(self) -> Self:
        down, across = self.patch_size
        if self.height % down or self.width % across:
            raise ValueError(
                f"patches of {down} x {across} pixels do not cut images of {self.height} x {self.width} exactly; "
                "choose network.patch so that it divides both sides"
            )
        return self

    @property
    def inputs(self) -> int:
        """Numbers of a patch."""
        return self.patch_size[0] * self.patch_size[1] * self.channels

    def encoder(self) -> Self:
        """The settings of the encoder: every patch has a position that is learned."""
        return self.model_copy(update={"positions": "learned", "maximum_length": self.grid[0] * self.grid[1]})

    def count(self) -> int:
        """Count the parameters without building the network."""
        return count_patch_transformer(self)

    def summary(self) -> str:
        return f"{super().summary()}, patches of {self.patch_size[0]} x {self.patch_size[1]}"


class PatchTransformer(TransformerDecoder):
    """Patches of an image -> encoders; caption -> decoders, which look at the patches -> one logit per label."""

    configuration: PatchTransformerConfiguration

    def __init__(self, configuration: PatchTransformerConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype, constants=c.constants())
        initial, sites, seen = Initializer(seed, dtype), itertools.count(), c.encoder()
        self.patch_embedding = new_row_embedding(seen, c.inputs, initial, sites)
        table: Any = self.patch_embedding.position_table
        value_of(table)[...] *= c.depth**0.5  # rows of standardized pixels are large, and would hide small positions
        self.encoder = one_bias(EncoderBlock(seen, initial, sites) for _ in range(c.layers))
        self.encoder_normalization = new_normalization(seen, initial, sites) if c.block == "pre" else None
        self._build_decoder(c, initial, sites)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, Packed]:
        c = self.configuration
        rows = patch_batch(source, c, c.patch_size, self.theta.dtype)
        stream = Stream(self.patch_embedding(rows.labels, rows.positions, run, rows.first_row))
        for block in self.encoder:
            stream = block(stream, rows, run)
        return finish(self.encoder_normalization, stream, run, rows.first_row), rows


class ConvolutionalDecoderSettings(Configuration):
    """What is chosen of a convolutional encoder with a recurrent decoder.

    filters  of each convolution, after which 2 x 2 pixels become one
    window   pixels of a side that a filter sees
    depth    of the embedded labels
    units    of the decoder
    """

    cell: CellKind = "gru"
    filters: tuple[int, ...] = (16, 32, 64)
    window: Literal[3, 5, 7] = 3
    depth: int = Field(default=64, ge=1, le=WIDEST)
    units: int = Field(default=256, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "tanh"
    dropout: float = Field(default=0.0, ge=0, lt=1)

    context: ClassVar[str] = "initial"  # the decoder sees the image in its first state alone

    @model_validator(mode="after")
    def _some_filters(self) -> Self:
        if not self.filters or min(self.filters) < 1 or max(self.filters) > WIDEST:
            raise ValueError(f"filters are a number for each convolution, such as [16, 32], got {list(self.filters)}")
        return self

    def summary(self) -> str:
        """Describe sizes, in the book's letters, in one line."""
        filters = ", ".join(map(str, self.filters))
        return (
            f"{filters} filters of {self.window} x {self.window}, p = {self.depth}, m = {self.units}, L = {self.layers}"
        )


class ConvolutionalDecoderConfiguration(ConvolutionalDecoderSettings, CaptionSizes):
    """Everything a ConvolutionalDecoder is built from."""

    @model_validator(mode="after")
    def _large_enough(self) -> Self:
        if min(self.height, self.width) < POOLED ** len(self.filters):
            raise ValueError(
                f"images of {self.height} x {self.width} pixels are too small to be halved {len(self.filters)} times; "
                "resize them, or set network.filters to fewer convolutions"
            )
        return self

    @property
    def flat(self) -> int:
        """Numbers that the convolutions leave of an image."""
        shrunk: int = POOLED ** len(self.filters)
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
        self.encoder = ConvolutionStack(c.channels, c.filters, c.window, initial)
        self.first_state = tuple(Perceptron(c.flat, c.units, initial, "tanh") for _ in range(c.states))
        self._build_decoder(initial, sites)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, list[State]]:
        c = self.configuration
        x = self.encoder(standardize_images(source, c, self.theta.dtype))
        x = reshape(x, shape=(len(source), c.flat))
        vectors, parts = [perceptron(x) for perceptron in self.first_state], c.states // c.layers
        return x, [tuple(vectors[i : i + parts]) for i in range(0, c.states, parts)]

    def attention(self, batch: Batch) -> dict[str, Array]:
        """Nothing: the decoder sees the image in its first state alone."""
        return {}

    def alignment(self, batch: Batch) -> Array:
        raise ConfigurationError(
            "this network has no attention: its decoder begins with a vector of the whole image; "
            "`--architecture transformer` trains one that looks at patches"
        )
