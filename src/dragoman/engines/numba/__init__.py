"""The numba engine: the operations on fused kernels, compiled when first used and kept on disk."""

from dragoman.engines.numba import additive, attending, operations, recurrent, sweeps
from dragoman.engines.numba.passes import operations as passes
from dragoman.engines.numba.search import beam, greedy
from dragoman.engines.numba.vectors import steps

__all__ = ["additive", "attending", "beam", "greedy", "operations", "passes", "recurrent", "steps", "sweeps"]
