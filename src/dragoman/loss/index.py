"""The loss index: error of the outputs + regularization of the parameters (Definition 4.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Gathering, Parameter, Pending, Share, Theta, Value, backpropagate
from dragoman.layers import Perceptron, Run
from dragoman.loss.regularization import Regularization
from dragoman.operations import cross_entropy, linear_cross_entropy, log_error, mean_squared_error


class Differentiable(Protocol):
    """What the loss index asks of a network."""

    theta: Theta

    @property
    def plain(self) -> Any: ...

    def __call__(self, batch: Batch, run: Run | None = None) -> Value: ...


class Error(Protocol):
    """From outputs and targets to (error, weighted number of right predictions).

    total  what the sums are divided by, when the batch is a shard of a larger one
    """

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]: ...


@runtime_checkable
class Layered(Protocol):
    """A network whose outputs are the logits of a last layer."""

    def before_output(self, batch: Batch, run: Run | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, and that layer."""
        ...


@runtime_checkable
class AtOnce(Protocol):
    """A network whose passes engines may run without a graph."""

    def pass_at_once(
        self, batch: Batch, run: Run, smoothing: float, total: float | None
    ) -> tuple[float, float, Iterable[tuple[Parameter, Array | Pending]]] | None:
        """The cross-entropy, the hits, derivatives by parameter; None where the graph is to be recorded."""
        ...


def _targets(batch: Batch) -> Array:
    if batch.targets is None:
        raise ShapeError("the batch has no targets, so there is nothing to compare the outputs with")
    return batch.targets


def _unweighted_targets(batch: Batch) -> Array:
    if batch.loss_weights is not None:
        raise ConfigurationError("only the cross-entropy weighs positions; leave loss_weights out of the batch")
    return _targets(batch)


@dataclass(frozen=True)
class CrossEntropy:
    """Log-softmax cross-entropy over weighted positions, with label smoothing (4.2.3)."""

    smoothing: float = 0.0

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        return cross_entropy(
            outputs,
            targets=_targets(batch),
            weights=batch.loss_weights,
            smoothing=self.smoothing,
            total=total,
        )

    def of_layer(self, x: Value, layer: Perceptron, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        """The same of the logits that a last layer makes of x."""
        return linear_cross_entropy(
            x,
            layer.weights,
            layer.biases,
            targets=_targets(batch),
            loss_weights=batch.loss_weights,
            smoothing=self.smoothing,
            total=total,
            transposed=layer.transposed,
        )


@dataclass(frozen=True)
class MeanSquaredError:
    """For real outputs (Example 1.1)."""

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        return mean_squared_error(outputs, targets=_unweighted_targets(batch), total=total), math.nan


@dataclass(frozen=True)
class LogError:
    """For one probability per output (4.1.1)."""

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        return log_error(outputs, targets=_unweighted_targets(batch), total=total), math.nan


@dataclass(frozen=True)
class Loss:
    """One evaluation of the loss index."""

    error: float
    regularization: float
    hits: float  # weighted number of positions whose most probable label is the target; NaN where there are no labels
    positions: float  # weighted number of positions

    @property
    def index(self) -> float:
        """L = e + omega"""
        return self.error + self.regularization

    @property
    def accuracy(self) -> float:
        """alpha: the share of unmasked positions predicted right (6.1); NaN when there is none."""
        return self.hits / self.positions if self.positions else float("nan")

    def __str__(self) -> str:
        accuracy = "" if math.isnan(self.accuracy) else f", accuracy {self.accuracy:.1%}"
        return f"error {self.error:.4f}{accuracy}"


@dataclass(frozen=True)
class LossIndex:
    """L(theta) = e(y(x; theta), targets) + omega(theta) (4.1.2). Transformers use no regularization by default."""

    error: Error = CrossEntropy()
    regularization: Regularization | None = None

    def evaluate(self, network: Differentiable, batch: Batch) -> Loss:
        """The loss of a batch, nothing recorded and nothing dropped."""
        error, hits = self.error(network.plain(batch), batch)
        return self._loss(network, float(error), hits, batch.weight)

    def differentiate(
        self, network: Differentiable, batch: Batch, run: Run | None = None, into: Array | None = None
    ) -> tuple[Loss, Array]:
        """The loss and its gradient, aligned with theta: grad L = grad e + grad omega."""
        gradient = np.empty_like(network.theta.values) if into is None else into
        with Gathering(network.theta.views(gradient)).share() as share:
            error, hits = self.differentiate_error(network, batch, share, run)
        return self.regularized(network, error, hits, batch.weight, gradient), gradient

    def differentiate_error(
        self,
        network: Differentiable,
        batch: Batch,
        share: Share,
        run: Run | None = None,
        total: float | None = None,
    ) -> tuple[float, float]:
        """Error and hits; its gradient is brought. Of one shard, when `total` is the weight of the whole batch."""
        if isinstance(self.error, CrossEntropy) and isinstance(network, AtOnce):
            found = network.pass_at_once(batch, run or Run(), self.error.smoothing, total)
            if found is not None:
                for parameter, delta in found[2]:
                    share.bring(parameter, delta)
                return found[0], found[1]
        if isinstance(self.error, CrossEntropy) and isinstance(network, Layered):
            error, hits = self.error.of_layer(*network.before_output(batch, run), batch, total)
        else:
            error, hits = self.error(network(batch, run), batch, total)
        backpropagate(error, share)
        return float(error), hits

    def regularized(
        self, network: Differentiable, error: float, hits: float, positions: float, gradient: Array
    ) -> Loss:
        """The loss of an error, whose gradient gets that of the regularization: once, however many the shards."""
        if self.regularization is not None:
            self.regularization.add_gradient(network.theta, gradient)
        return self._loss(network, error, hits, positions)

    def _loss(self, network: Differentiable, error: float, hits: float, positions: float) -> Loss:
        omega = 0.0 if self.regularization is None else self.regularization.value(network.theta)
        return Loss(error, omega, hits, positions)
