"""What every trained model is: a network, the encoders of its fields, its metadata, and a directory that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks import model as directory_of
from dragoman.tasks.golden import kept_answers
from dragoman.tasks.task import wrong_command


class TrainedModel:
    """Base of the models of all tasks: they are trained, loaded and saved alike."""

    task: ClassVar[str]
    network: Any
    encoders: Encoders
    metadata: Any
    files: Mapping[str, str] = MappingProxyType({})  # texts that the task adds to the directory, by name
    directory: Path | None = None

    def __init__(self, network: Any, encoders: Encoders, metadata: Any) -> None:
        self.network = network
        self.encoders = dict(encoders)
        self.metadata = metadata

    @classmethod
    def train(cls, files: str | Path | Sequence[str | Path], /, out: str | Path | None = None, **settings: Any) -> Self:
        """Train a model on files; settings as in the configuration, sections as dicts.

        Without `out` nothing is written to disk, and nothing can be resumed.
        """
        from dragoman.tasks.training import train_model

        names = [files] if isinstance(files, str | Path) else list(files)
        given = {**settings, "task": cls.task}
        given["data"] = {"files": [str(name) for name in names], **dict(settings.get("data", {}))}
        model: Self = train_model(given, None if out is None else Path(out))[0]
        return model

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Load the model of a directory that `dragoman train` or `save` wrote."""
        place = Path(directory)
        metadata = directory_of.load_metadata(place)
        if metadata.task != cls.task:
            raise ConfigurationError(wrong_command(place, metadata.task))
        network = directory_of.load_network(metadata, place)  # first: it refuses impossible sizes
        model = cls(network, directory_of.load_encoders(metadata, place), metadata)
        model.files = directory_of.load_files(metadata, place)
        model.directory = place
        return model

    def save(self, directory: str | Path) -> None:
        """Save all that is needed to predict. Weights that are not finite are refused before anything is written."""
        place = Path(directory)
        directory_of.check_weights(self.network, place)
        checksums = {
            "encoders": directory_of.encoder_checksums(self.encoders),
            "files": directory_of.text_checksums(self.files),
        }
        try:
            place.mkdir(parents=True, exist_ok=True)
            with kept_answers(self.directory, place):
                directory_of.save_encoders(self.encoders, place)
                directory_of.save_files(self.files, place)
                directory_of.save_network(self.network, place)
            directory_of.save_metadata(self.metadata.model_copy(update=checksums), place)
        except OSError as error:
            raise DataError(f"{place} could not be written: {error}") from None
