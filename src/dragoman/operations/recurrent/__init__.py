"""Recurrences over whole sequences (book 7.2 and 7.3): simple RNN, LSTM and GRU on packed rows.

Each takes what its inputs contribute, x = W x<t> + b with the blocks of all gates side by side, as one `linear`
computes it for every row at once, and adds what the state before contributes, step by step. Weights stand as in
`linear`, W [m, k] with h W: the transposes of the book's.
"""

from dragoman.operations.recurrent.gru import gru
from dragoman.operations.recurrent.lstm import lstm
from dragoman.operations.recurrent.rnn import rnn
from dragoman.operations.recurrent.steps import Steps

__all__ = ["Steps", "gru", "lstm", "rnn"]
