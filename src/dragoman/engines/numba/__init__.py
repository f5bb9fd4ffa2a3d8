"""The numba engine: the operations on fused kernels, compiled when first used and kept on disk."""

from dragoman.engines.numba import operations, sweeps

__all__ = ["operations", "sweeps"]
