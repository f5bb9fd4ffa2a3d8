"""The architectures for translation by name: the network, the settings that the name implies, and the presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dragoman.networks.encoder_decoder import EncoderDecoder, RecurrentConfiguration, RecurrentSettings
from dragoman.networks.presets import PRESETS
from dragoman.networks.transformer import Transformer, TransformerConfiguration, TransformerSettings

SequenceModel: TypeAlias = Transformer | EncoderDecoder
ModelSettings: TypeAlias = TransformerSettings | RecurrentSettings
ModelConfiguration: TypeAlias = TransformerConfiguration | RecurrentConfiguration

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


@dataclass(frozen=True)
class Architecture:
    """A network class and the settings that the name of the architecture implies."""

    settings: type[TransformerSettings] | type[RecurrentSettings]
    configuration: type[TransformerConfiguration] | type[RecurrentConfiguration]
    network: type[Transformer] | type[EncoderDecoder]
    presets: Mapping[str, Mapping[str, int]]
    named: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, settings: Mapping[str, Any], vocabularies: tuple[int, int]) -> ModelConfiguration:
        source, reference = vocabularies
        return self.configuration(**settings, source_vocabulary=source, target_vocabulary=reference)

    def build(self, configuration: ModelConfiguration, seed: int = 0, dtype: Any = np.float32) -> SequenceModel:
        network: Any = self.network
        built: SequenceModel = network(configuration, seed, dtype)
        return built


ARCHITECTURES: dict[str, Architecture] = {
    "transformer": Architecture(TransformerSettings, TransformerConfiguration, Transformer, PRESETS)
}
for cell in ("rnn", "lstm", "gru"):
    for ending, context in CONTEXTS.items():
        ARCHITECTURES[cell + ending] = Architecture(
            RecurrentSettings, RecurrentConfiguration, EncoderDecoder, RECURRENT_PRESETS, {"cell": cell, **context}
        )
