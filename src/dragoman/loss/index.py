"""The loss index: error of the outputs + regularization of the parameters (Definition 4.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dragoman.batch import Batch
from dragoman.engines import programs
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import (
    Array,
    GradientReducer,
    ShardWriter,
    Theta,
    Value,
    backpropagate,
    value_of,
)
from dragoman.layers import ForwardContext, Perceptron
from dragoman.loss.regularization import Regularization
from dragoman.operations import (
    cross_entropy,
    linear,
    linear_cross_entropy,
    log_error,
    logistic_log_error,
    mean_squared_error,
    reshape,
)
from dragoman.operations.shapes import check_shapes


class Differentiable(Protocol):
    """What the loss index asks of a network."""

    theta: Theta

    @property
    def plain(self) -> Any: ...

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value: ...


class Error(Protocol):
    """From outputs and targets to (error, weighted number of right predictions).

    total  what the sums are divided by, when the batch is a shard of a larger one
    """

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]: ...


@runtime_checkable
class Layered(Protocol):
    """A network whose outputs are the logits of a last layer."""

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, and that layer."""
        ...


def _targets(batch: Batch) -> Array:
    if batch.targets is None:
        raise ShapeError("the batch has no targets, so there is nothing to compare the outputs with")
    return batch.targets


def _repeated(weights: Array | None, several: int, count: int) -> Array:
    """The weight of each sample as that of each of its labels, which share it."""
    w = np.ones(count) if weights is None else weights
    return np.repeat(w / several, several)


