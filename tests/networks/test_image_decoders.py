"""Networks that write captions: patches with the translator's decoder, convolutions with a recurrent one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import END, START, Batch
from dragoman.decoding import Beam, Greedy, decode
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import gradient_check, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import LossIndex
from dragoman.networks import IMAGE_DECODERS, EncoderDecoder, Transformer, load_weights, save_weights
from dragoman.networks.blocks import DecoderBlock
from dragoman.networks.image_decoders import ConvolutionalDecoder, PatchTransformer
from dragoman.operations import DropoutKey
from dragoman.optimization import Adam
from dragoman.tasks.components import PARTS_OF

VOCABULARY = 9
SIZES = {"height": 8, "width": 4, "channels": 3, "mean": (0.2, 0.4, 0.6), "deviation": (0.1, 0.2, 0.3)}
RECURRENT = {"filters": (2, 3), "depth": 3, "units": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "transformer": {
        "depth": 4,
        "perceptron_depth": 3,
        "heads": 2,
        "layers": 2,
        "patch": (4, 2),
        "positions": "relative",
    },
    **{f"convolutional-{cell}": RECURRENT for cell in ("rnn", "lstm", "gru")},
}
every_network = pytest.mark.parametrize("name", SETTINGS)
CAPTIONS = [[START, 5, 6, END], [START, 7, END], [START, 8, 8, 5, 6, END]]


def built(name: str, dtype: Any = np.float64, **changes: Any) -> Any:
    architecture = IMAGE_DECODERS[name]
    settings = {**architecture.named, **SETTINGS[name], **changes}
    return architecture.build(architecture.configured(settings, {**SIZES, "target_vocabulary": VOCABULARY}), 1, dtype)


def pixels(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 4, 3), np.uint8)


def captioned(count: int = 3) -> Batch:
    return Batch.pairs([image[None] for image in pixels(count)], CAPTIONS[:count])


def test_every_architecture_is_tested() -> None:
    assert set(SETTINGS) == set(IMAGE_DECODERS)


@every_network
def test_every_parameter_has_its_derivative(name: str) -> None:
    gradient_check(built(name, layers=1), captioned(1)).require()


@every_network
@pytest.mark.parametrize("layers", [1, 2])
def test_parameters_are_counted_and_saved(name: str, layers: int, tmp_path: Path) -> None:
    network = built(name, np.float32, layers=layers)
    assert network.configuration.count() == network.count()
    save_weights(network, tmp_path / "w.safetensors")
    other = built(name, np.float32, layers=layers)
    other.theta.values[:] = 0
    load_weights(other, tmp_path / "w.safetensors")
    np.testing.assert_array_equal(other.theta.values, network.theta.values)


@every_network
def test_steps_equal_one_pass(name: str) -> None:
    network, references = built(name), np.array([[START, 5, 6], [START, 7, 8]])
    source = Batch(pixels(2), np.arange(3))
    whole = value_of(network(Batch.pack(list(references), source))).reshape(2, 3, VOCABULARY)
    state = network.encode(source)
    for t, labels in enumerate(references.T):
        logits, state = network.step(state, labels)
        np.testing.assert_allclose(logits, whole[:, t], atol=1e-12)


@every_network
def test_an_image_alone_and_among_others(name: str) -> None:
    network, batch = built(name), captioned()
    together = value_of(network(batch))
    alone = [value_of(network(shard)) for shard in batch.shards(3)]
    np.testing.assert_allclose(np.concatenate(alone), together, atol=1e-12)
    hidden = built(name, dropout=0.5)
    run = ForwardContext(DropoutKey(3, 1))
    shards = [value_of(hidden(shard, run)) for shard in batch.shards(3)]
    np.testing.assert_allclose(np.concatenate(shards), value_of(hidden(batch, run)), atol=1e-12)


@every_network
def test_the_caption_depends_on_the_image(name: str) -> None:
    network = built(name)
    one, other = (network.encode(Batch(pixels(1, seed), np.arange(2))) for seed in (0, 1))
    first, second = (network.step(state, np.array([START]))[0] for state in (one, other))
    assert np.abs(first - second).max() > 1e-6


def test_the_decoder_is_that_of_a_translator() -> None:
    network = built("transformer")
    assert isinstance(network, PatchTransformer)
    assert {type(block) for block in network.decoder} == {DecoderBlock}
    for name in ("step", "encode", "before_output", "attention", "alignment"):
        assert getattr(PatchTransformer, name) is getattr(Transformer, name)
    for name in ("step", "encode", "before_output"):
        assert getattr(ConvolutionalDecoder, name) is getattr(EncoderDecoder, name)


@pytest.mark.ledger("B-7.1-tasks-d")
@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "transformer"])
def test_a_decoder_that_begins_with_a_vector_of_the_image_learns_captions(name: str) -> None:
    """Figure 7.1 (d): convolutions make a vector, a sequence decoder writes the sentence from it alone."""
    network = built(name, np.float32, filters=(4, 8), depth=8, units=16)
    images = pixels(3)
    batch = Batch.pairs([image[None] for image in images], CAPTIONS)
    index, optimizer = LossIndex(), Adam()
    for _ in range(60):
        optimizer.update(network.theta, index.differentiate(network, batch)[1], 0.02)
    for method in (Greedy(), Beam(2)):
        found = decode(network, [image[None] for image in images], method, 8)
        assert [list(hypotheses[0].labels) for hypotheses in found] == [caption[1:-1] for caption in CAPTIONS]
    state = network.encode(Batch(images, np.arange(4)))
    assert state.attended is None, "nothing else of the image is seen"
    assert state.states[0][0].shape == (3, 16)
    swapped = decode(network, [images[1][None]], Greedy(), 8)
    assert list(swapped[0][0].labels) == CAPTIONS[1][1:-1]


def test_attention_over_patches() -> None:
    network, batch = built("transformer"), captioned()
    weights = network.alignment(batch)
    assert weights.shape == (3, 5, 4), "captions of up to five labels look at 2 x 2 patches"
    np.testing.assert_allclose(weights[0, :3].sum(axis=1), 1)
    with pytest.raises(ConfigurationError, match="begins with a vector of the whole image"):
        built("convolutional-gru").alignment(batch)


@pytest.mark.parametrize(
    ("name", "changes", "error"),
    [
        ("transformer", {"patch": 3}, "patches of 3 x 3 pixels do not cut images of 8 x 4 exactly"),
        ("transformer", {"tied": "all"}, "images have none"),
        ("convolutional-gru", {"filters": (2, 2, 2)}, "too small to be halved 3 times"),
        ("convolutional-gru", {"filters": ()}, "a number for each convolution"),
    ],
)
def test_settings_that_do_not_fit(name: str, changes: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        built(name, **changes)


@every_network
def test_images_of_another_size(name: str) -> None:
    with pytest.raises(ShapeError, match=r"expected images of shape \(8, 4, 3\)"):
        built(name).encode(Batch(np.zeros((1, 4, 4, 3), np.uint8), np.arange(2)))


@every_network
def test_every_parameter_belongs_to_a_part_that_can_be_trained_alone(name: str) -> None:
    names = {parameter.partition(".")[0] for parameter, _ in built(name).named_parameters()}
    assert names <= {*PARTS_OF["encoder"], *PARTS_OF["decoder"]}
