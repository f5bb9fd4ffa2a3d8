"""What the claims of the custom-net sheet share: a network with one sample, and what it computed on the way.

Forward equations are held against what the network of `dragoman.networks` computed at that stage. Gradients are held
three ways: the closed form against central differences and the complex step of the sheet's own forward pass, written
out beside the claims, and against the network, back-propagated by the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dragoman.analysis.audit.claim import VALUE_TOLERANCE, Evidence, equal, proved
from dragoman.batch import Batch
from dragoman.graph import Array, GradientReport, Tensor, Value, backpropagate, gradient_check
from dragoman.graph.gradient_check import compare
from dragoman.networks.custom import ClassTokenEncoder, TwoLayerNetwork, standardize_samples
from dragoman.operations import cross_entropy

TARGET, SMOOTHING = 1, 0.2  # y = 0.8 one-hot + 0.2 / K: a distribution with no zero in it


def plain_softmax(x: Array) -> Array:
    e = np.exp(x)
    s: Array = e / e.sum(axis=-1, keepdims=True)
    return s


def plain_standardize(X: Array) -> Array:
    standardized: Array = (X - X.mean()) / np.sqrt(((X - X.mean()) ** 2).mean())
    return standardized


@dataclass(frozen=True)
class Example:
    """A network of the sheet with one sample and its target y [1, K] or [k], beside the sheet's own functions."""

    network: TwoLayerNetwork | ClassTokenEncoder
    X: Array
    y: Array
    total: float  # what the sheet divides its cross-entropy by
    loss: Callable[..., Value]
    stages: Callable[..., dict[str, Array]]
    closed_form: Callable[..., dict[str, Array]]

    @property
    def parameters(self) -> dict[str, Array]:
        return dict(self.network.named_arrays())

    def staged(self) -> dict[str, Array]:
        return self.stages(self.X, **self.parameters, y=self.y)

    def gradients(self) -> dict[str, Array]:
        return self.closed_form(self.X, **self.parameters, y=self.y)

    def logits(self) -> Tensor:
        logits = self.network(Batch.pack([self.X]))
        assert isinstance(logits, Tensor)
        return logits

    def recorded_error(self) -> Value:
        targets = np.array([TARGET])
        error, _ = cross_entropy(self.logits(), targets=targets, smoothing=SMOOTHING, total=self.total)
        return error

    def error(self) -> float:
        return float(self.recorded_error())

    def back_propagated(self) -> dict[str, Array]:
        """The gradient of the network by Algorithm 4.10, under the sheet's names"""
        theta = self.network.theta
        gradient = backpropagate(self.recorded_error(), theta)
        parts = [p.split(name, theta.view(gradient, p)) for name, p in self.network.named_parameters()]
        return {name: part for split in parts for name, part in split}

    def proof(self, name: str) -> Evidence:
        """The closed form of one derivative against differences, complex step and graph"""
        report = gradient_check(self.loss, *self.parameters.values(), X=self.X, y=self.y)
        numerical = [comparison for comparison in report.comparisons if comparison.name == name]
        closed, found = self.gradients()[name], self.back_propagated()[name]
        graph = compare(name, "back-propagation", found, closed, VALUE_TOLERANCE)
        return proved(GradientReport((*numerical, graph)))


def target(classes: int) -> Array:
    y: Array = (1 - SMOOTHING) * np.eye(classes)[TARGET] + SMOOTHING / classes
    return y


def trail(output: Tensor) -> list[Array]:
    """What a network computed on the way to an output, in order, following the first input of each operation."""
    values: list[Array] = []
    tensor = output
    while isinstance(tensor, Tensor) and tensor.node is not None:
        values.insert(0, tensor.value)
        tensor = tensor.node.inputs[0]
    return values


def standardized(example: Example) -> Evidence:
    found = standardize_samples(Batch.pack([example.X]))
    moments = np.array([found.mean(), found.std()])
    return equal(found, plain_standardize(example.X)) & equal(moments, np.array([0.0, 1.0]))
