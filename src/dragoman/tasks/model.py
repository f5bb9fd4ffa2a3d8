"""A model directory: all that is needed to translate, and what it was trained on.

model.json               format version, the network's configuration, data, parts, how training went
weights.safetensors      the best weights so far, replaced whole
source-tokenizer.json, target-tokenizer.json
configuration.toml       the resolved configuration of its training
history.jsonl            one line for every evaluation
testing.tsv.gz           the pairs it was not trained on, for `dragoman evaluate`
checkpoints/             what `dragoman train` resumes from; not needed to translate
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shlex
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from dragoman import __version__
from dragoman.data.cache import file_digest
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError, FileFormatError, NonFiniteError
from dragoman.graph import value_of
from dragoman.networks import (
    ARCHITECTURES,
    Architecture,
    Configuration,
    ModelConfiguration,
    SequenceModel,
    load_weights,
    save_weights,
)
from dragoman.networks.sizes import LONGEST
from dragoman.networks.tensors import count_values
from dragoman.tasks.renamed import CONFIGURATION_FORMAT, with_current_names
from dragoman.training import checkpoints
from dragoman.training.checkpoints import LATEST, PARTIAL, explain_write_errors, replace_file

VERSION = 1
TASK = "translation"
Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
WEIGHTS = "weights.safetensors"
COPY = "copy the model again, or train it again"
FILES = (
    "model.json",
    WEIGHTS,
    "configuration.toml",
    "history.jsonl",
    "testing.tsv.gz",
    "checkpoints",
    *(f"{side}-tokenizer.json" for side in SIDES),
)


class DataMetadata(Configuration):
    """What a model was trained on."""

    files: tuple[str, ...] = ()
    digest: str = ""
    parts: dict[str, int] = Field(default_factory=dict)
    split: str = ""
    shares: tuple[float, float, float] = (1.0, 0.0, 0.0)

    @property
    def split_description(self) -> str:
        """How the data were split, in words."""
        return "parts as given" if self.split == "given" else f"split by {self.split}"


class TrainingMetadata(BaseModel):
    """The results of a training that other code reads."""

    model_config = ConfigDict(extra="allow")

    steps: int = Field(default=0, ge=0)
    epochs: FiniteFloat = 0.0
    seconds: FiniteFloat = 0.0
    ended: str | None = None


def _checked(training: dict[str, Any]) -> dict[str, Any]:
    TrainingMetadata.model_validate(training)
    return training


Length = Annotated[int, Field(ge=0, le=LONGEST)]


class ModelMetadata(Configuration):
    """model.json."""

    format: int = VERSION
    task: str = TASK
    dragoman: str = __version__
    architecture: str = "transformer"
    network: ModelConfiguration
    parameters: int = Field(ge=1)
    longest: tuple[Length, Length] = (64, 64)  # labels of the longest source and reference trained on
    protect: bool = False
    teaching: int = 1  # version of the augmentation with stand-ins (data/augmentation.py)
    preset: str | None = None
    recipe: str = ""
    seed: int = 0
    data: DataMetadata = DataMetadata()
    tokenizers: dict[str, str] = Field(default_factory=dict)  # SHA-256 of each file; earlier versions wrote none
    training: Annotated[dict[str, Any], AfterValidator(_checked)] = Field(default_factory=dict)  # see TrainingMetadata


class DamagedMetadataError(FileFormatError):
    """A missing or damaged model.json; `reason` is the message without advice."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason


def save_metadata(metadata: ModelMetadata, directory: Path) -> None:
    replace_file(directory / "model.json", json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False, indent=2))


