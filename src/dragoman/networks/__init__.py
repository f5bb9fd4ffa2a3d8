"""Networks: layers wired into architectures."""

from dragoman.networks.custom import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.networks.network import Configuration, Network
from dragoman.networks.presets import PRESETS, preset
from dragoman.networks.storage import load_weights, save_weights
from dragoman.networks.transformer import Transformer, TransformerConfiguration, TransformerSettings, TransformerState

__all__ = [
    "PRESETS",
    "ClassTokenConfiguration",
    "ClassTokenEncoder",
    "Configuration",
    "Network",
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
