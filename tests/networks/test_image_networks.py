"""Networks that read images: the vision transformer, the convolutional network, and those of the sheet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import gradient_check, value_of
from dragoman.layers import ForwardContext
from dragoman.networks import (
    IMAGE_ENCODERS,
    ClassTokenConfiguration,
    ClassTokenEncoder,
    Encoder,
    EncoderConfiguration,
    VisionTransformerConfiguration,
    load_weights,
    save_weights,
)
from dragoman.networks.images import choose_patch
from dragoman.operations import DropoutKey, patches

SIZES = {"height": 4, "width": 8, "channels": 3, "mean": (0.2, 0.4, 0.6), "deviation": (0.1, 0.2, 0.3), "outputs": 5}
SETTINGS: dict[str, dict[str, Any]] = {
    "transformer": {"depth": 4, "perceptron_depth": 3, "heads": 2, "layers": 1, "patch": (2, 4), "block": "pre"},
    "convolutional": {"filters": 2, "units": 3},
    "two-layer": {"depth": 3},
    "class-token": {"depth": 3},
}
every_network = pytest.mark.parametrize("name", SETTINGS)


def built(name: str, dtype: Any = np.float64, **changes: Any) -> Any:
    architecture = IMAGE_ENCODERS[name]
    return architecture.build(architecture.configured({**SETTINGS[name], **changes}, SIZES), 1, dtype)


def images(count: int, seed: int = 0) -> Batch:
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 4, 8, 3), np.uint8)
    return Batch(pixels, np.arange(count + 1), np.arange(count) % 5, per="sample")


def test_every_architecture_is_tested():
    assert set(SETTINGS) == set(IMAGE_ENCODERS)


@every_network
def test_every_parameter_has_its_derivative(name):
    gradient_check(built(name), images(2)).require()


@every_network
def test_parameters_are_counted_and_saved(name, tmp_path):
    network = built(name, np.float32)
    assert network.configuration.count() == network.count()
    save_weights(network, tmp_path / "w.safetensors")
    other = IMAGE_ENCODERS[name].build(network.configuration, 7)
    load_weights(other, tmp_path / "w.safetensors")
    np.testing.assert_array_equal(value_of(other.plain(images(3))), value_of(network.plain(images(3))))


@every_network
def test_an_image_gives_the_same_alone_and_in_any_batch(name):
    network, batch = built(name), images(4)
    together = value_of(network.plain(batch))
    assert together.shape == (4, 5)
    for i in range(4):
        alone = Batch(batch.labels[i : i + 1], np.arange(2), per="sample")
        np.testing.assert_allclose(value_of(network.plain(alone))[0], together[i], atol=1e-12)


@pytest.mark.parametrize("name", ["transformer", "convolutional"])
def test_shards_drop_what_the_whole_batch_drops(name):
    network, batch = built(name, dropout=0.5), images(5)
    run = ForwardContext(DropoutKey(3, 1))
    whole = value_of(network(batch, run))
    parts = np.concatenate([value_of(network(shard, run)) for shard in batch.shards(3)])
    np.testing.assert_allclose(parts, whole, atol=1e-12)
    assert np.abs(whole - value_of(network(batch))).max() > 1e-3


@pytest.mark.ledger("L-7-vit", "B-7.5-images")
@pytest.mark.parametrize("pooling", ["class_token", "mean"])
def test_a_vision_transformer_is_the_encoder_of_standardized_patches(pooling):
    network, batch = built("transformer", pooling=pooling), images(3)
    c = network.configuration
    same = EncoderConfiguration(**{name: getattr(c, name) for name in EncoderConfiguration.model_fields})
    encoder = Encoder(same, 1, np.float64)
    encoder.theta.assign(network.theta.values)
    x = (batch.labels / 255 - SIZES["mean"]) / np.array(SIZES["deviation"])
    rows = Batch(value_of(patches(x, size=(2, 4))), np.arange(4) * 4)
    np.testing.assert_allclose(value_of(network.plain(batch)), value_of(encoder.plain(rows)), atol=1e-12)
    tokens = 4 + (pooling == "class_token")
    assert network.attention(batch)["blocks.0.self_attention"].shape == (3, 2, tokens, tokens)
    rows, samples = network.features(batch)
    assert (rows.shape, samples.shape) == ((12, 4), (3, 4))
    assert dict(network.named_arrays())["embedding.position_table"].shape == (4, 4)


def test_the_sheets_encoder_reads_rows_of_pixels():
    network, batch = built("class-token"), images(2)
    plain = ClassTokenEncoder(ClassTokenConfiguration(inputs=24, depth=3, attention_depth=3, classes=5), 1, np.float64)
    rows = Batch(batch.labels.reshape(8, 24).astype(float), np.array([0, 4, 8]))
    np.testing.assert_allclose(value_of(network(batch)), value_of(plain(rows)))


@pytest.mark.parametrize(("side", "patch"), [(8, 4), (28, 4), (32, 4), (64, 8), (12, 4), (9, 3), (6, 2)])
def test_the_patch_follows_from_the_size(side, patch):
    assert choose_patch(side, side) == (patch, patch)


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(ConfigurationError, match="29 pixels cannot be cut into equal patches; resize"):
        choose_patch(29, 28)
    with pytest.raises(ConfigurationError, match="patches of 3 x 3 pixels do not cut images of 4 x 8 exactly"):
        VisionTransformerConfiguration(**SIZES, patch=3)
    assert VisionTransformerConfiguration(**SIZES, patch=4).grid == (1, 2)


def test_images_of_another_shape_are_refused():
    small = Batch(np.zeros((2, 4, 4, 3), np.uint8), np.arange(3), per="sample")
    for name in SETTINGS:
        with pytest.raises(ShapeError, match=r"expected images of shape \(4, 8, 3\)"):
            built(name)(small)
    with pytest.raises(ConfigurationError, match="too small to be halved 2 times"):
        IMAGE_ENCODERS["convolutional"].configured({}, {**SIZES, "height": 3})
