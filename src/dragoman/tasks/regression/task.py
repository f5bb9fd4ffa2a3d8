"""The registration of regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.data.dataset import Dataset
from dragoman.data.labelled_texts import NumberedTexts
from dragoman.data.scaler import Scaler
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError
from dragoman.loss.index import Error, MeanSquaredError
from dragoman.tasks.classification.recipes import NUMBERS_BY_ARCHITECTURE
from dragoman.tasks.classification.settings import RegressorMetadata, TextData
from dragoman.tasks.classification.text_task import TextTask
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.regression.regressor import Regressor


class Regression(TextTask):
    """Texts with a number each in, a regressor out."""

    name = "regression"
    number = True
    data = TextData
    metadata = RegressorMetadata
    model_type = Regressor
    recipes_by_architecture = NUMBERS_BY_ARCHITECTURE
    schema = NumberedTexts

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        return {"vocabulary": encoders["text"].size, "outputs": 1, "output_activation": "identity"}

    def report(self, dataset: Dataset) -> str:
        scaler: Scaler = dataset.encoders["label"]
        return f"{super().report(dataset)}; numbers around {scaler.mean:.4g} with a deviation of {scaler.deviation:.4g}"

    def error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        """Of the scaled number."""
        if settings.loss.smoothing:
            raise ConfigurationError("loss.smoothing is a setting of classes, not of numbers; leave it out")
        return MeanSquaredError()

    def plain_error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        return MeanSquaredError()

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        from dragoman.tasks.regression.testing import number_report

        return number_report(model, samples)


TASK = Regression()
