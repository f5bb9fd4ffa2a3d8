"""Networks: layers wired into architectures."""

from dragoman.networks.architectures import (
    ARCHITECTURES,
    ENCODERS,
    FORECASTERS,
    IMAGE_DECODERS,
    IMAGE_ENCODERS,
    LANGUAGE_MODELS,
    TEXT_ENCODERS,
    AnyEncoder,
    AnyEncoderConfiguration,
    AnyLanguageModel,
    AnyLanguageModelConfiguration,
    Architecture,
    ModelConfiguration,
    ModelSettings,
    SequenceModel,
)
from dragoman.networks.bag import (
    Bag,
    BagConfiguration,
    BagSettings,
)
from dragoman.networks.convolutional import (
    Convolutional,
    ConvolutionalConfiguration,
    ConvolutionalSettings,
)
from dragoman.networks.custom import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.networks.encoder import (
    Encoder,
    EncoderConfiguration,
    EncoderSettings,
)
from dragoman.networks.encoder_decoder import (
    EncoderDecoder,
    RecurrentConfiguration,
    RecurrentSettings,
    RecurrentState,
)
from dragoman.networks.image_decoders import (
    ConvolutionalDecoder,
    ConvolutionalDecoderConfiguration,
    PatchTransformer,
    PatchTransformerConfiguration,
)
from dragoman.networks.language_model import (
    LanguageModel,
    LanguageModelConfiguration,
    LanguageModelSettings,
    LanguageModelState,
)
from dragoman.networks.network import (
    Configuration,
    Network,
)
from dragoman.networks.perceptrons import (
    Perceptrons,
    PerceptronsConfiguration,
)
from dragoman.networks.presets import (
    PRESETS,
    preset,
)
from dragoman.networks.recurrent import (
    RecurrentNetwork,
    RecurrentNetworkConfiguration,
)
from dragoman.networks.recurrent_models import (
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    RecurrentEncoderSettings,
    RecurrentLanguageModel,
    RecurrentLanguageModelConfiguration,
    RecurrentLanguageModelSettings,
    RecurrentLanguageModelState,
)
from dragoman.networks.storage import (
    load_weights,
    save_weights,
)
from dragoman.networks.transformer import (
    Transformer,
    TransformerConfiguration,
    TransformerSettings,
    TransformerState,
)
from dragoman.networks.vision_transformer import (
    VisionTransformer,
    VisionTransformerConfiguration,
    VisionTransformerSettings,
)

__all__ = [
    "ARCHITECTURES",
    "ENCODERS",
    "FORECASTERS",
    "IMAGE_DECODERS",
    "IMAGE_ENCODERS",
    "LANGUAGE_MODELS",
    "PRESETS",
    "TEXT_ENCODERS",
    "AnyEncoder",
    "AnyEncoderConfiguration",
    "AnyLanguageModel",
    "AnyLanguageModelConfiguration",
    "Architecture",
    "Bag",
    "BagConfiguration",
    "BagSettings",
    "ClassTokenConfiguration",
    "ClassTokenEncoder",
    "Configuration",
    "Convolutional",
    "ConvolutionalConfiguration",
    "ConvolutionalDecoder",
    "ConvolutionalDecoderConfiguration",
    "ConvolutionalSettings",
    "Encoder",
    "EncoderConfiguration",
    "EncoderDecoder",
    "EncoderSettings",
    "LanguageModel",
    "LanguageModelConfiguration",
    "LanguageModelSettings",
    "LanguageModelState",
    "ModelConfiguration",
    "ModelSettings",
    "Network",
    "PatchTransformer",
    "PatchTransformerConfiguration",
    "Perceptrons",
    "PerceptronsConfiguration",
    "RecurrentConfiguration",
    "RecurrentEncoder",
    "RecurrentEncoderConfiguration",
    "RecurrentEncoderSettings",
    "RecurrentLanguageModel",
    "RecurrentLanguageModelConfiguration",
    "RecurrentLanguageModelSettings",
    "RecurrentLanguageModelState",
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
    "VisionTransformer",
    "VisionTransformerConfiguration",
    "VisionTransformerSettings",
    "load_weights",
    "preset",
    "save_weights",
]
