"""A model directory: all that is needed to translate, and what it was trained on.

model.json               format version, the network's configuration, data, parts, how training went
weights.safetensors      the best weights so far, replaced whole
source-tokenizer.json, reference-tokenizer.json
configuration.toml       the resolved configuration of its training
history.jsonl            one line for every evaluation
testing.tsv.gz           the pairs it was not trained on, for `dragoman evaluate`
checkpoints/             what `dragoman train` resumes from; not needed to translate
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field

from dragoman import __version__
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.networks import (
    ARCHITECTURES,
    Architecture,
    Configuration,
    ModelConfiguration,
    SequenceModel,
    load_weights,
    save_weights,
)
from dragoman.training.checkpoints import PARTIAL, replace_file, told_failures

VERSION = 1
Side = Literal["source", "reference"]
SIDES: tuple[Side, Side] = ("source", "reference")
FILES = (
    "model.json",
    "weights.safetensors",
    "configuration.toml",
    "history.jsonl",
    "testing.tsv.gz",
    "checkpoints",
    *(f"{side}-tokenizer.json" for side in SIDES),
)


class DataFacts(Configuration):
    """What a model was trained on."""

    files: tuple[str, ...] = ()
    digest: str = ""
    parts: dict[str, int] = Field(default_factory=dict)
    split: str = ""
    shares: tuple[float, float, float] = (1.0, 0.0, 0.0)


class ModelFacts(Configuration):
    """model.json."""

    format: int = VERSION
    task: str = "translation"
    dragoman: str = __version__
    architecture: str = "transformer"
    network: ModelConfiguration
    parameters: int = Field(ge=1)
    longest: tuple[int, int] = Field(default=(64, 64))  # labels of the longest source and reference trained on
    protect: bool = False
    preset: str | None = None
    recipe: str = ""
    seed: int = 0
    data: DataFacts = DataFacts()
    training: dict[str, Any] = Field(default_factory=dict)  # steps, epochs, seconds, why it ended


def save_facts(facts: ModelFacts, directory: Path) -> None:
    replace_file(directory / "model.json", json.dumps(facts.model_dump(mode="json"), ensure_ascii=False, indent=2))


def load_facts(directory: Path) -> ModelFacts:
    path = directory / "model.json"
    if not directory.is_dir():
        raise FileFormatError(f"{directory} is not a directory; a model is what `dragoman train --out` writes")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        version = told.get("format")
    except FileNotFoundError:
        raise FileFormatError(f"{directory} holds no model: there is no model.json in it") from None
    except (OSError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
    if version != VERSION:
        raise FileFormatError(
            f"{directory} has model format {version}, this program ({__version__}) reads {VERSION}; "
            "was it written by a later one?"
        )
    try:
        architecture = _architecture(told.get("architecture", "transformer"))
        return ModelFacts(**{**told, "network": architecture.configuration(**told.get("network", {}))})
    except (ConfigurationError, TypeError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def _architecture(name: object) -> Architecture:
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise ConfigurationError(f"there is no architecture '{name}'; was it written by a later version?")
    return ARCHITECTURES[name]


def save_network(network: SequenceModel, directory: Path) -> None:
    """Replace the weights whole: a reader sees the old ones or the new ones."""
    work = directory / f"{PARTIAL}weights.safetensors"
    try:
        save_weights(network, work)
        work.chmod(0o666 & ~_umask())  # safetensors lets nobody else read what it writes
        work.replace(directory / "weights.safetensors")
    finally:
        work.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_network(facts: ModelFacts, directory: Path) -> SequenceModel:
    path = directory / "weights.safetensors"
    if not path.is_file():
        raise FileFormatError(
            f"{directory} has no weights yet: its training has not come to a first evaluation; "
            "give the same train command again to go on"
        )
    network = ARCHITECTURES[facts.architecture].build(facts.network)
    load_weights(network, path)
    return network


def save_tokenizers(tokenizers: tuple[Tokenizer, Tokenizer], directory: Path) -> None:
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        tokenizer.save(directory / f"{side}-tokenizer.json")


def load_tokenizers(facts: ModelFacts, directory: Path) -> tuple[Tokenizer, Tokenizer]:
    source, reference = (Tokenizer.load(directory / f"{side}-tokenizer.json") for side in SIDES)
    sizes = (source.size, reference.size)
    wanted = (facts.network.source_vocabulary, facts.network.reference_vocabulary)
    if sizes != wanted:
        raise FileFormatError(f"{directory}: its tokenizers have {sizes} labels, its network {wanted}")
    return source, reference


def save_configuration(settings: Configuration, directory: Path) -> None:
    """The resolved configuration, as the TOML that would give it again; what is None is left out."""
    text = tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))
    replace_file(directory / "configuration.toml", text)


def save_testing(pairs: Iterable[tuple[str, str]], directory: Path) -> None:
    """The testing part as TSV; tabs and line ends inside a text become spaces, as they do in labels."""
    path, work = directory / "testing.tsv.gz", directory / f"{PARTIAL}testing.tsv.gz"
    with told_failures(directory):
        try:
            with work.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
                for pair in pairs:
                    packed.write(("\t".join(" ".join(text.split()) for text in pair) + "\n").encode())
            work.replace(path)
        finally:
            work.unlink(missing_ok=True)


def load_testing(directory: Path) -> list[tuple[str, str]]:
    path = directory / "testing.tsv.gz"
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            return [(source, reference) for source, reference in (line.rstrip("\n").split("\t") for line in lines)]
    except FileNotFoundError:
        raise FileFormatError(f"{directory} keeps no testing pairs; name a file of pairs to evaluate on") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
