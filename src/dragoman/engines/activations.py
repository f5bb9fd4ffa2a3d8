"""The activations of operations.activations by number, as kernels and ModelSpec take them."""

from __future__ import annotations

from dragoman.operations.activations import ACTIVATIONS

CODES = {name: code for code, name in enumerate(ACTIVATIONS)}
IDENTITY, RELU, LOGISTIC, TANH, GELU = (CODES[name] for name in ("identity", "relu", "logistic", "tanh", "gelu"))
IN_LINEAR = ("identity", "relu", "gelu")  # those that the kernels of linear layers know; recurrences know all
