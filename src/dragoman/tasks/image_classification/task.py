"""The registration of image classification."""

from __future__ import annotations

import base64
import binascii
import math
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.analysis.task_report import TaskReport
from dragoman.data.batching import BatchStream
from dragoman.data.classes import Classes
from dragoman.data.dataset import Dataset, Part
from dragoman.data.images import ImageEncoder, LabelledImages, Picture
from dragoman.data.images.shifting import ShiftedStream
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DataError, DragomanWarning, FileFormatError
from dragoman.networks import IMAGE_ENCODERS
from dragoman.tasks import components
from dragoman.tasks.classification.task import described_classes, single_examples
from dragoman.tasks.classification.weights import WeightedPart, balanced_weights
from dragoman.tasks.configuration import Settings, TrainingConfiguration
from dragoman.tasks.image_classification.classifier import ImageClassifier
from dragoman.tasks.image_classification.corpus import Corpus, open_corpus, read_samples
from dragoman.tasks.image_classification.recipes import IMAGES, IMAGES_BY_ARCHITECTURE, IMAGES_BY_PRESET
from dragoman.tasks.image_classification.settings import ImageData, ImageMetadata
from dragoman.tasks.model import load_samples, save_samples
from dragoman.tasks.task import Task, Tell
from dragoman.wording import counted

FEWEST = 10  # training images that a new model is trained on
FEW = 200  # training images below which a new model is warned of
KEPT = ("image", "shape", "pixels", "label")  # of a testing sample, kept with the model


class ImageClassification(Task):
    """Images with a class each in, a classifier out."""

    name = "image-classification"
    command = "predict"
    samples = "images"
    data = ImageData
    architectures = IMAGE_ENCODERS
    recipes = IMAGES
    recipes_by_preset = IMAGES_BY_PRESET
    recipes_by_architecture = IMAGES_BY_ARCHITECTURE
    fine_tuning_rate = 0.1
    weighs_classes = True
    reads_images = True
    metadata = ImageMetadata
    model_type = ImageClassifier
    schema = LabelledImages

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Corpus:
        return open_corpus(settings, given)

    def data_settings(self, asked: TrainingConfiguration, base: Any) -> Any:
        """Images for a trained model are read in its channels."""
        data: Any = asked.data
        if base is None or data.channels is not None:
            return data
        return data.model_copy(update={"channels": base.images.channels})

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        found: Dataset = corpus.dataset(asked.seed, None if base is None else base.encoders)
        return found

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        image: ImageEncoder = encoders["image"]
        return {
            "height": image.height,
            "width": image.width,
            "channels": image.channels,
            "mean": image.mean,
            "deviation": image.deviation,
            "outputs": encoders["label"].size,
        }

    def report(self, dataset: Dataset) -> str:
        shape, classes = dataset.encoders["image"].shape, described_classes(dataset.encoders["label"])
        return f"{super().report(dataset)}; {shape}; {classes}"

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        part, schema = dataset.part("testing"), dataset.schema
        assert isinstance(schema, LabelledImages)
        pixels, shape = schema.pixels(dataset.encoded[0]), "x".join(map(str, schema.shape))

        def samples() -> Iterable[tuple[str, ...]]:
            for i, (name, label) in zip(part.samples, part.values(), strict=True):
                yield name, shape, base64.b64encode(pixels[i].tobytes()).decode(), label

        save_samples(samples(), KEPT, directory)

    def load_testing(self, directory: Path) -> Sequence[tuple[Picture, str]]:
        found = []
        for name, shape, text, label in load_samples(directory, KEPT):
            try:
                pixels = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
                found.append((Picture(name, pixels.reshape(*map(int, shape.split("x")))), label))
            except (ValueError, TypeError, binascii.Error) as error:
                raise FileFormatError(f"{directory}: its testing image {name} is damaged: {error}") from None
        return found

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        """Patience needs something to validate on."""
        decided: Settings = {"preset": given.get("preset") or "small"}
        if not dataset.about["parts"]["validation"]:
            decided["stopping"] = {"patience": None}
        return decided

    def epochs(self, dataset: Dataset) -> int:
        """Few images need more passes, many fewer."""
        return max(5, min(100, round(12 * math.sqrt(60_000 / len(dataset.part("training"))))))

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        if asked.start.vectors.given or asked.start.replay:
            raise ConfigurationError("start.vectors and start.replay are for translators; leave them out")
        if asked.start.train in ("encoder", "decoder"):
            raise ConfigurationError("an image classifier is trained as a whole, or --part output alone")
        if asked.start.train == "output" and asked.architecture not in ("transformer", "convolutional"):
            raise ConfigurationError(f"--part output: a network '{asked.architecture}' is trained as a whole")
        if asked.progress.samples:
            raise ConfigurationError("progress.samples shows translations; leave it out")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        count = dataset.about["parts"]["training"]
        if not new:
            return
        if count < FEWEST:
            raise DataError(f"{counted(count, 'image')} to train on: a model needs at least {FEWEST}; add images")
        if count < FEW:
            yield f"only {counted(count, 'image')} to train on: expect a poor model; useful ones need many hundreds"
        yield from single_examples(dataset.encoders["label"])

    # Training

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        components.freeze_all_but(network, settings.start.train)

    def part(self, dataset: Dataset, name: str, settings: TrainingConfiguration) -> Part:
        part = dataset.part(name)
        if settings.loss.class_weights == "none":
            return part
        classes: Classes = dataset.encoders["label"]
        return WeightedPart(dataset, part.samples, balanced_weights(classes))

    def batches(self, settings: TrainingConfiguration, dataset: Dataset) -> BatchStream:
        data: Any = settings.data
        if not data.shift:
            return super().batches(settings, dataset)
        part = self.part(dataset, "training", settings)
        return ShiftedStream(part, components.batching(settings.optimizer), settings.seed, data.shift)

    # Evaluation

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        given = {name: value for name, value in settings.items() if name != "resize"}
        unknown = sorted(set(given) - set(self.data.model_fields))
        if unknown:
            raise ConfigurationError(f"--{unknown[0]} does not go with {self.name}; leave it out")
        data = ImageData(files=tuple(files), **given)
        found, left_out = read_samples(data, model.images.shape, bool(settings.get("resize")))
        for line in left_out:
            warnings.warn(line, DragomanWarning, stacklevel=2)
        return found

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        from dragoman.tasks.image_classification.evaluation import image_report

        return image_report(model, samples)

    def next_commands(self, out: Path) -> list[str]:
        place = shlex.quote(str(out))
        return [f"dragoman predict {place} image.png", f"dragoman evaluate {place}"]

    # The model

    def properties(self, metadata: Any) -> dict[str, str]:
        c = metadata.network
        colour = "grey" if c.channels == 1 else "colour"
        return {"images": f"{c.height} x {c.width} pixels, {colour}", "classes": f"{c.outputs:,}"}

    def figures(self) -> Mapping[str, Callable[..., Any]]:
        from dragoman.tasks.image_classification.figures import FIGURES

        return FIGURES


TASK = ImageClassification()
