"""What encoders of any kind have in common: what goes in, and one output per sample or per position."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.graph import Array, Value, value_of
from dragoman.layers import ForwardContext, Perceptron
from dragoman.networks.network import Configuration, Network
from dragoman.networks.sizes import MOST_LABELS, WIDEST
from dragoman.operations import mean_rows


class EncoderSizes(Configuration):
    """What the data decide of an encoder.

    vocabulary, inputs  it reads labels, or real rows of so many numbers
    output_activation   "logistic" for the log error, which wants probabilities; cross-entropy has its own softmax
    """

    vocabulary: int | None = Field(default=None, ge=1, le=MOST_LABELS)
    inputs: int | None = Field(default=None, ge=1, le=WIDEST)
    outputs: int = Field(ge=1, le=MOST_LABELS)
    output_activation: Literal["identity", "logistic"] = "identity"

    @model_validator(mode="after")
    def _labels_or_rows(self) -> Self:
        if (self.vocabulary is None) == (self.inputs is None):
            raise ValueError(
                "give vocabulary for labels or inputs for real rows, one of them; got "
                f"vocabulary={self.vocabulary}, inputs={self.inputs}"
            )
        return self


class EncodingNetwork(Network):
    """A network of rows [N, d], all of which or one per sample, [B, d], go to a last layer."""

    configuration: Any
    output: Perceptron

    @abstractmethod
    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        """The rows [N, d], class tokens among them, and what the last layer reads."""

    def _without_tokens(self, rows: Array, batch: Batch) -> Array:
        """The rows of the batch's own positions."""
        return rows

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """[B, outputs], one for each sample; [N, outputs], one for each position, where nothing is pooled."""
        return self.output(self._read(batch, run or ForwardContext())[1])

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, and that layer: for errors that are computed from logits."""
        return self._read(batch, run or ForwardContext())[1], self.output

    def features(self, batch: Batch) -> tuple[Array, Array]:
        """The last rows [N, d], and one row for each sample [B, d]: their mean where nothing is pooled."""
        rows, read = self.plain._read(batch, ForwardContext())
        if self.configuration.pooling == "none":
            read = mean_rows(rows, offsets=batch.offsets)
        return self._without_tokens(value_of(rows), batch), value_of(read)
