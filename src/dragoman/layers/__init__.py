"""Layers: parameters and the operations they go into."""

from dragoman.layers.attention import CrossAttention, SelfAttention
from dragoman.layers.cache import Memory, Past
from dragoman.layers.embedding import Embedding, Positions
from dragoman.layers.layer import Initial, Layer, Run
from dragoman.layers.normalization import Normalization
from dragoman.layers.perceptron import FeedForward, Perceptron

__all__ = [
    "CrossAttention",
    "Embedding",
    "FeedForward",
    "Initial",
    "Layer",
    "Memory",
    "Normalization",
    "Past",
    "Perceptron",
    "Positions",
    "Run",
    "SelfAttention",
]