def load_metadata(directory: Path) -> ModelMetadata:
    """Read model.json. Errors name the command that restores it."""
    path = directory / "model.json"
    if not directory.is_dir():
        raise FileFormatError(f"{directory} is not a directory; a model is what `dragoman train --out` writes")
    try:
        found = _read_object(path)
        version = found.get("format")
        if not isinstance(version, int):
            raise ConfigurationError("it has no format version")
        if version != VERSION:
            raise FileFormatError(
                f"{directory} has model format {version}, this program ({__version__}) reads {VERSION}; "
                "was it written by a later one?"
            )
        return _metadata(found, path)
    except FileNotFoundError:
        if not (directory / "configuration.toml").is_file():
            raise FileFormatError(f"{directory} holds no model: there is no model.json in it") from None
        raise DamagedMetadataError(f"{path} is missing", _advice(directory)) from None
    except (ConfigurationError, TypeError) as error:
        raise DamagedMetadataError(f"{path}: {error}", _advice(directory)) from None
    except OSError as error:  # the file itself may be intact
        raise FileFormatError(f"{path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise DamagedMetadataError(f"{path} cannot be read: {error}", _advice(directory)) from None


def _read_object(path: Path) -> dict[str, Any]:
    found = with_current_names(json.loads(path.read_text(encoding="utf-8")))
    if not isinstance(found, dict):
        raise ValueError(f"it holds {_kind_of(found)}, expected an object")
    return found


def _metadata(found: dict[str, Any], path: Path) -> ModelMetadata:
    task, network = found.get("task", TASK), found.get("network", {})
    if task != TASK:
        raise ConfigurationError(f"unknown task {task!r}, expected {TASK!r}")
    if not isinstance(network, dict):
        raise ConfigurationError(f"network is {_kind_of(network)}, expected an object")
    architecture = _architecture(found.get("architecture", "transformer"), path)
    return ModelMetadata(**{**found, "network": architecture.configuration(**network)})


def _kind_of(value: object) -> str:
    """Return the JSON name of a value's type."""
    kinds = {list: "a list", dict: "an object", str: "a text", int: "a number", float: "a number", type(None): "null"}
    return kinds.get(type(value), f"{value!r}")


def _architecture(name: object, path: Path) -> Architecture:
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise FileFormatError(f"{path}: unknown architecture '{name}'; was it written by a later version?")
    return ARCHITECTURES[name]


def check_weights(network: SequenceModel, directory: Path) -> None:
    """Raise an error instead of saving NaN or infinity."""
    for name, parameter in network.named_parameters():
        if not np.isfinite(value_of(parameter)).all():
            raise NonFiniteError(
                f"{name} holds values that are not finite, so nothing is written to {directory}; load the model again, "
                "or train it again with a lower learning rate"
            )


def save_network(network: SequenceModel, directory: Path) -> None:
    """Replace the weights atomically."""
    check_weights(network, directory)
    work = directory / f"{PARTIAL}{WEIGHTS}"
    try:
        save_weights(network, work)
        work.chmod(0o666 & ~_umask())  # safetensors writes files that only their owner can read
        checkpoints._to_disk(work)
        work.replace(directory / WEIGHTS)
    finally:
        work.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_network(metadata: ModelMetadata, directory: Path) -> SequenceModel:
    if _just_begun(metadata, directory):
        raise FileFormatError(
            f"{directory} has no weights yet: its training has not reached the first evaluation; "
            "run the same train command again to resume it"
        )
    check_size(metadata, directory)
    network = ARCHITECTURES[metadata.architecture].build(metadata.network)
    with advised(directory):
        if not (directory / WEIGHTS).exists():
            raise FileFormatError(f"{directory / WEIGHTS} is missing")
        load_weights(network, directory / WEIGHTS)
    return network


def _just_begun(metadata: ModelMetadata, directory: Path) -> bool:
    """Return whether training has not reached its first evaluation, so that there are no weights yet."""
    expected = (WEIGHTS, f"checkpoints/{checkpoints.BEST}")
    return not metadata.training and not any((directory / name).exists() for name in expected)


def check_size(metadata: ModelMetadata, directory: Path) -> None:
    """Raise an error if a network has more parameters than its weights file, before allocating them."""
    path, needed = directory / WEIGHTS, metadata.network.count()
    if not path.exists():
        return
    with advised(directory):
        held = count_values(path)
        if needed > held:
            raise FileFormatError(
                f"{directory / 'model.json'} describes a network of {needed:,} parameters, {path} holds {held:,}: "
                "one of them is damaged or belongs to another model"
            )


def check_files(metadata: ModelMetadata, directory: Path) -> None:
    """Raise an error that names the first file that is missing or damaged."""
    load_tokenizers(metadata, directory)
    if not _just_begun(metadata, directory):
        load_network(metadata, directory)


@contextmanager
def advised(directory: Path) -> Iterator[None]:
    """Add advice to errors about the files of a model."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(f"{error}; {_advice(directory)}") from None


def _advice(directory: Path) -> str:
    if not _can_be_restored(directory):
        return COPY
    place, settings = shlex.quote(str(directory)), shlex.quote(str(directory / "configuration.toml"))
    return f"run `dragoman train {settings} --out {place}` to restore it"


def _can_be_restored(directory: Path) -> bool:
    return (directory / "configuration.toml").is_file() and (directory / "checkpoints" / LATEST).is_file()


def tokenizer_path(directory: Path, side: Side) -> Path:
    """Return the path of a tokenizer; version 0.1.0 called the target side the reference."""
    before = directory / "reference-tokenizer.json"
    return before if side == "target" and before.exists() else directory / f"{side}-tokenizer.json"


def tokenizer_checksums(tokenizers: tuple[Tokenizer, Tokenizer]) -> dict[str, str]:
    """Compute the checksums of the files that `save_tokenizers` writes, by side."""
    texts = zip(SIDES, tokenizers, strict=True)
    return {side: hashlib.sha256(tokenizer.to_json().encode()).hexdigest() for side, tokenizer in texts}


def save_tokenizers(tokenizers: tuple[Tokenizer, Tokenizer], directory: Path) -> None:
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        replace_file(tokenizer_path(directory, side), tokenizer.to_json())


def load_tokenizer(metadata: ModelMetadata, directory: Path, side: Side) -> Tokenizer:
    path, expected = tokenizer_path(directory, side), metadata.tokenizers.get(side)
    if not path.exists():
        raise FileFormatError(f"{path} is missing")
    if expected is not None and file_digest(path) != expected:
        raise FileFormatError(f"{path} is damaged: it does not match its checksum in model.json")
    return Tokenizer.load(path)


def load_tokenizers(metadata: ModelMetadata, directory: Path) -> tuple[Tokenizer, Tokenizer]:
    with advised(directory):
        source, reference = (load_tokenizer(metadata, directory, side) for side in SIDES)
    sizes = (source.size, reference.size)
    wanted = (metadata.network.source_vocabulary, metadata.network.target_vocabulary)
    if sizes != wanted:
        raise FileFormatError(f"{directory}: its tokenizers have {sizes} tokens, its network {wanted}")
    return source, reference


def save_configuration(settings: Configuration, directory: Path) -> None:
    """Save the resolved configuration as TOML; settings that are None are left out."""
    dumped = settings.model_dump(mode="json", exclude_none=True)
    text = tomli_w.dumps({"configuration_format": CONFIGURATION_FORMAT, **dumped})
    replace_file(directory / "configuration.toml", text)


def save_testing(pairs: Iterable[tuple[str, str]], directory: Path) -> None:
    """Save the testing part as TSV; tabs and line ends in a text become spaces, as in tokenizers."""
    path, work = directory / "testing.tsv.gz", directory / f"{PARTIAL}testing.tsv.gz"
    with explain_write_errors(directory, "the testing part"):
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
        raise FileFormatError(f"{directory} has no testing pairs; give a file of pairs to evaluate on") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
