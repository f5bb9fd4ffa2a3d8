"""A model directory: all that is needed to predict, and what it was trained on.

model.json               format version, task, the network's configuration, data, parts, how training went
weights.safetensors      the best weights so far, replaced whole
FIELD-tokenizer.json     the encoder of each field (also FIELD-classes.json, FIELD-scaler.json)
languages.json           of a translator: what tells its languages apart (text/language_id.py)
configuration.toml       the resolved configuration of its training
history.jsonl            one line for every evaluation
testing.*                the samples it was not trained on, for `dragoman evaluate`
golden.jsonl             some of them with the answers of the finished model (tasks/golden.py)
checkpoints/             what `dragoman train` resumes from; not needed to predict
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, SerializeAsAny

from dragoman import __version__
from dragoman.data.cache import file_digest
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, FileFormatError, NonFiniteError
from dragoman.graph import value_of
from dragoman.networks import Configuration, Network, load_weights, save_weights
from dragoman.networks.tensors import count_values
from dragoman.tasks.configuration import CONFIGURATION_FORMAT
from dragoman.tasks.task import DEFAULT, TASKS, find_task
from dragoman.training import checkpoints
from dragoman.training.checkpoints import LATEST, PARTIAL, explain_write_errors, replace_file

VERSION = 1
WEIGHTS = "weights.safetensors"
COPY = "copy the model again, or train it again"
SAMPLES = "testing.jsonl.gz"


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


class ModelMetadata(Configuration):
    """model.json; tasks add what is theirs."""

    format: int = VERSION
    task: str = DEFAULT
    dragoman: str = __version__
    architecture: str = "transformer"
    network: SerializeAsAny[Configuration]
    parameters: int = Field(ge=1)
    preset: str | None = None
    recipe: str = ""
    seed: int = 0
    data: DataMetadata = DataMetadata()
    encoders: dict[str, str] = Field(default_factory=dict)  # SHA-256 of each file; none before there were checksums
    files: dict[str, str] = Field(default_factory=dict)  # SHA-256 of what the task adds, by the name of the file
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
    if directory.suffix == ".zip" and directory.is_file():
        raise FileFormatError(f"{directory} is a file; `dragoman unpack {directory} --out MODEL` makes a model of it")
    if not directory.is_dir():
        raise FileFormatError(f"{directory} is not a directory; a model is what `dragoman train --out` writes")
    try:
        _check_regular(directory)
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


def _check_regular(directory: Path) -> None:
    """Refuse pipes and the like in a stranger's directory: reading one would wait for ever."""
    for path in directory.iterdir():
        if path.exists() and not path.is_file() and not path.is_dir():
            raise FileFormatError(f"{path} is not a regular file; {COPY}")


def _read_object(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"it holds {_kind_of(found)}, expected an object")
    return found


def _metadata(found: dict[str, Any], path: Path) -> ModelMetadata:
    name, network = found.get("task", DEFAULT), found.get("network", {})
    if not isinstance(name, str) or name not in TASKS:
        raise ConfigurationError(f"there is no task {name!r}; expected one of {', '.join(TASKS)}")
    if not isinstance(network, dict):
        raise ConfigurationError(f"network is {_kind_of(network)}, expected an object")
    task, architecture = find_task(name), found.get("architecture", "transformer")
    if not isinstance(architecture, str) or architecture not in task.architectures:
        raise FileFormatError(f"{path}: there is no architecture '{architecture}'; was it written by a later version?")
    return task.metadata(**{**found, "network": task.architectures[architecture].configuration(**network)})


def _kind_of(value: object) -> str:
    """Return the JSON name of a value's type."""
    kinds = {list: "a list", dict: "an object", str: "a text", int: "a number", float: "a number", type(None): "null"}
    return kinds.get(type(value), f"{value!r}")


def check_weights(network: Network, directory: Path) -> None:
    """Refuse to write NaN or infinity over what is good."""
    for name, parameter in network.named_parameters():
        if not np.isfinite(value_of(parameter)).all():
            raise NonFiniteError(
                f"{name} holds values that are not finite, so nothing is written to {directory}; load the model again, "
                "or train it again with a lower learning rate"
            )


def save_network(network: Network, directory: Path) -> None:
    """Replace the weights whole: a reader sees the old ones or the new ones."""
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


