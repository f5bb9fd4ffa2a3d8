"""Exact parameter counts: the thesis's three sizes, the book's blocks, and what each setting adds or removes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dragoman.graph import Array
from dragoman.layers import Initializer, Layer, Perceptron
from dragoman.networks import PRESETS, Transformer, TransformerConfiguration, preset
from dragoman.networks.blocks import DecoderBlock, EncoderBlock
from tests.networks.small_networks import configuration, small_transformer

# ERRATA, section C: embeddings, encoders, decoders, output
PUBLISHED = {
    "small": (684_544, 33_472, 50_240, 398_710),
    "medium": (1_369_088, 264_960, 397_568, 791_286),
    "large": (2_738_176, 1_054_208, 1_581_568, 1_576_438),
}
TOTALS = {"small": 1_166_966, "medium": 2_822_902, "large": 6_950_390}
BOOK = TransformerConfiguration(
    source_vocabulary=1,
    target_vocabulary=1,
    depth=512,
    perceptron_depth=2048,
    heads=8,
    attention_biases=False,
)


def count(*layers: Layer) -> int:
    return sum(layer.count() for layer in layers)


@pytest.mark.ledger("T-6.2-params", "T-F5", "T-3.1-layers")
@pytest.mark.parametrize("name", PRESETS)
def test_the_published_sizes(name: str) -> None:
    network = Transformer(preset(name, 4562, 6134))
    parts = (
        count(network.source_embedding, network.reference_embedding),
        count(*network.encoder),
        count(*network.decoder),
        network.output.count(),
    )
    assert parts == PUBLISHED[name]
    assert network.count() == len(network.theta) == sum(parts) == TOTALS[name]


@pytest.mark.ledger("T-F5")
def test_the_presets_normalize_after_adding() -> None:
    assert {preset(name, 5, 5).block for name in PRESETS} == {"post"}


@pytest.mark.ledger("T-F5")
@pytest.mark.parametrize(
    ("setting", "value", "change"),
    [
        ("heads", 1, 0),
        ("layers", 2, 33_472 + 50_240),
        ("perceptron_depth", 129, 2 * (2 * 64 + 1)),  # one hidden unit more in the encoder and in the decoder
        ("maximum_length", 50, 0),
        ("dropout", 0.1, 0),
        ("attention_biases", False, -3 * 4 * 64),
        ("block", "pre", 4 * 64),  # a final normalization for each stack
        ("tied", "output", -64 * 70),
        ("tied", "all", -2 * 64 * 70),
        ("positions", "interleaved_sinusoid", 0),
        ("positions", "none", 0),
        ("positions", "relative", 4 * 33 + 4 * 33),
    ],
)
def test_what_one_setting_changes(setting: str, value: Any, change: int) -> None:
    base = Transformer(preset("small", 70, 70)).count()
    assert Transformer(preset("small", 70, 70, **{setting: value})).count() - base == change


@pytest.mark.ledger("B-7.28eq", "B-7.5-posonehot", "L-50-learnedpos")
@pytest.mark.parametrize(
    ("positions", "change"),
    [
        ("learned", 2 * 6 * 8),
        ("joint", 2 * (6 * 8 + 8 * 8 + 8 + 8 * 8)),
        ("one_hot", -2 * 5 * 6),  # six of the eight columns hold the position and need no table
        ("concatenated_sinusoid", -2 * 5 * 2),
    ],
)
def test_what_an_encoding_changes(positions: Any, change: int) -> None:
    settings = {"depth": 8, "position_depth": 2, "maximum_length": 6}
    base = small_transformer(**settings, positions="half_sinusoid").count()
    assert small_transformer(**settings, positions=positions).count() - base == change


class Hollow(Initializer):
    """Arrays with a shape and no memory, for counting networks too large to build in a test."""

    def glorot(self, inputs: int, outputs: int, blocks: int = 1) -> Array:
        return np.broadcast_to(self.zeros(), (inputs, blocks * outputs))


@pytest.mark.ledger("B-7.32eq", "B-7.5-4199936", "B-7.5-63M", "B-7.5-outlayer")
def test_the_books_blocks_and_its_63_millions() -> None:
    encoder = EncoderBlock(BOOK, Hollow(), itertools.count()).count()
    decoder = DecoderBlock(BOOK, Hollow(), itertools.count()).count()
    output = Perceptron(512, 37_000, Hollow()).count()
    assert encoder == 3_150_336
    assert decoder == 4_199_936
    assert output == 512 * 37_000 + 37_000
    assert 6 * encoder + 6 * decoder + output == 63_082_632


@pytest.mark.ledger("T-3.1-layers")
@pytest.mark.parametrize("tied", ["none", "output", "all"])
@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_network_counts_what_its_layers_count(block: str, tied: str) -> None:
    network = Transformer(configuration(block=block, tied=tied, layers=2))
    parts = [part for value in vars(network).values() for part in (value if isinstance(value, tuple) else [value])]
    separate = count(*(part for part in parts if isinstance(part, Layer)))
    shared = {"none": 0, "output": 5 * 4, "all": 2 * 5 * 4}[tied]  # a tied table is reported by each of its users
    assert network.count() == separate - shared
