"""The perceptron layer and the pair of them that follows attention."""

from __future__ import annotations

from dragoman.errors import ConfigurationError
from dragoman.graph import Parameter, Value
from dragoman.layers.layer import Initializer, Layer
from dragoman.operations import linear
from dragoman.operations.activations import find_activation


class Perceptron(Layer):
    """y = a(x W + b), the same at every position (Definition 3.12).

    `table` shares an embedding's table [k, d] as the weights, transposed.
    """

    weights: Value
    biases: Value | None

    def __init__(
        self,
        inputs: int,
        outputs: int,
        initial: Initializer,
        activation: str = "identity",
        biases: bool = True,
        table: Value | None = None,
    ) -> None:
        find_activation(activation)
        self.weights = Parameter(initial.glorot(inputs, outputs)) if table is None else table
        self.biases = Parameter(initial.zeros(outputs)) if biases else None
        self.activation = activation
        self.transposed = table is not None

    def __call__(self, x: Value) -> Value:
        return linear(x, self.weights, self.biases, activation=self.activation, transposed=self.transposed)


class FeedForward(Layer):
    """W2 a(W1 x + b1) + b2: two perceptrons, the first wider (book 7.5; lecture, stage 2).

    With two hidden layers (lecture), a second one of the same width stands between them.
    """

    def __init__(
        self, depth: int, hidden_depth: int, activation: str, initial: Initializer, hidden_layers: int = 1
    ) -> None:
        if hidden_layers not in (1, 2):
            raise ConfigurationError(f"there are one or two hidden layers, got {hidden_layers}")
        self.hidden = Perceptron(depth, hidden_depth, initial, activation)
        if hidden_layers == 2:
            self.second_hidden = Perceptron(hidden_depth, hidden_depth, initial, activation)
        self.output = Perceptron(hidden_depth, depth, initial)

    def __call__(self, x: Value) -> Value:
        x = self.hidden(x)
        if hasattr(self, "second_hidden"):
            x = self.second_hidden(x)
        return self.output(x)
