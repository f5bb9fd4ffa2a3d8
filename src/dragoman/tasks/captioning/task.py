"""The registration of captioning."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.data.captioned_images import CaptionedImages
from dragoman.data.dataset import Dataset
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DataError
from dragoman.networks import IMAGE_DECODERS
from dragoman.tasks import components
from dragoman.tasks.captioning.captioner import Captioner
from dragoman.tasks.captioning.corpus import Corpus, open_corpus
from dragoman.tasks.captioning.settings import CaptionData, CaptionerMetadata
from dragoman.tasks.captioning.testing import grouped, load_testing, save_testing, testing_images
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.parts import FEWEST
from dragoman.tasks.task import Task, Tell
from dragoman.wording import counted

FEW = 1000  # training captions below which a new model is warned of
RECIPES: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "relative"},
        "optimizer": {
            "rate": 0.003,
            "schedule": "cosine",
            "beta2": 0.98,
            "clip": 1.0,
            "averaging": 0.999,
            "grouped": False,  # captions of one length are much alike
        },
    }
}
RECIPES_BY_ARCHITECTURE: dict[str, dict[str, dict[str, Any]]] = {
    "modern": {name: {"optimizer": {"rate": 0.002}} for name in IMAGE_DECODERS if name != "transformer"}
}


class Captioning(Task):
    """Images with captions in, a captioner out."""

    name = "captioning"
    command = "caption"
    samples = "captions"
    data = CaptionData
    architectures = IMAGE_DECODERS
    recipes = RECIPES
    recipes_by_architecture = RECIPES_BY_ARCHITECTURE
    metadata = CaptionerMetadata
    model_type = Captioner
    reads_images = True
    schema = CaptionedImages

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Corpus:
        return open_corpus(settings, given)

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        found: Dataset = corpus.dataset(asked.seed, None if base is None else base.encoders)
        return found

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        image = encoders["image"]
        return {
            "height": image.height,
            "width": image.width,
            "channels": image.channels,
            "mean": image.mean,
            "deviation": image.deviation,
            "target_vocabulary": encoders["caption"].size,
        }

    def report(self, dataset: Dataset) -> str:
        image, tokens = dataset.encoders["image"], dataset.encoders["caption"].size
        return f"{super().report(dataset)}; images of {image.shape}, a vocabulary of {tokens:,} tokens"

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        save_testing(testing_images(dataset.part("testing")), directory)

    # Decisions

    def epochs(self, dataset: Dataset) -> int:
        """10 for 60,000 captions (docs/captions.md); few captions need more passes, many fewer."""
        return max(5, min(100, round(10 * math.sqrt(60_000 / len(dataset.part("training"))))))

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        if asked.start.vectors.given or asked.start.replay:
            raise ConfigurationError("start.vectors and start.replay are for translators; leave them out")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        count = dataset.about["parts"]["training"]
        if not new:
            return
        if count < FEWEST:
            raise DataError(
                f"{counted(count, 'caption')} to train on: a model needs at least {FEWEST}, and thousands to describe "
                "images it has not seen; add images, or start with the built-in corpus: "
                "dragoman train scenes --task captioning"
            )
        if count < FEW:
            yield (
                f"only {count:,} captions to train on: expect a model that memorizes them and fails on new images; "
                "useful models need 10,000 and more"
            )

    # Training

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        components.freeze_all_but(network, settings.start.train)

    # Evaluation

    def load_testing(self, directory: Path) -> Sequence[Any]:
        return load_testing(directory)

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        given = dict(settings)
        if given.pop("resize", False):
            given["resize"] = model.images.shape[:2]
        corpus = open_corpus(CaptionData(files=tuple(files), **given), given)
        return grouped((image.name, model.images.read(image).pixels, caption) for image, caption in corpus.tested())

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        report: TaskReport = model.evaluate(samples)
        return report

    def next_commands(self, out: Path) -> list[str]:
        place = shlex.quote(str(out))
        return [f"dragoman caption {place} image.png", f"dragoman evaluate {place}"]

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        before = 0 if base is None else base.metadata.longest
        return {"longest": max(dataset.about["longest"][1], before)}

    def properties(self, metadata: Any) -> dict[str, str]:
        c = metadata.network
        colours = "grey" if c.channels == 1 else "colour"
        return {
            "images": f"{c.height} x {c.width} pixels, {colours}",
            "longest": f"{metadata.longest} tokens of a caption",
        }

    def figures(self) -> Mapping[str, Callable[..., Any]]:
        from dragoman.tasks.captioning.figures import FIGURES

        return FIGURES


TASK = Captioning()