def load_network(metadata: ModelMetadata, directory: Path) -> Any:
    if _just_begun(metadata, directory):
        raise FileFormatError(
            f"{directory} has no weights yet: its training has not reached the first evaluation; "
            "run the same train command again to resume it"
        )
    check_size(metadata, directory)
    network: Any = find_task(metadata.task).architectures[metadata.architecture].build(metadata.network)
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
    """Refuse a network with more parameters than its file of weights, before any of them is allocated."""
    path, needed = directory / WEIGHTS, count_parameters(metadata.network)
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
    load_encoders(metadata, directory)
    load_files(metadata, directory)
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


def count_parameters(network: Any) -> int:
    """p of a network's configuration, without building the network."""
    return int(network.count())


def encoder_path(directory: Path, field: str, kind: Any) -> Path:
    """The file of a field's encoder."""
    return directory / f"{field}-{kind.file}.json"


def encoder_checksums(encoders: Encoders) -> dict[str, str]:
    """By field, of the files that `save_encoders` writes."""
    return {field: hashlib.sha256(encoder.to_json().encode()).hexdigest() for field, encoder in encoders.items()}


def save_encoders(encoders: Encoders, directory: Path) -> None:
    for field, encoder in encoders.items():
        replace_file(encoder_path(directory, field, encoder), encoder.to_json())


def load_encoder(metadata: ModelMetadata, directory: Path, field: str) -> Any:
    kind = find_task(metadata.task).schema.encoders[field]
    path, expected = encoder_path(directory, field, kind), metadata.encoders.get(field)
    if not path.exists():
        raise FileFormatError(f"{path} is missing")
    if expected is not None and file_digest(path) != expected:
        raise FileFormatError(f"{path} is damaged: it does not match its checksum in model.json")
    return kind.load(path)


def load_encoders(metadata: ModelMetadata, directory: Path) -> Encoders:
    """The encoders of all fields, which fit the network."""
    task = find_task(metadata.task)
    with advised(directory):
        encoders = {field: load_encoder(metadata, directory, field) for field in task.schema.encoders}
    for name, size in task.sizes(encoders).items():
        wanted = getattr(metadata.network, name)
        if size != wanted:
            raise FileFormatError(f"{directory}: its encoders give {name} = {size}, its network has {wanted}")
    return encoders


def text_checksums(files: Mapping[str, str]) -> dict[str, str]:
    """By name, of the files that `save_files` writes."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}


def save_files(files: Mapping[str, str], directory: Path) -> None:
    for name, text in files.items():
        replace_file(directory / name, text)


def load_files(metadata: ModelMetadata, directory: Path) -> dict[str, str]:
    """The texts of the files that the task adds, by name."""
    with advised(directory):
        return {name: _load_file(directory, name, checksum) for name, checksum in metadata.files.items()}


def _load_file(directory: Path, name: str, checksum: str) -> str:
    path = directory / Path(name).name
    try:
        data = path.read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise FileFormatError(f"{path} is missing" if missing else f"{path} cannot be read: {error}") from None
    if hashlib.sha256(data).hexdigest() != checksum:
        raise FileFormatError(f"{path} is damaged: it does not match its checksum in model.json")
    return data.decode("utf-8", "replace")


def save_configuration(settings: Configuration, directory: Path) -> None:
    """Save the resolved configuration as TOML; settings that are None are left out."""
    dumped = settings.model_dump(mode="json", exclude_none=True)
    text = tomli_w.dumps({"configuration_format": CONFIGURATION_FORMAT, **dumped})
    replace_file(directory / "configuration.toml", text)


def save_samples(samples: Iterable[tuple[str, ...]], fields: Sequence[str], directory: Path) -> None:
    """The testing part as JSON lines, one object a sample."""
    with written_testing(directory, SAMPLES) as packed:
        for sample in samples:
            line = json.dumps(dict(zip(fields, sample, strict=True)), ensure_ascii=False)
            packed.write(line.encode() + b"\n")


def load_samples(directory: Path, fields: Sequence[str]) -> list[tuple[str, ...]]:
    """The testing part that `save_samples` wrote."""
    path = directory / SAMPLES
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            return [tuple(str(json.loads(line)[field]) for field in fields) for line in lines]
    except FileNotFoundError:
        raise FileFormatError(f"{directory} keeps no testing samples; name a file to evaluate on") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None


@contextmanager
def written_testing(directory: Path, name: str) -> Iterator[gzip.GzipFile]:
    """A compressed file of the directory that gets its name when it is complete; the same bytes every time."""
    path, work = directory / name, directory / f"{PARTIAL}{name}"
    with explain_write_errors(directory, "the testing part"):
        try:
            with work.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
                yield packed
            work.replace(path)
        finally:
            work.unlink(missing_ok=True)
