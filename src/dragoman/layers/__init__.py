"""Layers: parameters and the operations they go into."""

from dragoman.layers.attention import CrossAttention, SelfAttention
from dragoman.layers.attentive import Attentive
from dragoman.layers.cache import Memory, Past
from dragoman.layers.embedding import Embedding, Positions
from dragoman.layers.layer import Initial, Layer, Run
from dragoman.layers.normalization import Normalization
from dragoman.layers.perceptron import FeedForward, Perceptron
from dragoman.layers.recurrent import Cell, CellKind, Recurrent, State, advance, select_states
from dragoman.layers.scores import Looked, Score, ScoredAttention

__all__ = [
    "Attentive",
    "Cell",
    "CellKind",
    "CrossAttention",
    "Embedding",
    "FeedForward",
    "Initial",
    "Layer",
    "Looked",
    "Memory",
    "Normalization",
    "Past",
    "Perceptron",
    "Positions",
    "Recurrent",
    "Run",
    "Score",
    "ScoredAttention",
    "SelfAttention",
    "State",
    "advance",
    "select_states",
]
