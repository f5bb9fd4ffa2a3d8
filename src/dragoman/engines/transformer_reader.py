"""Reads a Transformer for the fused searches, and says why one is not covered.

Coverage is opt-in. The tables below list every field of the configuration, every attribute of a layer and every value
that the kernels honour. A network with anything else, or with a layer changed after construction, runs through the
step-by-step search.

Engines stand below layers and networks, so the network is read by its attributes, and classes are known by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dragoman.batch import END
from dragoman.engines import transformer_spec as columns
from dragoman.engines.activations import CODES, IN_LINEAR
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array, Parameter

TRANSFORMER = "dragoman.networks.transformer.Transformer"
FIELDS: dict[str, tuple[Any, ...]] = {  # of the configuration: the values that are known, none listed: all
    "depth": (),
    "perceptron_depth": (),
    "hidden_layers": (1,),
    "heads": (),
    "layers": (),
    "block": ("pre", "post"),
    "normalization": ("inside", "outside"),
    "epsilon": (),
    "activation": IN_LINEAR,
    "positions": ("half_sinusoid", "interleaved_sinusoid", "learned", "relative", "none"),
    "maximum_length": (),
    "position_depth": (),
    "joint_activation": (),  # of positions that are not known anyway
    "relative_reach": (),
    "tied": ("none", "output", "all"),
    "attention_biases": (),
    "dropout": (),
    "source_vocabulary": (),
    "target_vocabulary": (),
}


class LayerType(NamedTuple):
    """A class of layers that kernels know, and all attributes that its instances may have.

    optional  parameters that may be None    settings  compared with the configuration    free  may have any value
    """

    name: str
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


EMBEDDING = LayerType(
    "dragoman.layers.embedding.Embedding",
    parameters=("table",),
    optional=("position_table",),
    settings=("positions", "depth", "position_depth", "scale"),
    free=("dropout", "site", "_fixed"),
)
NORMALIZATION = LayerType(
    "dragoman.layers.normalization.Normalization",
    parameters=("gamma", "beta"),
    settings=("form", "epsilon"),
    free=("dropout", "site"),
)
PERCEPTRON = LayerType(
    "dragoman.layers.perceptron.Perceptron",
    parameters=("weights",),
    optional=("biases",),
    settings=("activation", "transposed"),
)
FEED_FORWARD = LayerType("dragoman.layers.perceptron.FeedForward", children=("hidden", "output"))
SELF_ATTENTION = LayerType(
    "dragoman.layers.attention.SelfAttention",
    parameters=("query_key_value_weights",),
    optional=("query_key_value_biases", "distance_bias"),
    children=("projection",),
    settings=("heads", "causal", "scaled"),
)
CROSS_ATTENTION = LayerType(
    "dragoman.layers.attention.CrossAttention",
    parameters=("key_value_weights",),
    optional=("key_value_biases",),
    children=("query", "projection"),
    settings=("heads", "scaled"),
)
ENCODER = LayerType(
    "dragoman.networks.blocks.EncoderBlock",
    children=("self_attention", "self_attention_normalization", "perceptron", "perceptron_normalization"),
    settings=("pre",),
)
DECODER = LayerType(
    "dragoman.networks.blocks.DecoderBlock",
    children=(*ENCODER.children, "cross_attention", "cross_attention_normalization"),
    settings=("pre",),
)
NETWORK = LayerType(
    TRANSFORMER,
    children=(
        "source_embedding",
        "encoder",
        "encoder_normalization",
        "reference_embedding",
        "decoder",
        "decoder_normalization",
        "output",
    ),
    free=("configuration", "theta"),
)


class Reader:
    """What the fused searches need to know about one Transformer; it is read again when a layer has changed.

    reason  why they do not cover it; empty if they do
    """

    def __init__(self, network: Any) -> None:
        self._version = network.theta.version.number
        self.reason = self._examine(network)
        if self.reason:
            return
        self.ends, self.encoders, self.decoders = _starts(network)
        self._spec = _settings(network)

    def unchanged(self, network: Any) -> bool:
        """Whether no layer has been changed since it was read."""
        return bool(network.theta.version.number == self._version)

    def spec(self, network: Any, source_length: int, reference_length: int) -> ModelSpec:
        """The network with the positions of sources and references of some length."""
        source, reference = network.source_embedding, network.reference_embedding
        return ModelSpec(
            network.theta.values,
            self.ends,
            self.encoders,
            self.decoders,
            source.added_rows(source_length),
            reference.added_rows(reference_length),
            **self._spec,
        )

    def _examine(self, network: Any) -> str:
        c = network.configuration
        for name, layer, kind, expected in _layers(network):  # a layer's children are read after its class is known
            reason = self._examine_layer(name, layer, kind, expected)
            if not reason and kind is NETWORK:
                reason = _unknown_field(c)
            if reason:
                return reason
        if network.output.biases is None:
            return "the kernels need biases in the output layer"
        if network.theta.dtype != np.float32:
            return f"the kernels compute in float32, not in {network.theta.dtype}"
        if c.depth // c.heads % 8:
            return f"the kernels need heads whose width is a multiple of 8, not {c.depth // c.heads}"
        if c.epsilon == 0:
            return "the kernels need an epsilon above 0"
        if c.target_vocabulary <= END:
            return f"a vocabulary of {c.target_vocabulary} labels has none to write"
        return ""

    def _examine_layer(self, name: str, layer: Any, kind: LayerType, expected: dict[str, Any]) -> str:
        if _name_of(layer) != kind.name:
            return f"the kernels do not know {name}, a {type(layer).__name__}"
        attributes = vars(layer)
        known = {*kind.parameters, *kind.optional, *kind.children, *kind.settings, *kind.free}
        for attribute in attributes:
            if attribute not in known:
                return f"the kernels do not know {_joined(name, attribute)}"
        for attribute in (*kind.parameters, *kind.optional):
            parameter = attributes.get(attribute)
            if parameter is None and attribute in kind.optional:
                continue
            if not isinstance(parameter, Parameter) or parameter.slot is None:
                return f"{_joined(name, attribute)} is not a parameter with a place in theta"
        for setting in kind.settings:
            if attributes.get(setting) != expected[setting]:
                return f"{_joined(name, setting)} = {attributes.get(setting)!r} was changed after construction"
        return ""


_readers: WeakKeyDictionary[Any, Reader] = WeakKeyDictionary()


def reader_of(network: Any) -> Reader | None:
    """The reader of a Transformer; None for any other network."""
    if _name_of(network) != TRANSFORMER:
        return None
    reader = _readers.get(network)
    if reader is None or not reader.unchanged(network):
        reader = _readers[network] = Reader(network)
    return reader


def _unknown_field(configuration: Any) -> str:
    fields = vars(configuration)
    for field in fields:
        if field not in FIELDS:
            return f"the kernels do not know the setting '{field}'"
        if FIELDS[field] and fields[field] not in FIELDS[field]:
            return f"the kernels do not know {field} = '{fields[field]}'"
    return ""


def _name_of(instance: Any) -> str:
    return f"{type(instance).__module__}.{type(instance).__qualname__}"


def _joined(name: str, attribute: str) -> str:
    return f"{name}.{attribute}" if name else attribute


def _layers(network: Any) -> Iterator[tuple[str, Any, LayerType, dict[str, Any]]]:
    """(name, layer, its type, its settings by the configuration) of the network and all its layers."""
    c = network.configuration
    scale = 1.0 if c.positions == "none" else float(c.depth**0.5)
    embedding = {"positions": c.positions, "depth": c.depth, "position_depth": 0, "scale": scale}
    normalization = {"form": c.normalization, "epsilon": c.epsilon}
    attention = {"heads": c.heads, "scaled": True}
    linear = {"activation": "identity", "transposed": False}
    hidden, output = {**linear, "activation": c.activation}, {**linear, "transposed": c.tied != "none"}
    yield "", network, NETWORK, {}
    yield "source_embedding", network.source_embedding, EMBEDDING, embedding
    yield "reference_embedding", network.reference_embedding, EMBEDDING, embedding
    yield "output", network.output, PERCEPTRON, output
    for stack in ("encoder", "decoder"):
        if c.block == "pre":
            yield f"{stack}_normalization", getattr(network, f"{stack}_normalization"), NORMALIZATION, normalization
        decoder = stack == "decoder"
        for i, block in enumerate(getattr(network, stack)):
            name = f"{stack}.{i}"
            yield name, block, DECODER if decoder else ENCODER, {"pre": c.block == "pre"}
            own = block.self_attention
            yield f"{name}.self_attention", own, SELF_ATTENTION, {**attention, "causal": decoder}
            yield f"{name}.self_attention.projection", own.projection, PERCEPTRON, linear
            yield f"{name}.perceptron", block.perceptron, FEED_FORWARD, {}
            yield f"{name}.perceptron.hidden", block.perceptron.hidden, PERCEPTRON, hidden
            yield f"{name}.perceptron.output", block.perceptron.output, PERCEPTRON, linear
            if decoder:
                cross = block.cross_attention
                yield f"{name}.cross_attention", cross, CROSS_ATTENTION, attention
                yield f"{name}.cross_attention.query", cross.query, PERCEPTRON, linear
                yield f"{name}.cross_attention.projection", cross.projection, PERCEPTRON, linear
            for child in _normalizations_of(decoder):
                yield f"{name}.{child}", getattr(block, child), NORMALIZATION, normalization


def _normalizations_of(decoder: bool) -> tuple[str, ...]:
    """Those of a block, in the order of its sub-layers."""
    cross = ("cross_attention_normalization",) if decoder else ()
    return ("self_attention_normalization", *cross, "perceptron_normalization")


def _settings(network: Any) -> dict[str, Any]:
    """The fields of ModelSpec that are the same for every batch."""
    c = network.configuration
    return {
        "depth": c.depth,
        "hidden": c.perceptron_depth,
        "heads": c.heads,
        "source_vocabulary": c.source_vocabulary,
        "vocabulary": c.target_vocabulary,
        "pre": c.block == "pre",
        "outside": c.normalization == "outside",
        "tied": c.tied != "none",
        "positioned": c.positions not in ("relative", "none"),
        "activation": CODES[c.activation],
        "reach": c.relative_reach,
        "epsilon": c.epsilon,
        "scale": network.source_embedding.scale,
    }


def _starts(network: Any) -> tuple[Array, Array, Array]:
    """(ends, encoders, decoders) of ModelSpec: where each parameter begins in theta."""
    ends = np.full(columns.ENDS, columns.ABSENT)
    ends[columns.SOURCE_TABLE] = _start(network.source_embedding.table)
    ends[columns.REFERENCE_TABLE] = _start(network.reference_embedding.table)
    _put(ends, columns.LOGITS, network.output.weights, network.output.biases)
    if network.encoder_normalization is not None and network.decoder_normalization is not None:
        _put_normalization(ends, columns.ENCODED, network.encoder_normalization)
        _put_normalization(ends, columns.DECODED, network.decoder_normalization)
    encoders = np.full((len(network.encoder), columns.COLUMNS), columns.ABSENT)
    decoders = np.full((len(network.decoder), columns.COLUMNS), columns.ABSENT)
    for row, encoder in zip(encoders, network.encoder, strict=True):
        _put_block(row, encoder)
    for row, decoder in zip(decoders, network.decoder, strict=True):
        _put_block(row, decoder)
        cross = decoder.cross_attention
        _put(row, columns.CROSS_QUERY, cross.query.weights, cross.query.biases)
        _put(row, columns.CROSS, cross.key_value_weights, cross.key_value_biases)
        _put(row, columns.CROSS_PROJECTION, cross.projection.weights, cross.projection.biases)
        _put_normalization(row, columns.CROSS_NORMALIZATION, decoder.cross_attention_normalization)
    return ends, encoders, decoders


def _put_block(row: Array, block: Any) -> None:
    own, perceptron = block.self_attention, block.perceptron
    _put(row, columns.ATTENTION, own.query_key_value_weights, own.query_key_value_biases)
    row[columns.DISTANCES] = _start(own.distance_bias)
    _put(row, columns.PROJECTION, own.projection.weights, own.projection.biases)
    _put_normalization(row, columns.NORMALIZATION, block.self_attention_normalization)
    _put(row, columns.HIDDEN, perceptron.hidden.weights, perceptron.hidden.biases)
    _put(row, columns.OUTPUT, perceptron.output.weights, perceptron.output.biases)
    _put_normalization(row, columns.LAST_NORMALIZATION, block.perceptron_normalization)


def _put_normalization(row: Array, column: Any, normalization: Any) -> None:
    _put(row, column, normalization.gamma, normalization.beta)


def _put(row: Array, column: Any, weights: Any, biases: Any) -> None:
    row[column], row[column + 1] = _start(weights), _start(biases)


def _start(parameter: Parameter | None) -> int:
    return int(columns.ABSENT) if parameter is None else parameter.start
