"""Thesis, Algorithm 4.10: back-propagation through a whole network."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.attention import attention_parameters
from dragoman.analysis.audit.claim import Evidence, claim, proved
from dragoman.batch import Batch
from dragoman.graph import Value, gradient_check
from dragoman.networks import Transformer, TransformerConfiguration
from dragoman.operations import add, cross_entropy
from dragoman.operations.teaching import thesis


@claim(
    "T-A4.10-step1",
    title="The deltas of several consumers add up",
    formula=r"\Delta^{(q)} = \sum_{\bar{q}} \frac{\partial e}{\partial x^{(\bar{q})}}",
)
def several_consumers() -> Evidence:
    """Self-attention with a residual: x is input, context and addend at once."""
    parameters = attention_parameters()

    def block(x: Value) -> Value:
        return add(x, thesis.attention(x, x, *parameters))

    return proved(gradient_check(block, random(2, 3, 4)))


class _WholeNetwork:
    """The error of a small Transformer as a function of all of its parameters."""

    def __init__(self) -> None:
        configuration = TransformerConfiguration(
            source_vocabulary=6,
            target_vocabulary=7,
            depth=4,
            perceptron_depth=5,
            heads=2,
            layers=2,
            normalization="outside",
            epsilon=0.01,
        )
        self.network = Transformer(configuration, seed=3, dtype=np.float64)
        self.named_parameters = self.network.named_parameters
        self.batch = Batch.pairs([[4, 5, 4], [5]], [[2, 4, 6, 3], [2, 5, 3]])

    def __call__(self) -> Value:
        logits = self.network(self.batch)
        return cross_entropy(logits, targets=self.batch.targets, weights=self.batch.loss_weights)[0]


@claim(
    "T-A4.10-step2",
    "T-A4.10-step3",
    "T-3.2-tau",
    "T-3.2-encdec",
    title="The whole Transformer, two encoders, two decoders",
    formula=r"\frac{\partial e}{\partial \theta^{(q)}} = \frac{\partial y^{(q)}}{\partial \theta^{(q)}} \cdot \Delta^{(q)},"
    r" \quad q = l, l-1, \dots, 1",
)
def whole_network() -> Evidence:
    return proved(gradient_check(_WholeNetwork()))
