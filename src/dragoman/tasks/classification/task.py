"""The registration of classification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.data.classes import Classes
from dragoman.data.dataset import Dataset, Part
from dragoman.data.labelled_texts import LabelledTexts, as_number
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DataError
from dragoman.loss import CrossEntropy
from dragoman.loss.index import Error, LogError
from dragoman.tasks import golden
from dragoman.tasks.classification.classifier import Classifier
from dragoman.tasks.classification.settings import ClassifierMetadata, LabelData
from dragoman.tasks.classification.text_task import TextTask
from dragoman.tasks.classification.weights import WeightedPart, balanced_weights
from dragoman.tasks.configuration import TrainingConfiguration

SHOWN = 8  # classes in a sentence


def described_classes(classes: Classes) -> str:
    """The classes and how many training examples each has."""
    some = ", ".join(f"{n} {c:,}" for n, c in zip(classes.names[:SHOWN], classes.counts, strict=False))
    more = f" and {len(classes.names) - SHOWN:,} more" if len(classes.names) > SHOWN else ""
    kind = f"{len(classes.names):,} labels, any number of them each" if classes.several else f"{classes.size} classes"
    return f"{kind} ({some}{more})"


def single_examples(classes: Classes) -> Iterable[str]:
    """A warning about classes that little can be learnt of."""
    single = [name for name, count in zip(classes.names, classes.counts, strict=True) if count == 1]
    if single:
        named = ", ".join(f"'{name}'" for name in single[:SHOWN]) + (" ..." if len(single) > SHOWN else "")
        yield (
            f"{len(single):,} of {classes.size:,} classes with a single training example ({named}): little can be "
            "learnt from one; add examples, or merge it with another class"
        )


class Classification(TextTask):
    """Texts with one class or several in, a classifier out."""

    name = "classification"
    weighs_classes = True
    number = False
    data = LabelData
    metadata = ClassifierMetadata
    model_type = Classifier
    schema = LabelledTexts

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        """Two classes have one output, the probability of the second one; several classes one output each."""
        classes: Classes = encoders["label"]
        logistic = classes.binary or classes.several
        return {
            "vocabulary": encoders["text"].size,
            "outputs": classes.outputs,
            "output_activation": "logistic" if logistic else "identity",
        }

    def report(self, dataset: Dataset) -> str:
        return f"{super().report(dataset)}; {described_classes(dataset.encoders['label'])}"

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        yield from super().warnings(dataset, new)
        if new:
            classes: Classes = dataset.encoders["label"]
            yield from single_examples(classes)
            if 2 * classes.counts.count(1) > classes.size and all(
                as_number(name) is not None for name in classes.names
            ):
                yield "the labels are numbers, and most of them occur once: predict numbers with --task regression"

    def part(self, dataset: Dataset, name: str, settings: TrainingConfiguration) -> Part:
        part = dataset.part(name)
        if settings.loss.class_weights == "none":
            return part
        classes: Classes = dataset.encoders["label"]
        if classes.several:
            raise ConfigurationError(
                "loss.class_weights = 'balanced' needs one class for each text; these have several, so leave it out"
            )
        return WeightedPart(dataset, part.samples, balanced_weights(classes))

    def error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        classes: Classes = dataset.encoders["label"]
        if not classes.binary and not classes.several:
            return CrossEntropy(settings.loss.smoothing)
        if settings.loss.smoothing:
            raise ConfigurationError("loss.smoothing needs one class each, of three or more; leave it out")
        return LogError()

    def plain_error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        classes: Classes = dataset.encoders["label"]
        return LogError() if classes.binary or classes.several else CrossEntropy()

    def _check_kind(self, model: Any, several: bool) -> None:
        if several and not model.classes.several:
            raise DataError("these texts have several labels each, the model predicts one")

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        from dragoman.tasks.classification.testing import class_report

        return class_report(model, samples)

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        schema: Any = dataset.schema
        return {**super().describe(dataset, corpus, base), "separator": schema.separator}

    def golden_inputs(self, dataset: Dataset) -> list[Any]:
        return golden.some_texts(dataset, "text")

    def golden_answers(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        return [list(found.labels) for found in model.predict(list(inputs))]


TASK = Classification()
