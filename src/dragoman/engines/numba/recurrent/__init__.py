"""The recurrences on compiled kernels: all steps of all sequences in one call, forward and backward.

curves      logistic and tanh, written for vector instructions
products    the product of a step, with weights laid out once for all steps
steps       which rows stand at a step, and states in that order
rnn, lstm, gru      the kernels      operations      the operations on them

What the steps leave behind stays in the packed order of the rows; only what a step hands to the next lies longest
first, a few rows that stay in the cache. A backward pass writes dx over what the forward pass has kept: it runs once.
"""

from dragoman.engines.numba.recurrent import operations

__all__ = ["operations"]
