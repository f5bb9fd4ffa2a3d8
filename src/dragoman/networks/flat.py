"""Where in theta the parameters of a Transformer begin, as dragoman.operations.fused_search tells engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.graph import Array, Parameter
from dragoman.operations import fused_search

if TYPE_CHECKING:
    from dragoman.networks.transformer import Transformer


def layout(network: Transformer) -> tuple[Array, Array, Array]:
    """(ends, encoders, decoders) of writing.ModelSpec."""
    ends = np.full(fused_search.ENDS, fused_search.ABSENT)
    ends[fused_search.SOURCE_TABLE] = start(network.source_embedding.table)
    ends[fused_search.REFERENCE_TABLE] = start(network.reference_embedding.table)
    _place(ends, fused_search.LOGITS, network.output.weights, network.output.biases)
    if network.encoder_normalization is not None and network.decoder_normalization is not None:
        _normalization(ends, fused_search.ENCODED, network.encoder_normalization)
        _normalization(ends, fused_search.DECODED, network.decoder_normalization)
    encoders = np.full((len(network.encoder), fused_search.COLUMNS), fused_search.ABSENT)
    decoders = np.full((len(network.decoder), fused_search.COLUMNS), fused_search.ABSENT)
    for row, encoder in zip(encoders, network.encoder, strict=True):
        _block(row, encoder)
    for row, decoder in zip(decoders, network.decoder, strict=True):
        _block(row, decoder)
        cross = decoder.cross_attention
        _place(row, fused_search.CROSS_QUERY, cross.query.weights, cross.query.biases)
        _place(row, fused_search.CROSS, cross.key_value_weights, cross.key_value_biases)
        _place(row, fused_search.CROSS_PROJECTION, cross.projection.weights, cross.projection.biases)
        _normalization(row, fused_search.CROSS_NORMALIZATION, decoder.cross_attention_normalization)
    return ends, encoders, decoders


def _block(row: Array, block: Any) -> None:
    own, perceptron = block.self_attention, block.perceptron
    _place(row, fused_search.ATTENTION, own.query_key_value_weights, own.query_key_value_biases)
    row[fused_search.DISTANCES] = start(own.distance_bias)
    _place(row, fused_search.PROJECTION, own.projection.weights, own.projection.biases)
    _normalization(row, fused_search.NORMALIZATION, block.self_attention_normalization)
    _place(row, fused_search.HIDDEN, perceptron.hidden.weights, perceptron.hidden.biases)
    _place(row, fused_search.OUTPUT, perceptron.output.weights, perceptron.output.biases)
    _normalization(row, fused_search.LAST_NORMALIZATION, block.perceptron_normalization)


def _normalization(row: Array, column: Any, normalization: Any) -> None:
    _place(row, column, normalization.gamma, normalization.beta)


def _place(row: Array, column: Any, weights: Any, biases: Any) -> None:
    row[column], row[column + 1] = start(weights), start(biases)


def start(parameter: Any) -> int:
    if parameter is None:
        return int(fused_search.ABSENT)
    assert isinstance(parameter, Parameter)
    assert parameter.slot is not None
    return int(parameter.slot.start)
