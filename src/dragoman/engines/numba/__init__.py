"""The numba engine: the operations on fused kernels, compiled when first used and kept on disk."""

from dragoman.engines.numba import attending, beam, greedy, operations, sweeps

__all__ = ["attending", "beam", "greedy", "operations", "sweeps"]
