"""What the tasks classification and regression have in common."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dragoman.data.dataset import Dataset
from dragoman.data.labelled_texts import OFTEN
from dragoman.data.readers import Layout, find_format
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError, DataError
from dragoman.networks import TEXT_ENCODERS, Bag
from dragoman.networks.architectures import BAG_PRESETS
from dragoman.tasks.classification.corpus import Corpus, open_corpus, read_texts
from dragoman.tasks.classification.recipes import TEXTS, TEXTS_BY_ARCHITECTURE
from dragoman.tasks.classification.text_model import properties_of
from dragoman.tasks.classification.votes import start_votes
from dragoman.tasks.configuration import Settings, TrainingConfiguration
from dragoman.tasks.task import Task, Tell
from dragoman.wording import counted

FEWEST = 10  # training texts that a new model is trained on
MOST_VOTES = 1 << 24  # numbers in the buckets of a bag
FEW = 100  # training texts below which a new model is warned of


class TextTask(Task):
    """Texts with a target each in, a model out that predicts it."""

    command = "predict"
    samples = "texts"
    architectures = TEXT_ENCODERS
    architecture = "bag"
    recipes = TEXTS
    recipes_by_architecture = TEXTS_BY_ARCHITECTURE
    fine_tuning_rate = 0.1
    number: ClassVar[bool]  # whether the target is one

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Corpus:
        return open_corpus(settings, given, self.number)

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        network = asked.network if base is None else base.network
        room, encoders = getattr(network, "maximum_length", None), None if base is None else base.encoders
        often = 1 if asked.architecture == "bag" else OFTEN  # a word that was seen once may vote, but has no embedding
        found: Dataset = corpus.dataset(asked.seed, encoders, None if base is None else base.metadata, room, often)
        return found

    def report(self, dataset: Dataset) -> str:
        return f"{super().report(dataset)}; vocabulary of {dataset.about['vocabularies'][0]:,} tokens"

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        """A bag has as many buckets as its outputs leave memory for; patience needs something to validate on."""
        preset = given.get("preset") or "small"
        decided: Settings = {"preset": preset}
        if not dataset.about["parts"]["validation"]:
            decided["stopping"] = {"patience": None}
        if given.get("architecture", self.architecture) != "bag":
            return decided
        buckets, outputs = BAG_PRESETS[preset]["buckets"], self.sizes(dataset.encoders)["outputs"]
        fitting = 1 << max(MOST_VOTES // outputs, 1024).bit_length() - 1
        return {**decided, "network": {"buckets": fitting}} if fitting < buckets else decided

    def epochs(self, dataset: Dataset) -> int:
        """About 10 for 10,000 texts; few texts need more passes, many texts fewer."""
        return max(3, min(50, round(10 * math.sqrt(10_000 / len(dataset.part("training"))))))

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        for name, value in (("start.vectors", asked.start.vectors.given), ("start.replay", asked.start.replay)):
            if value:
                raise ConfigurationError(f"{name} is a setting of translation; leave it out")
        if asked.progress.samples:
            raise ConfigurationError("progress.samples shows translations; leave it out")
        if asked.start.train != "all":
            raise ConfigurationError("start.train = 'all' is the only choice here; leave --part out")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        count = dataset.about["parts"]["training"]
        if new and count < FEWEST:
            raise DataError(f"{counted(count, 'text')} to train on: a model needs at least {FEWEST}; add examples")
        if new and count < FEW:
            yield f"only {counted(count, 'text')} to train on: expect a poor model; useful ones need many hundreds"

    # Training

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        """A bag of n-grams begins with naive Bayes."""
        if isinstance(network, Bag) and not resumed and settings.start.model is None:
            classes = None if self.number else dataset.encoders["label"]
            start_votes(network, dataset.part("training"), classes, settings.loss.class_weights == "balanced")

    # Evaluation

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        given = {**self._columns_of_training(model.metadata, files, settings), **settings, "files": tuple(files)}
        found, several = read_texts(self._data(given, model), self.number, self._tell)
        self._check_kind(model, several)
        return found

    def _data(self, given: Mapping[str, Any], model: Any) -> Any:
        unknown = sorted(set(given) - set(self.data.model_fields))
        if unknown:
            raise ConfigurationError(
                f"--{unknown[0]} does not go with {self.name}; name columns with --text and --label"
            )
        return self.data(**given)

    def _columns_of_training(self, metadata: Any, files: Sequence[str], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Columns as in the training data, unless they are given or the file cannot have them."""
        if metadata.label is None or {"text", "label"} & set(settings) or Path(files[0]).is_dir():
            return {}
        kind = find_format(Source(files[0]), Layout("labelled"), settings.get("format")).name
        numbers = any(isinstance(column, int) for column in (metadata.label, *metadata.text))
        if kind == "labelled" or (kind == "jsonl" and numbers):
            return {}
        found = {"text": metadata.text, "label": metadata.label}
        return found if metadata.header is None or "header" in settings else {**found, "header": metadata.header}

    def _check_kind(self, model: Any, several: bool) -> None:
        """Whether the samples have the kind of target that the model predicts."""

    @staticmethod
    def _tell(line: str) -> None:
        import sys

        print(line, file=sys.stderr)  # noqa: T201

    def next_commands(self, out: Path) -> list[str]:
        place = shlex.quote(str(out))
        return [f'dragoman predict {place} "..."', f"dragoman evaluate {place}"]

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        schema: Any = dataset.schema
        found: dict[str, Any] = {"maximum": schema.maximum, "lowercase": schema.lowercase}
        if corpus.columns is not None:
            columns = corpus.columns
            found |= {"text": columns.text, "label": columns.label, "header": columns.header}
        return found

    def properties(self, metadata: Any) -> dict[str, str]:
        return properties_of(metadata)
