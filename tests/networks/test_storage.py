"""Weights on disk: what comes back is what was saved, and every other file is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dragoman.errors import FileFormatError
from dragoman.graph import Array
from dragoman.networks import load_weights, save_weights
from tests.networks.small_networks import RAGGED, logits_of, small_transformer


@pytest.mark.ledger("T-3-persist")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings", [{}, {"block": "pre", "tied": "all", "layers": 2}, {"positions": "relative", "attention_biases": False}]
)
def test_a_reloaded_network_gives_identical_outputs(settings: dict[str, Any], dtype: Any, tmp_path: Path) -> None:
    saved, loaded = small_transformer(dtype, **settings), small_transformer(dtype, seed=1, **settings)
    save_weights(saved, tmp_path / "weights.safetensors")
    assert (logits_of(loaded, RAGGED) != logits_of(saved, RAGGED)).any()
    load_weights(loaded, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(loaded.theta.values, saved.theta.values)
    np.testing.assert_array_equal(logits_of(loaded, RAGGED), logits_of(saved, RAGGED))


@pytest.mark.ledger("T-3-persist")
def test_the_file_holds_the_published_parameters_and_nothing_else(tmp_path: Path) -> None:
    """Query, key and value weights are strided views of one block; safetensors would mangle them silently."""
    network = small_transformer()
    assert not dict(network.named_arrays())["encoder.0.self_attention.query.weights"].flags.c_contiguous
    save_weights(network, tmp_path / "weights.safetensors")
    stored = load_file(tmp_path / "weights.safetensors")
    assert stored.keys() == dict(network.named_arrays()).keys()
    for name, view in network.named_arrays():
        np.testing.assert_array_equal(stored[name], view)


PARAMETERS = len(dict(small_transformer().named_arrays()))


def save_changed(path: Path, change: Any, metadata: dict[str, str] | None = None) -> None:
    arrays = {name: np.ascontiguousarray(view) for name, view in small_transformer(np.float32).named_arrays()}
    save_file(change(arrays), path, metadata=metadata or {"format": "1"})


def renamed(arrays: dict[str, Array]) -> dict[str, Array]:
    return {f"model.{name}": a for name, a in arrays.items()}


def reshaped(arrays: dict[str, Array]) -> dict[str, Array]:
    return arrays | {"output.biases": np.zeros(9, np.float32)}


def transposed(arrays: dict[str, Array]) -> dict[str, Array]:
    name = "encoder.0.perceptron.hidden.weights"
    return arrays | {name: np.ascontiguousarray(arrays[name].T)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            renamed,
            rf"another network: it lacks decoder\.0\S+, \S+, \S+ and {PARAMETERS - 3} more and has model\.",
        ),
        (lambda a: {k: v for k, v in a.items() if k != "output.biases"}, r"lacks output\.biases and has nothing"),
        (lambda a: a | {"extra": a["output.biases"]}, "lacks nothing and has extra"),
        (reshaped, r"output\.biases has shape \(9,\), but this network expects \(5,\)"),
        (transposed, r"hidden\.weights has shape \(3, 4\), but this network expects \(4, 3\)"),
    ],
    ids=["renamed", "missing", "extra", "reshaped", "transposed"],
)
def test_another_networks_file_is_refused_and_changes_nothing(change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_changed(path, change)
    network = small_transformer(np.float32, seed=1)
    before = network.theta.values.copy()
    with pytest.raises(FileFormatError, match=message) as caught:
        load_weights(network, path)
    assert str(path) in str(caught.value)
    np.testing.assert_array_equal(network.theta.values, before)


@pytest.mark.parametrize("damage", ["absent", "empty", "text", "cut", "directory"])
def test_a_damaged_file_is_refused(damage: str, tmp_path: Path) -> None:
    path, network = tmp_path / "weights.safetensors", small_transformer(np.float32)
    if damage == "directory":
        path.mkdir()
    elif damage != "absent":
        save_weights(network, path)
        whole = path.read_bytes()
        path.write_bytes({"empty": b"", "text": b"not weights at all", "cut": whole[:-10]}[damage])
    with pytest.raises(FileFormatError, match=r"weights\.safetensors cannot be read as safetensors"):
        load_weights(network, path)


@pytest.mark.parametrize(
    ("change", "metadata"),
    [
        (lambda a: a, {"format": "99"}),
        (lambda a: {name: array.astype(np.int32) for name, array in a.items()}, {"format": "1"}),
        (lambda a: {name: array * np.float32(np.nan) for name, array in a.items()}, {"format": "1"}),
    ],
    ids=["later format", "integers", "not numbers"],
)
def test_a_file_of_another_kind_is_refused(change: Any, metadata: dict[str, str], tmp_path: Path) -> None:
    save_changed(tmp_path / "weights.safetensors", change, metadata)
    with pytest.raises(FileFormatError):
        load_weights(small_transformer(np.float32), tmp_path / "weights.safetensors")


def test_the_same_weights_give_the_same_file(tmp_path: Path) -> None:
    """The library writes the entries of its metadata in random order."""
    network = small_transformer(np.float32)
    files = [tmp_path / f"{i}.safetensors" for i in range(6)]
    for file in files:
        save_weights(network, file)
    assert len({file.read_bytes() for file in files}) == 1


def test_a_flipped_bit_is_damage_or_does_not_matter(tmp_path: Path) -> None:
    path, network = tmp_path / "weights.safetensors", small_transformer(np.float32)
    save_weights(network, path)
    whole, other, found = path.read_bytes(), small_transformer(np.float32, seed=1), 0
    flipped = range(0, len(whole), 13)
    for i in flipped:
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :])
        try:
            load_weights(other, path)
        except FileFormatError as error:
            found += 1
            assert str(path) in str(error)  # noqa: PT017
        else:
            np.testing.assert_array_equal(other.theta.values, network.theta.values)
    assert found > 0.9 * len(flipped)


def test_a_file_without_a_checksum_is_loaded(tmp_path: Path) -> None:
    """As earlier versions and other programs write it."""
    save_changed(tmp_path / "weights.safetensors", lambda arrays: arrays)
    network = small_transformer(np.float32, seed=1)
    load_weights(network, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(network.theta.values, small_transformer(np.float32).theta.values)