@dataclass(frozen=True)
class CrossEntropy:
    """Log-softmax cross-entropy over weighted targets, with label smoothing (4.2.3).

    logits [N, V] for targets [N]; [N, L, V] for targets [N, L], several labels each, which count equally.
    """

    smoothing: float = 0.0

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        targets, weights = _targets(batch), batch.loss_weights
        if targets.ndim == 2:
            count, several = targets.shape
            check_shapes("CrossEntropy", logits=(value_of(outputs), "N L V"), targets=(targets, "N L"))
            outputs = reshape(outputs, shape=(count * several, outputs.shape[2]))
            weights = _repeated(weights, several, count)
            targets, total = targets.reshape(-1), batch.weight if total is None else total
        return cross_entropy(outputs, targets=targets, weights=weights, smoothing=self.smoothing, total=total)

    def of_layer(self, x: Value, layer: Perceptron, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        """The same of the logits that a last layer makes of x."""
        self.check_layer(layer)
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

    @staticmethod
    def check_layer(layer: Perceptron) -> None:
        """Raise an error if the outputs of a last layer are no logits."""
        if layer.activation != "identity":
            raise ConfigurationError(
                f"the outputs of this network go through output_activation='{layer.activation}', so they are no "
                "logits; cross-entropy needs 'identity'"
            )


@dataclass(frozen=True)
class MeanSquaredError:
    """For real outputs (Example 1.1), as many as there are targets: [N] or [N, k]."""

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        return mean_squared_error(outputs, targets=_targets(batch), weights=batch.loss_weights, total=total), math.nan


@dataclass(frozen=True)
class LogError:
    """For one probability per output (4.1.1), [N] or [N, L]; right are those on the target's side of one half.

    One output [N, 1] may also have targets [N].
    """

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        return log_error(outputs, targets=_targets(batch), weights=batch.loss_weights, total=total)

    def of_layer(self, x: Value, layer: Perceptron, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        """The same of the logistic function of a last layer's logits, which never rounds to 0 or 1."""
        z = linear(x, layer.weights, layer.biases, transposed=layer.transposed)
        return logistic_log_error(z, targets=_targets(batch), weights=batch.loss_weights, total=total)


@dataclass(frozen=True)
class Loss:
    """One evaluation of the loss index."""

    error: float
    regularization: float
    hits: float  # weighted number of targets that were predicted right; NaN where targets are no labels
    positions: float  # weighted number of targets: of positions, or of samples

    @property
    def index(self) -> float:
        """L = e + omega"""
        return self.error + self.regularization

    @property
    def accuracy(self) -> float:
        """alpha: the share of unmasked targets predicted right (6.1); NaN when there is none."""
        return self.hits / self.positions if self.positions else float("nan")

    def __str__(self) -> str:
        accuracy = "" if math.isnan(self.accuracy) else f", accuracy {self.accuracy:.1%}"
        return f"error {self.error:.4f}{accuracy}"


@dataclass(frozen=True)
class LossIndex:
    """L(theta) = e(y(x; theta), targets) + omega(theta) (4.1.2). Transformers use no regularization by default."""

    error: Error = CrossEntropy()
    regularization: Regularization | None = None

    @property
    def graph_reason(self) -> str:
        """Why no program can compute it; empty if one may."""
        return "" if type(self) is LossIndex else f"{type(self).__name__} extends LossIndex and may compute anything"

    def evaluate(self, network: Differentiable, batch: Batch, run: ForwardContext | None = None) -> Loss:
        """The loss of a batch, nothing recorded and nothing dropped."""
        with fast_compute():
            found = self._logistic_error(network.plain, batch)
            error, hits = self.error(network.plain(batch, run), batch) if found is None else found
        return self.loss(network, float(error), hits, batch.weight)

    def differentiate(
        self, network: Differentiable, batch: Batch, run: ForwardContext | None = None, into: Array | None = None
    ) -> tuple[Loss, Array]:
        """The loss and its gradient, aligned with theta: grad L = grad e + grad omega."""
        gradient = np.empty_like(network.theta.values) if into is None else into
        with GradientReducer(network.theta.views(gradient)).share() as share:
            error, hits = self.differentiate_error(network, batch, share, run)
        return self.regularized(network, error, hits, batch.weight, gradient), gradient

    def differentiate_error(
        self,
        network: Differentiable,
        batch: Batch,
        share: ShardWriter,
        run: ForwardContext | None = None,
        total: float | None = None,
    ) -> tuple[float, float]:
        """Error and hits; the gradient is pushed to `share`. For a shard, `total` is the weight of the whole batch."""
        run = run or ForwardContext()
        found = None
        if not self.graph_reason:
            found = programs.differentiate(self.error_and_hits, self.error, network, batch, run, total)
        if found is not None:
            share.push_all(found[2])
            return found[0], found[1]
        error, hits = self.error_and_hits(network, batch, run, total)
        backpropagate(error, share)
        return float(error), hits

    def error_and_hits(
        self, network: Any, batch: Batch, run: ForwardContext, total: float | None
    ) -> tuple[Value, float]:
        """Error and hits, to be differentiated."""
        if isinstance(self.error, CrossEntropy) and isinstance(network, Layered):
            return self.error.of_layer(*network.before_output(batch, run), batch, total)
        logistic = self._logistic_error(network, batch, run, total)
        return self.error(network(batch, run), batch, total) if logistic is None else logistic

    def _logistic_error(
        self, network: Any, batch: Batch, run: ForwardContext | None = None, total: float | None = None
    ) -> tuple[Value, float] | None:
        """The log error from logits, if the network's outputs are their logistic function."""
        if not isinstance(self.error, LogError) or not isinstance(network, Layered):
            return None
        x, layer = network.before_output(batch, run)
        return self.error.of_layer(x, layer, batch, total) if layer.activation == "logistic" else None

    def regularized(
        self, network: Differentiable, error: float, hits: float, positions: float, gradient: Array
    ) -> Loss:
        """The loss of an error, whose gradient gets that of the regularization: once, however many the shards."""
        if self.regularization is not None:
            self.regularization.add_gradient(network.theta, gradient)
        return self.loss(network, error, hits, positions)

    def loss(self, network: Differentiable, error: float, hits: float, positions: float) -> Loss:
        """The loss of an error, whose gradient is not asked for."""
        omega = 0.0 if self.regularization is None else self.regularization.value(network.theta)
        return Loss(error, omega, hits, positions)
