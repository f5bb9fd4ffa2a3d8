"""A model directory gives back the same translator, and says what is wrong with it when it does not."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Translator
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import DataError, DragomanError, FileFormatError, NonFiniteError
from dragoman.tasks.model import load_metadata
from dragoman.tasks.translation.testing import load_testing, save_testing
from dragoman.tasks.translation.translator import DecodingOptions
from tests.tasks.models import PAIRS

TEXTS = [source for source, _ in PAIRS[::40]] + ["My 3 friends see {name} at 10:30.", "Unknown ñandú words"]


@pytest.fixture
def model(undertrained: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(undertrained, tmp_path / "model"))


def test_saved_and_loaded_it_translates_the_same(translator: Translator, tmp_path: Path) -> None:
    translator.save(tmp_path / "deep" / "copy")
    again = Translator.load(tmp_path / "deep" / "copy")
    assert again.translations(TEXTS, DecodingOptions(alternatives=3)) == translator.translations(
        TEXTS, DecodingOptions(alternatives=3)
    )
    assert again.score(PAIRS[:5]) == translator.score(PAIRS[:5])
    assert again.metadata == translator.metadata
    np.testing.assert_array_equal(again.network.theta.values, translator.network.theta.values)


def test_what_translating_needs_is_little(model: Path, translator: Translator) -> None:
    """No checkpoint, no history, no configuration, no testing part."""
    for path in model.iterdir():
        if path.name not in (
            "model.json",
            "weights.safetensors",
            "source-tokenizer.json",
            "target-tokenizer.json",
        ):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert Translator.load(model).translations(TEXTS) == translator.translations(TEXTS)


def test_whoever_may_read_the_directory_may_read_the_weights(undertrained: Path) -> None:
    """A model is trained by one user and served by another."""
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in undertrained.iterdir() if path.is_file()}
    assert modes["weights.safetensors"] == modes["model.json"] == modes["testing.tsv.gz"]


def remove(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).unlink()


def pipe(name: str) -> Callable[[Path], object]:
    def damage(model: Path) -> None:
        (model / name).unlink()
        os.mkfifo(model / name)

    return damage


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda model: (model / name).write_text(text, encoding="utf-8")


def cut(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).write_bytes((model / name).read_bytes()[:-100])


def change(**metadata: Any) -> Callable[[Path], object]:
    def damage(model: Path) -> None:
        told = json.loads((model / "model.json").read_text(encoding="utf-8"))
        (model / "model.json").write_text(json.dumps({**told, **metadata}), encoding="utf-8")

    return damage


def other_tokenizer(model: Path) -> None:
    """In a model that has no checksums."""
    change(encoders={})(model)
    Tokenizer.train(["a b c"] * 9).save(model / "source-tokenizer.json")


def unchecked_and_cut(model: Path) -> None:
    change(encoders={})(model)
    cut("source-tokenizer.json")(model)


def just_begun(model: Path) -> None:
    """Killed before its first evaluation."""
    change(training={})(model)
    shutil.rmtree(model / "checkpoints")
    (model / "weights.safetensors").unlink()


def other_network(**settings: Any) -> Callable[[Path], object]:
    def damage(model: Path) -> None:
        told = json.loads((model / "model.json").read_text(encoding="utf-8"))
        change(network={**told["network"], **settings})(model)

    return damage


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (remove("model.json"), r"model\.json is missing; run `dragoman train "),
        (pipe("weights.safetensors"), r"weights\.safetensors is not a regular file; copy the model again"),
        (pipe("source-tokenizer.json"), r"source-tokenizer\.json is not a regular file"),
        (remove("weights.safetensors"), r"weights\.safetensors is missing; run `dragoman train "),
        (just_begun, "has no weights yet.*run the same train command again to resume it"),
        (remove("source-tokenizer.json"), r"source-tokenizer\.json is missing; run `dragoman train "),
        (remove("target-tokenizer.json"), r"target-tokenizer\.json is missing; run `dragoman train "),
        (write("model.json", '{"format": 1'), r"model\.json cannot be read"),
        (write("model.json", "[]"), r"model\.json cannot be read"),
        (write("model.json", "{}"), r"model\.json: it has no format version"),
        (write("model.json", '{"format": 1}'), r"model\.json: .*source_vocabulary: Field required"),
        (write("model.json", '{"format": 1, "network": 3}'), r"model\.json: network is a number"),
        (write("model.json", '{"format": 1, "network": [1]}'), r"model\.json: network is a list"),
        (change(format=2), r"has model format 2, this program \(.*\) reads 1; was it written by a later one\?"),
        (change(surprise=1), r"model\.json: .*surprise"),
        (change(longest="long"), r"model\.json: .*longest"),
        (change(data={"digest": 1}), r"model\.json: .*digest"),
        (other_tokenizer, r"its encoders give source_vocabulary = \d+, its network has \d+"),
        (write("source-tokenizer.json", "{"), r"source-tokenizer\.json is damaged: it does not match its checksum"),
        (cut("source-tokenizer.json"), r"source-tokenizer\.json is damaged: it does not match its checksum"),
        (unchecked_and_cut, r"source-tokenizer\.json cannot be read as a tokenizer"),
        (cut("weights.safetensors"), r"weights\.safetensors cannot be read as safetensors"),
        (write("weights.safetensors", "{}"), r"weights\.safetensors cannot be read as safetensors"),
        (other_network(layers=2), r"describes a network of [\d,]+ parameters, .*weights\.safetensors holds [\d,]+:"),
        (other_network(perceptron_depth=16), r"weights\.safetensors: .* has shape .* but this network expects"),
        (other_network(positions="none"), r"weights\.safetensors was saved from another network"),
    ],
)
def test_a_damaged_directory_is_told(damage: Callable[[Path], object], expected: str, model: Path) -> None:
    damage(model)
    with pytest.raises(FileFormatError, match=expected) as told:
        Translator.load(model)
    assert str(model) in str(told.value)


def test_what_is_no_directory_is_told(undertrained: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "gone", undertrained / "model.json"):
        with pytest.raises(FileFormatError, match="is not a directory; a model is what `dragoman train --out` writes"):
            Translator.load(path)
        with pytest.raises(FileFormatError, match="is not a directory"):
            load_metadata(path)
    with pytest.raises(FileFormatError, match="holds no model"):
        Translator.load(str(tmp_path))


def test_a_directory_that_cannot_be_written_is_told(translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DragomanError, match="file") as told:
        translator.save(tmp_path / "file")
    assert "checkpoint" not in str(told.value), "nobody asked for a checkpoint"


# The testing part


def test_the_testing_part_comes_back(tmp_path: Path) -> None:
    pairs = [("a, b", "ñ «c»"), ("tabs\tand\nlines  here", "x\r\ny\x85z"), ("\ue000 5", "–")]
    save_testing(pairs, tmp_path)
    assert load_testing(tmp_path) == [("a, b", "ñ «c»"), ("tabs and lines here", "x y z"), ("\ue000 5", "–")]
    once = (tmp_path / "testing.tsv.gz").read_bytes()
    save_testing(pairs, tmp_path)
    assert (tmp_path / "testing.tsv.gz").read_bytes() == once, "the same pairs, the same file"


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0x5A for byte in data[middle : middle + 20]) + data[middle + 20 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-9],
        lambda data: data[: len(data) // 2],
        flipped,
        lambda data: b"not gzip at all",
        lambda data: gzip.compress(b"one column\n"),
        lambda data: gzip.compress(b"a\tb\tc\n"),
        lambda data: gzip.compress(b"caf\xe9\tb\n"),
    ],
    ids=["no end", "half", "flipped", "no gzip", "one column", "three columns", "latin-1"],
)
def test_a_damaged_testing_part_is_told(damage: Callable[[bytes], bytes], model: Path) -> None:
    path = model / "testing.tsv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FileFormatError, match=r"testing\.tsv\.gz cannot be read"):
        load_testing(model)


def test_without_a_testing_part_a_file_is_asked_for(model: Path) -> None:
    (model / "testing.tsv.gz").unlink()
    with pytest.raises(FileFormatError, match="has no testing pairs; give a file of pairs to evaluate on"):
        load_testing(model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_never_replace_good_ones(model: Path, value: float) -> None:
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    spoilt = Translator.load(model)
    spoilt.network.theta.values[-1] = value
    with pytest.raises(NonFiniteError, match=rf"holds values that are not finite, so nothing is written to {model}"):
        spoilt.save(model)
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    with pytest.raises(NonFiniteError):
        spoilt.save(model.with_name("other"))
    assert not model.with_name("other").exists()


@pytest.mark.parametrize("choice", [{"beam": 1}, {"beam": 4}, {"sample": True}, {"beam": 1, "scored": True}])
def test_weights_that_are_not_finite_translate_nothing(model: Path, choice: dict[str, Any]) -> None:
    spoilt = Translator.load(model)
    spoilt.network.theta.values[:] = np.nan
    with pytest.raises(NonFiniteError, match="check the network's weights"):
        spoilt.translate(TEXTS, **choice)


def test_a_testing_part_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    def pairs() -> Iterator[tuple[str, str]]:
        yield PAIRS[0]
        raise DataError("it broke")

    with pytest.raises(DataError, match="it broke"):
        save_testing(pairs(), tmp_path)
    assert not list(tmp_path.iterdir())
