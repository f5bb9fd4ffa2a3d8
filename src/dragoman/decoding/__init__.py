"""Search for label sequences with a network's step-by-step probabilities. It knows nothing about text."""

from dragoman.decoding.beam import Beam
from dragoman.decoding.probabilities import log_probabilities, score
from dragoman.decoding.search import Hypothesis, Method, SequenceNetwork, SequenceState, decode
from dragoman.decoding.single import Greedy, Sampling
from dragoman.decoding.writing import Writing

__all__ = [
    "Beam",
    "Greedy",
    "Hypothesis",
    "Method",
    "Sampling",
    "SequenceNetwork",
    "SequenceState",
    "Writing",
    "decode",
    "log_probabilities",
    "score",
]
