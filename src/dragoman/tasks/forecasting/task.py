"""The registration of forecasting."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.data.dataset import Dataset
from dragoman.data.schema import Encoders
from dragoman.data.series_encoding import SeriesEncoding
from dragoman.data.series_windows import RegularSeries, SeriesDataset, SeriesSchema, SeriesWindows
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.loss import MeanSquaredError
from dragoman.loss.index import Error
from dragoman.networks import FORECASTERS
from dragoman.tasks import components
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.forecasting.corpus import SeriesCorpus, open_corpus
from dragoman.tasks.forecasting.forecaster import Forecaster
from dragoman.tasks.forecasting.intervals import measure_intervals
from dragoman.tasks.forecasting.recipes import RECIPES, RECIPES_BY_ARCHITECTURE, epochs_for
from dragoman.tasks.forecasting.settings import ForecasterMetadata, SeriesData
from dragoman.tasks.model import load_encoders, load_metadata, written_testing
from dragoman.tasks.task import Task, Tell
from dragoman.wording import counted

TESTING = "testing.csv.gz"
FEW = 200  # training rows below which a new model is warned of


class Forecasting(Task):
    """A series in, a forecaster out."""

    name = "forecasting"
    command = "forecast"
    samples = "windows"
    data = SeriesData
    architectures = FORECASTERS
    architecture = "gru"
    recipes = RECIPES
    recipes_by_architecture = RECIPES_BY_ARCHITECTURE
    metadata = ForecasterMetadata
    model_type = Forecaster
    schema = SeriesSchema

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> SeriesCorpus:
        return open_corpus(settings)

    def data_settings(self, asked: TrainingConfiguration, base: Any) -> Any:
        """A model that is fine-tuned reads the same columns and the same windows."""
        data: Any = asked.data
        if base is None:
            return data
        e, given = base.encoding, {}
        for name in ("context", "horizon", "level"):
            if getattr(data, name) not in (None, getattr(e, name)):
                raise ConfigurationError(f"data.{name} is {getattr(e, name)} in the model to start from; leave it out")
            given[name] = getattr(e, name)
        columns = data.columns or base.metadata.columns
        return data.model_copy(update={**given, "strategy": e.strategy, "columns": columns})

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        if base is not None and corpus.series.names != base.encoding.names:
            named, before = ", ".join(corpus.series.names), ", ".join(base.encoding.names)
            raise DataError(f"{corpus.name} has the columns {named}; the model to start from has {before}")
        found: Dataset = corpus.dataset(None if base is None else base.encoders)
        return found

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        e: SeriesEncoding = encoders["series"]
        pooling = "last" if e.strategy == "direct" else "none"
        return {"inputs": e.size, "outputs": e.outputs, "pooling": pooling}

    def report(self, dataset: Dataset) -> str:
        assert isinstance(dataset, SeriesDataset)
        e, series, bounds = dataset.encoding, dataset.series, dataset.about["bounds"]
        line, rows = series.timeline, len(series.values)
        times = f", {line.label(0)} to {line.label(rows - 1)}, {line.spacing()}" if series.time is not None else ""
        shown = ", ".join(e.names[:6]) + (" ..." if e.size > 6 else "")
        season = f"a season of {e.period} rows" if e.period else "no season found"
        return (
            f"{counted(rows, 'row')} of {shown}{times}; {season}; windows read {e.context} rows and forecast "
            f"{e.horizon}; the first {bounds[1]:,} rows train, the next {bounds[2] - bounds[1]:,} validate, the last "
            f"{rows - bounds[2]:,} test"
        )

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        """The testing part, and the rows before it that its first forecast reads."""
        assert isinstance(dataset, SeriesDataset)
        first = max(0, dataset.about["bounds"][2] - dataset.encoding.context)
        series = dataset.series
        text = io.StringIO(newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["time", *series.names])
        for i in range(first, len(series.values)):
            table.writerow([series.timeline.label(i), *map(repr, series.values[i].tolist())])
        with written_testing(directory, TESTING) as packed:
            packed.write(text.getvalue().encode())

    # Decisions

    def epochs(self, dataset: Dataset) -> int:
        return epochs_for(len(dataset.part("training")))

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        network: Any = asked.network
        if network.pooling != "last":
            raise ConfigurationError("network.pooling follows from data.strategy; leave it out")
        if not getattr(network, "causal", True) or getattr(network, "bidirectional", False):
            raise ConfigurationError("a forecaster reads in one direction: leave network.causal and bidirectional out")
        if asked.loss.smoothing:
            raise ConfigurationError("loss.smoothing is a setting of classes, not of numbers; leave it out")
        if asked.start.vectors.given or asked.start.replay:
            raise ConfigurationError("start.vectors and start.replay are for translators; leave them out")
        if asked.start.train in ("encoder", "decoder"):
            raise ConfigurationError("a forecaster has no decoder: train all of it, or --part output")
        if asked.optimizer.scheduled_sampling:
            raise ConfigurationError("optimizer.scheduled_sampling is for translators")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        rows = dataset.about["bounds"][1]
        if new and rows < FEW:
            yield f"only {rows:,} rows to train on: a linear autoregression may be better; `evaluate` shows both"

    # Training

    def error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        """Of the scaled values."""
        return MeanSquaredError()

    def plain_error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        return MeanSquaredError()

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        components.freeze_all_but(network, settings.start.train)

    def measured(self, model: Any, dataset: Dataset) -> dict[str, Any]:
        """How far forecasts are off in the validation part: the intervals of all later ones."""
        assert isinstance(dataset, SeriesDataset)
        windows = dataset.part("validation").windows
        return {"intervals": measure_intervals(model.errors(windows))} if windows else {}

    # Evaluation

    def load_testing(self, directory: Path) -> Sequence[Any]:
        path = directory / TESTING
        if not path.exists():
            raise FileFormatError(f"{directory} keeps no testing part; name a file to evaluate on")
        metadata: Any = load_metadata(directory)
        encoding: SeriesEncoding = load_encoders(metadata, directory)["series"]
        names = tuple(range(2, encoding.size + 2))
        found = open_corpus(SeriesData(files=(str(path),), columns=names, time=1, header=True)).series
        series = RegularSeries(encoding.names, found.values, found.timeline, found.time)
        return SeriesWindows.of(series, encoding)

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        if len(files) > 1:
            raise ConfigurationError(f"a forecaster is evaluated on one series, got {len(files)} files")
        series = model.read(files[0], **settings)
        windows = SeriesWindows.of(series, model.encoding)
        if not len(windows):
            e, rows = model.encoding, len(series.values)
            raise DataError(f"{files[0]} has {rows:,} rows, one window takes {e.context + e.horizon:,}")
        return windows

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        report: TaskReport = model.evaluate(samples)
        return report

    def next_commands(self, out: Path) -> list[str]:
        place, metadata = shlex.quote(str(out)), load_metadata(out)
        file = shlex.quote(metadata.data.files[0]) if metadata.data.files else "series.csv"
        return [f"dragoman forecast {place} {file} --plot forecast.png", f"dragoman evaluate {place}"]

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        return {
            "columns": corpus.columns,
            "time": corpus.time,
            "decimal": corpus.settings.decimal,
            "timeline": dataset.about["timeline"],
        }

    def properties(self, metadata: Any) -> dict[str, str]:
        intervals = metadata.intervals
        known = "none yet" if intervals is None else f"from {intervals.windows:,} validation windows"
        return {"columns": ", ".join(map(str, metadata.columns)), "intervals": known}


TASK = Forecasting()
