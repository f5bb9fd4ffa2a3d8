"""Operations: every equation beside its derivative, in plain array code, which defines the results."""

from dragoman.operations.activations import ACTIVATIONS, activate, clip_values
from dragoman.operations.attention import Padding, attend, attend_cross, attend_self, attend_step, attention_weights
from dragoman.operations.dropout import Dropout, DropoutKey, drop
from dragoman.operations.embedding import embed
from dragoman.operations.errors import (
    cross_entropy,
    linear_cross_entropy,
    log_error,
    logistic_log_error,
    mean_squared_error,
)
from dragoman.operations.images import average_pool, convolve, max_pool, patches
from dragoman.operations.linear import linear
from dragoman.operations.normalization import add_normalize, normalize
from dragoman.operations.pooling import attention_pool, last_rows, max_rows, mean_rows
from dragoman.operations.recurrent import gru, lstm, rnn
from dragoman.operations.scores import additive_weights, attend_additive
from dragoman.operations.softmax import softmax
from dragoman.operations.structure import (
    add,
    append_row,
    appended_offsets,
    appended_rows,
    concatenate_columns,
    join_rows,
    reshape,
    split_rows,
    take_rows,
    transpose,
)
from dragoman.operations.word_vectors import cbow, negative_sampling, skip_gram

__all__ = [
    "ACTIVATIONS",
    "Dropout",
    "DropoutKey",
    "Padding",
    "activate",
    "add",
    "add_normalize",
    "additive_weights",
    "append_row",
    "appended_offsets",
    "appended_rows",
    "attend",
    "attend_additive",
    "attend_cross",
    "attend_self",
    "attend_step",
    "attention_pool",
    "attention_weights",
    "average_pool",
    "cbow",
    "clip_values",
    "concatenate_columns",
    "convolve",
    "cross_entropy",
    "drop",
    "embed",
    "gru",
    "join_rows",
    "last_rows",
    "linear",
    "linear_cross_entropy",
    "log_error",
    "logistic_log_error",
    "lstm",
    "max_pool",
    "max_rows",
    "mean_rows",
    "mean_squared_error",
    "negative_sampling",
    "normalize",
    "patches",
    "reshape",
    "rnn",
    "skip_gram",
    "softmax",
    "split_rows",
    "take_rows",
    "transpose",
]
