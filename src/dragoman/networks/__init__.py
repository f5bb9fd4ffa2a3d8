"""Networks: layers wired into architectures."""

from dragoman.networks.architectures import (
    ARCHITECTURES,
    Architecture,
    ModelConfiguration,
    ModelSettings,
    SequenceModel,
)
from dragoman.networks.custom import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.networks.encoder_decoder import (
    EncoderDecoder,
    RecurrentConfiguration,
    RecurrentSettings,
    RecurrentState,
)
from dragoman.networks.network import Configuration, Network
from dragoman.networks.presets import PRESETS, preset
from dragoman.networks.recurrent import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.networks.storage import load_weights, save_weights
from dragoman.networks.transformer import Transformer, TransformerConfiguration, TransformerSettings, TransformerState

__all__ = [
    "ARCHITECTURES",
    "PRESETS",
    "Architecture",
    "ClassTokenConfiguration",
    "ClassTokenEncoder",
    "Configuration",
    "EncoderDecoder",
    "ModelConfiguration",
    "ModelSettings",
    "Network",
    "RecurrentConfiguration",
    "RecurrentNetwork",
    "RecurrentNetworkConfiguration",
    "RecurrentSettings",
    "RecurrentState",
    "SequenceModel",
    "Transformer",
    "TransformerConfiguration",
    "TransformerSettings",
    "TransformerState",
    "TwoLayerConfiguration",
    "TwoLayerNetwork",
    "load_weights",
    "preset",
    "save_weights",
]
