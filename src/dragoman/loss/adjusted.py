"""Cross-entropy with what two of the documents add to it."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.batch import Batch
from dragoman.graph import Value
from dragoman.layers import Perceptron
from dragoman.loss.index import CrossEntropy
from dragoman.operations import clip_values


@dataclass(frozen=True)
class AdjustedCrossEntropy(CrossEntropy):
    """Cross-entropy that is divided by the number of classes, or reads clipped logits.

    per_class  divide by K, the number of outputs (sheet 2, (9))
    clip       clip the logits to +-clip before the softmax (notes 3.4); a clipped logit has derivative 0
    Neither has a kernel, so such a network is trained through the graph.
    """

    per_class: bool = False
    clip: float | None = None

    def __call__(self, outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        if self.clip is not None:
            outputs = clip_values(outputs, limit=self.clip)
        if self.per_class:
            total = (batch.weight if total is None else total) * outputs.shape[-1]
        return super().__call__(outputs, batch, total)

    def of_layer(self, x: Value, layer: Perceptron, batch: Batch, total: float | None = None) -> tuple[Value, float]:
        self.check_layer(layer)
        return self(layer(x), batch, total)
