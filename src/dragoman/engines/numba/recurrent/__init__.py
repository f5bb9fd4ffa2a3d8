"""Kernels of recurrences: all time steps of all sequences in one call, forward and backward.

time_steps      which rows belong to a time step, and states in that order
rnn, lstm, gru  the kernels

Results stay in the packed order of the rows. Only the states passed from step to step are sorted, longest sequence
first: a few rows that stay in the cache. The backward pass overwrites what the forward pass has saved with dx.
"""
