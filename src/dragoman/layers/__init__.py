"""Layers: parameters and the operations they go into."""

from dragoman.layers.attention import CrossAttention, SelfAttention
from dragoman.layers.attentional_decoder import AttentionalDecoder
from dragoman.layers.cache import CrossKV, KVCache
from dragoman.layers.carried import CarriedStates
from dragoman.layers.convolution import Convolution, ConvolutionStack
from dragoman.layers.embedding import Embedding, Positions, RowEmbedding
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.layers.normalization import Normalization
from dragoman.layers.perceptron import FeedForward, Perceptron
from dragoman.layers.pooling import Pooling, PoolingKind
from dragoman.layers.recurrent import Cell, CellKind, Recurrent, State, advance, select_states
from dragoman.layers.scores import Keys, Score, ScoredAttention

__all__ = [
    "AttentionalDecoder",
    "CarriedStates",
    "Cell",
    "CellKind",
    "Convolution",
    "ConvolutionStack",
    "CrossAttention",
    "CrossKV",
    "Embedding",
    "FeedForward",
    "ForwardContext",
    "Initializer",
    "KVCache",
    "Keys",
    "Layer",
    "Normalization",
    "Perceptron",
    "Pooling",
    "PoolingKind",
    "Positions",
    "Recurrent",
    "RowEmbedding",
    "Score",
    "ScoredAttention",
    "SelfAttention",
    "State",
    "advance",
    "select_states",
]
