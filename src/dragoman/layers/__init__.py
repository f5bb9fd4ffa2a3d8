"""Layers: parameters and the operations they go into."""

from dragoman.layers.attention import CrossAttention, KeysValues, SelfAttention
from dragoman.layers.embedding import Embedding, Positions
from dragoman.layers.layer import Initial, Layer, Run
from dragoman.layers.normalization import Normalization
from dragoman.layers.perceptron import FeedForward, Perceptron

__all__ = [
    "CrossAttention",
    "Embedding",
    "FeedForward",
    "Initial",
    "KeysValues",
    "Layer",
    "Normalization",
    "Perceptron",
    "Positions",
    "Run",
    "SelfAttention",
]
