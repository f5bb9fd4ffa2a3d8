"""The numba engine: the operations on fused kernels, compiled when first used and kept on disk."""

from dragoman.engines.numba import beam, greedy, operations, sweeps

__all__ = ["beam", "greedy", "operations", "sweeps"]
