"""The architectures of each task, by name: which network, what its name already says, and its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from dragoman.networks.bag import Bag, BagConfiguration, BagSettings
from dragoman.networks.convolutional import Convolutional, ConvolutionalConfiguration, ConvolutionalSettings
from dragoman.networks.custom_images import (
    ClassTokenImageConfiguration,
    ClassTokenImages,
    SheetSettings,
    TwoLayerImageConfiguration,
    TwoLayerImages,
)
from dragoman.networks.encoder import Encoder, EncoderConfiguration, EncoderSettings
from dragoman.networks.encoder_decoder import EncoderDecoder, RecurrentConfiguration, RecurrentSettings
from dragoman.networks.image_decoders import (
    ConvolutionalDecoder,
    ConvolutionalDecoderConfiguration,
    ConvolutionalDecoderSettings,
    PatchTransformer,
    PatchTransformerConfiguration,
    PatchTransformerSettings,
)
from dragoman.networks.language_model import LanguageModel, LanguageModelConfiguration, LanguageModelSettings
from dragoman.networks.network import Configuration, Network
from dragoman.networks.presets import PRESETS
from dragoman.networks.recurrent_models import (
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    RecurrentEncoderSettings,
    RecurrentLanguageModel,
    RecurrentLanguageModelConfiguration,
    RecurrentLanguageModelSettings,
)
from dragoman.networks.transformer import Transformer, TransformerConfiguration, TransformerSettings
from dragoman.networks.vision_transformer import (
    VisionTransformer,
    VisionTransformerConfiguration,
    VisionTransformerSettings,
)

SequenceModel: TypeAlias = Transformer | EncoderDecoder
ModelSettings: TypeAlias = TransformerSettings | RecurrentSettings
ModelConfiguration: TypeAlias = TransformerConfiguration | RecurrentConfiguration
AnyEncoder: TypeAlias = Encoder | RecurrentEncoder
AnyEncoderConfiguration: TypeAlias = EncoderConfiguration | RecurrentEncoderConfiguration
AnyLanguageModel: TypeAlias = LanguageModel | RecurrentLanguageModel
AnyLanguageModelConfiguration: TypeAlias = LanguageModelConfiguration | RecurrentLanguageModelConfiguration

RECURRENT_PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 64, "units": 128, "layers": 1},
    "medium": {"depth": 128, "units": 256, "layers": 1},
    "large": {"depth": 256, "units": 512, "layers": 2},
}
CONTEXTS: dict[str, dict[str, Any]] = {
    "": {"context": "initial"},
    "-context": {"context": "every_step"},
    "-attention": {"context": "attention", "bidirectional": True},
}
CELLS = ("rnn", "lstm", "gru")
C = TypeVar("C", bound=Configuration)
N = TypeVar("N", bound=Network)


@dataclass(frozen=True)
class Architecture(Generic[C, N]):
    """A network, and what its name says about its settings."""

    settings: type[Configuration]
    configuration: type[C]
    network: type[N]
    presets: Mapping[str, Mapping[str, int]]
    named: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, settings: Mapping[str, Any], sizes: Mapping[str, Any]) -> C:
        """What is chosen, with the sizes that the data decide, by their names in the configuration.

        A translator has source_vocabulary and target_vocabulary; an encoder vocabulary or inputs, and outputs;
        a language model vocabulary; a forecaster also what stands for a window (pooling).
        """
        return self.configuration(**{**settings, **sizes})

    def build(self, configuration: Any, seed: int = 0, dtype: Any = np.float32) -> N:
        network: Any = self.network
        built: N = network(configuration, seed, dtype)
        return built


ARCHITECTURES: dict[str, Architecture[ModelConfiguration, SequenceModel]] = {
    "transformer": Architecture(TransformerSettings, TransformerConfiguration, Transformer, PRESETS),
    **{
        cell + ending: Architecture(
            RecurrentSettings, RecurrentConfiguration, EncoderDecoder, RECURRENT_PRESETS, {"cell": cell, **context}
        )
        for cell in CELLS
        for ending, context in CONTEXTS.items()
    },
}
ENCODERS: dict[str, Architecture[AnyEncoderConfiguration, AnyEncoder]] = {
    "transformer": Architecture(EncoderSettings, EncoderConfiguration, Encoder, PRESETS),
    **{
        cell: Architecture(
            RecurrentEncoderSettings,
            RecurrentEncoderConfiguration,
            RecurrentEncoder,
            RECURRENT_PRESETS,
            {"cell": cell},
        )
        for cell in CELLS
    },
}
BAG_PRESETS: dict[str, dict[str, int]] = {
    "small": {"ngrams": 2, "buckets": 1 << 18},
    "medium": {"ngrams": 2, "buckets": 1 << 20},
    "large": {"ngrams": 3, "buckets": 1 << 21},
}
TEXT_ENCODERS: dict[str, Architecture[Any, Any]] = {
    "bag": Architecture(BagSettings, BagConfiguration, Bag, BAG_PRESETS),
    **ENCODERS,
}
VISION_PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 64, "perceptron_depth": 128, "heads": 4, "layers": 2},
    "medium": {"depth": 96, "perceptron_depth": 192, "heads": 4, "layers": 4},
    "large": {"depth": 192, "perceptron_depth": 384, "heads": 6, "layers": 6},
}
CONVOLUTIONAL_PRESETS: dict[str, dict[str, int]] = {
    "small": {"filters": 16, "units": 64},
    "medium": {"filters": 32, "units": 128},
    "large": {"filters": 64, "units": 256},
}
SHEET_PRESETS: dict[str, dict[str, int]] = {"small": {"depth": 32}, "medium": {"depth": 64}, "large": {"depth": 128}}
IMAGE_ENCODERS: dict[str, Architecture[Any, Any]] = {
    "transformer": Architecture(
        VisionTransformerSettings, VisionTransformerConfiguration, VisionTransformer, VISION_PRESETS
    ),
    "convolutional": Architecture(
        ConvolutionalSettings, ConvolutionalConfiguration, Convolutional, CONVOLUTIONAL_PRESETS
    ),
    "two-layer": Architecture(SheetSettings, TwoLayerImageConfiguration, TwoLayerImages, SHEET_PRESETS),
    "class-token": Architecture(SheetSettings, ClassTokenImageConfiguration, ClassTokenImages, SHEET_PRESETS),
}
IMAGE_DECODER_PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 64, "units": 256, "layers": 1},
    "medium": {"depth": 128, "units": 512, "layers": 1},
    "large": {"depth": 256, "units": 768, "layers": 2},
}
IMAGE_DECODERS: dict[str, Architecture[Any, Any]] = {
    "transformer": Architecture(
        PatchTransformerSettings, PatchTransformerConfiguration, PatchTransformer, VISION_PRESETS
    ),
    **{
        f"convolutional-{cell}": Architecture(
            ConvolutionalDecoderSettings,
            ConvolutionalDecoderConfiguration,
            ConvolutionalDecoder,
            IMAGE_DECODER_PRESETS,
            {"cell": cell},
        )
        for cell in CELLS
    },
}
LANGUAGE_MODELS: dict[str, Architecture[AnyLanguageModelConfiguration, AnyLanguageModel]] = {
    "transformer": Architecture(LanguageModelSettings, LanguageModelConfiguration, LanguageModel, PRESETS),
    **{
        cell: Architecture(
            RecurrentLanguageModelSettings,
            RecurrentLanguageModelConfiguration,
            RecurrentLanguageModel,
            RECURRENT_PRESETS,
            {"cell": cell},
        )
        for cell in CELLS
    },
}
SERIES_PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 32, "perceptron_depth": 64, "heads": 4, "layers": 1},
    "medium": {"depth": 64, "perceptron_depth": 128, "heads": 4, "layers": 2},
    "large": {"depth": 128, "perceptron_depth": 256, "heads": 8, "layers": 3},
}
RECURRENT_SERIES_PRESETS: dict[str, dict[str, int]] = {
    "small": {"depth": 32, "units": 64, "layers": 1},
    "medium": {"depth": 64, "units": 128, "layers": 1},
    "large": {"depth": 128, "units": 256, "layers": 2},
}
FORECASTERS: dict[str, Architecture[AnyEncoderConfiguration, AnyEncoder]] = {  # no position sees a later one
    "transformer": replace(ENCODERS["transformer"], presets=SERIES_PRESETS, named={"causal": True, "pooling": "last"}),
    **{
        cell: replace(ENCODERS[cell], presets=RECURRENT_SERIES_PRESETS, named={"cell": cell, "bidirectional": False})
        for cell in CELLS
    },
}
