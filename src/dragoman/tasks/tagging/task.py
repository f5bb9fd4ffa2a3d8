"""The registration of tagging."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dragoman.analysis.task_report import TaskReport
from dragoman.data.dataset import Dataset
from dragoman.data.readers.conll import SEPARATOR
from dragoman.data.schema import Encoders
from dragoman.data.tagged_words import TaggedWords
from dragoman.errors import ConfigurationError, DataError, DragomanWarning
from dragoman.networks import ENCODERS
from dragoman.tasks import components, golden
from dragoman.tasks.configuration import Settings, TrainingConfiguration
from dragoman.tasks.parts import FEWEST
from dragoman.tasks.tagging.corpus import Corpus, open_corpus, read_sentences
from dragoman.tasks.tagging.settings import TaggedData, TaggerMetadata
from dragoman.tasks.tagging.tagger import Tagger
from dragoman.tasks.task import Task, Tell
from dragoman.wording import counted

SHOWN = 8  # tags in a sentence
FEW = 1000  # training sentences below which a new model is warned of
RECIPES: dict[str, dict[str, Any]] = {
    "modern": {
        "network": {"block": "pre", "positions": "relative", "dropout": 0.3},
        "loss": {"smoothing": 0.1},
        "optimizer": {"rate": 0.01, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.999, "batch": 32},
    }
}


class Tagging(Task):
    """Sentences of tagged words in, a tagger out."""

    name = "tagging"
    command = "predict"
    samples = "sentences"
    data = TaggedData
    architectures: ClassVar[Mapping[str, Any]] = {
        name: replace(each, named={**each.named, "pooling": "none"}) for name, each in ENCODERS.items()
    }
    architecture = "lstm"
    recipes = RECIPES
    metadata = TaggerMetadata
    model_type = Tagger
    schema = TaggedWords

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Corpus:
        return open_corpus(settings, given)

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        room = getattr(asked.network, "maximum_length", None) if base is None else base.network.maximum_length
        found: Dataset = corpus.dataset(asked.seed, None if base is None else base.encoders, room)
        return found

    def sizes(self, encoders: Encoders) -> dict[str, int]:
        return {"vocabulary": encoders["sentence"].size, "outputs": encoders["tags"].size}

    def report(self, dataset: Dataset) -> str:
        tags, pieces = dataset.encoders["tags"], dataset.encoders["sentence"]
        return f"{super().report(dataset)}; {counted(tags.size, 'tag')}, {pieces.size:,} word pieces"

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        sentences = dataset.about["parts"]["training"]
        return {"preset": given.get("preset") or ("small" if sentences < 2000 else "medium")}

    def epochs(self, dataset: Dataset) -> int:
        """5 for 12,500 sentences (docs/tagging.md); few sentences need more passes, many fewer."""
        return max(3, min(40, round(5 * math.sqrt(12_500 / len(dataset.part("training"))))))

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        network: Any = asked.network
        if network.pooling != "none":
            raise ConfigurationError(
                f"a tagger has an output for every word; leave network.pooling = '{network.pooling}' out"
            )
        if asked.start.vectors.given or asked.start.replay:
            raise ConfigurationError("start.vectors and start.replay are for translators; leave them out")
        if asked.start.train in ("encoder", "decoder"):
            raise ConfigurationError("a tagger is an encoder: train all of it, or --part output")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        count, tags = dataset.about["parts"]["training"], dataset.encoders["tags"]
        if not new:
            return
        if count < FEWEST:
            raise DataError(
                f"{counted(count, 'sentence')} to train on: a model needs at least {FEWEST}, and thousands to tag "
                "words it has not seen; add sentences"
            )
        if tags.size == 1:
            raise DataError(
                f"every word has the tag '{tags.names[0]}', so there is nothing to learn; choose the columns of "
                "word and tag with --columns 1,2"
            )
        single = [name for name, seen in zip(tags.names, tags.counts, strict=True) if seen == 1]
        if single:
            named = ", ".join(single[:SHOWN]) + (" ..." if len(single) > SHOWN else "")
            yield (
                f"{len(single):,} of {tags.size:,} tags with a single training word ({named}): little can be learnt "
                "from one; add sentences, or merge it with another tag"
            )
        if count < FEW:
            yield (
                f"only {count:,} sentences to train on: expect a model that memorizes their words; useful models need "
                "5,000 sentences and more"
            )

    # Training

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        components.freeze_all_but(network, settings.start.train)

    # Evaluation

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        reading = read_sentences(TaggedData(files=tuple(files), **settings))
        found = [record.fields for record in reading]
        for line in reading.problems.lines():
            warnings.warn(line, DragomanWarning, stacklevel=2)
        return found

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        report: TaskReport = model.evaluate(samples)
        return report

    def next_commands(self, out: Path) -> list[str]:
        place = shlex.quote(str(out))
        return [f'dragoman predict {place} "The plant is green."', f"dragoman evaluate {place}"]

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        schema: Any = dataset.schema
        return {"maximum": schema.maximum}

    def golden_inputs(self, dataset: Dataset) -> list[Any]:
        return [text.split(SEPARATOR) for text in golden.some_texts(dataset, "sentence")]

    def golden_answers(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        return [list(found.tags) for found in model.predict(list(inputs))]

    def properties(self, metadata: Any) -> dict[str, str]:
        return {"tags": f"{metadata.network.outputs:,}", "at once": f"{metadata.maximum:,} word pieces"}


TASK = Tagging()
