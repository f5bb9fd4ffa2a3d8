"""The numba engine: the operations on fused kernels, compiled when first used and kept on disk."""

from dragoman.engines.numba import attending, operations, sweeps
from dragoman.engines.numba.search import beam, greedy

__all__ = ["attending", "beam", "greedy", "operations", "sweeps"]
