"""Tasks: what is particular about a kind of training. Each is one folder with one registration; the rest is shared."""

from __future__ import annotations

import difflib
import importlib
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dragoman.batch import Batch
from dragoman.data.batching import BatchStream
from dragoman.data.dataset import Dataset, Part
from dragoman.data.schema import Encoders, Fields
from dragoman.errors import ConfigurationError
from dragoman.loss import CrossEntropy
from dragoman.loss.index import Error
from dragoman.networks import Architecture, Network

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport
    from dragoman.tasks.configuration import DataSettings, Settings, TrainingConfiguration
    from dragoman.tasks.model import ModelMetadata
    from dragoman.tasks.trained_model import TrainedModel
    from dragoman.training import Callback

TASKS = {  # where each is registered, by name
    "translation": "dragoman.tasks.translation.task",
    "language-model": "dragoman.tasks.language_model.task",
    "classification": "dragoman.tasks.classification.task",
    "regression": "dragoman.tasks.regression.task",
    "tagging": "dragoman.tasks.tagging.task",
    "captioning": "dragoman.tasks.captioning.task",
    "image-classification": "dragoman.tasks.image_classification.task",
    "forecasting": "dragoman.tasks.forecasting.task",
}
DEFAULT = "translation"

Tell = Callable[[str], None]


class Task(ABC):
    """What a task defines: fields, network, error, metrics, prediction, figures.

    name           of `--task` and in model.json
    command        how its models are used: "translate" for `dragoman translate MODEL`
    samples        what its samples are called in messages
    data           the section `data` of its configuration
    architectures  its networks, by name
    architecture   the name of the one that is taken unless another is asked for
    recipes        settings that belong together, by name, and what differs at a preset and for an architecture
    fine_tuning_rate  the share of a recipe's rate that fine-tuning takes
    weighs_classes    whether it knows loss.class_weights
    scores         what can be measured at evaluations besides error and accuracy
    metadata       model.json
    model_type     what predicts
    schema         the fields of its samples, and their encoders, which the model directory keeps
    reads_images   whether its models are given image files
    """

    name: ClassVar[str]
    command: ClassVar[str]
    samples: ClassVar[str] = "samples"
    data: ClassVar[type[DataSettings]]
    architectures: ClassVar[Mapping[str, Architecture[Any, Any]]]
    architecture: ClassVar[str] = "transformer"
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]]
    recipes_by_preset: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    recipes_by_architecture: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    fine_tuning_rate: ClassVar[float] = 0.03
    weighs_classes: ClassVar[bool] = False
    scores: ClassVar[tuple[str, ...]] = ()
    metadata: ClassVar[type[ModelMetadata]]
    model_type: ClassVar[type[TrainedModel]]
    schema: ClassVar[type[Fields]]
    reads_images: ClassVar[bool] = False

    # Data

    @abstractmethod
    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Any:
        """The files that the settings name; `given` are the data settings that the user named."""

    def data_settings(self, asked: TrainingConfiguration, base: Any) -> Any:
        """The data settings, as the model that is fine-tuned (`base`) allows them."""
        return asked.data

    def resumed(self, asked: TrainingConfiguration, saved: TrainingConfiguration) -> TrainingConfiguration:
        """What is asked for, with what need not be said again when a training is resumed."""
        return asked

    @abstractmethod
    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        """The samples as numbers, with the encoders of the model that is fine-tuned (`base`), if there is one."""

    def mix(
        self, dataset: Dataset, asked: TrainingConfiguration, base: Any, saved: Any, tell: Tell
    ) -> tuple[Dataset, int]:
        """The samples to fine-tune on, and how many old ones of the model's own data are among them."""
        return dataset, 0

    def fine_tuning(self, dataset: Dataset, rate: float) -> Settings:
        """What differs from the recipe `modern`, whose rate is given, when training starts from a trained model."""
        return {"optimizer": {"rate": round(self.fine_tuning_rate * rate, 12)}, "stopping": {"patience": 3}}

    def fine_tuning_epochs(self, dataset: Dataset) -> int:
        """Passes over the training part of such a training, unless they are given."""
        return 10

    @abstractmethod
    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        """What the configuration of a network takes from the data: sizes of vocabularies, outputs, their activation."""

    def report(self, dataset: Dataset) -> str:
        """What the data are, in a sentence."""
        counts = dataset.about["parts"]
        return (
            f"{counts['training']:,} {self.samples} to train on, {counts['validation']:,} to validate on, "
            f"{counts['testing']:,} to test on"
        )

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        """Keep the testing part with the model, for `dragoman evaluate`."""
        from dragoman.tasks.model import save_samples

        save_samples(dataset.part("testing").values(), dataset.schema.fields, directory)

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        """Settings that follow from the data where they are left open: preset, dropout."""
        return {"preset": given.get("preset") or "small"}

    @abstractmethod
    def epochs(self, dataset: Dataset) -> int:
        """Passes over the training part, unless they are given."""

    def enough_epochs(self, dataset: Dataset) -> float:
        """With fewer epochs than these, a smaller network comes further in the same time."""
        return self.epochs(dataset) / 4

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:  # noqa: B027
        """Raise an error for mistakes that can be found before the data are read."""

    def check_begun(self, begun: Any, out: Path) -> None:  # noqa: B027
        """Refuse to resume a training that another version prepared differently."""

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        """What a user should know about the data; an error where a new model cannot be trained on them."""
        return ()

    # Training

    def error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        """What training minimises."""
        return CrossEntropy(settings.loss.smoothing)

    def plain_error(self, settings: TrainingConfiguration, dataset: Dataset) -> Error:
        """What evaluations measure: the same without smoothing."""
        return CrossEntropy()

    def part(self, dataset: Dataset, name: str, settings: TrainingConfiguration) -> Part:
        """A part to train or to validate on; where samples weigh differently, its batches say so."""
        return dataset.part(name)

    def start(  # noqa: B027
        self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell
    ) -> None:
        """Give a new network other initial values, or freeze a part of it."""

    def batches(self, settings: TrainingConfiguration, dataset: Dataset) -> BatchStream:
        """The training part, epoch after epoch."""
        from dragoman.tasks.components import batching

        return BatchStream(self.part(dataset, "training", settings), batching(settings.optimizer), settings.seed)

    def fixed_batches(self, settings: TrainingConfiguration, part: Part) -> Iterable[Batch]:
        """All of a part, the same batches each time."""
        from dragoman.tasks.components import fixed_batches

        return fixed_batches(part)

    def scored(
        self, model: Any, dataset: Dataset, settings: TrainingConfiguration, watch: Callback
    ) -> Callable[[Network], dict[str, float]] | None:
        """A function that measures scores of the validation part and shows samples; None if nothing is asked for."""
        return None

    def measured(self, model: Any, dataset: Dataset) -> dict[str, Any]:
        """What model.json says of the finished network besides how its training went."""
        return {}

    # Evaluation

    def load_testing(self, directory: Path) -> Sequence[Any]:
        """The testing part that `save_testing` kept."""
        from dragoman.tasks.model import load_samples

        return load_samples(directory, self.schema.fields)

    @abstractmethod
    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        """The samples of some files; `settings` are those of the data section that were given."""

    @abstractmethod
    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        """What can be measured of a model on these samples. The ranks share the predictions: all must call this."""

    def evaluate_searching(
        self, model: Any, samples: Sequence[Any], beam: int, tell: Callable[[int], None]
    ) -> TaskReport:
        """The same, where predictions are searched for; `tell` is called with the number of samples done."""
        return self.evaluate(model, samples)

    def evaluate_quickly(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        """What is measured when a training ends: takes seconds."""
        return self.evaluate(model, samples)

    def next_commands(self, out: Path) -> list[str]:
        """What to do with a new model."""
        return [f"dragoman {self.command} {shlex.quote(str(out))} ...", f"dragoman evaluate {shlex.quote(str(out))}"]

    def adjust(self, base: Any, model: Any, dataset: Dataset, tell: Tell) -> bool:
        """Change the weights of a model that was fine-tuned from `base`; whether they were changed."""
        return False

    def compared(self, base: Any, model: Any, dataset: Dataset) -> list[dict[str, Any]]:
        """Scores before and after fine-tuning."""
        return []

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        """What model.json says besides what all tasks say."""
        return {}

    def files(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, str]:
        """Texts that the model directory keeps besides what all tasks keep, by the names of their files."""
        return {}

    def golden_inputs(self, dataset: Dataset) -> list[Any]:
        """Some samples, as JSON, that a finished model answers, so that a copy of it can be checked; or none."""
        return []

    def golden_answers(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        """What a model answers to `golden_inputs`, as JSON: the same each time."""
        return []

    def properties(self, metadata: Any) -> dict[str, str]:
        """What `dragoman inspect` says of a model besides what it says of all."""
        return {}

    def figures(self) -> Mapping[str, Callable[..., Any]]:
        """What `dragoman plot` draws of a model that reads images: (model, image, head, resize) -> figure, by name."""
        return {}

    def model(self, network: Any, encoders: Encoders, metadata: Any) -> Any:
        """The trained network as something that predicts."""
        return self.model_type(network, encoders, metadata)

    def load(self, directory: Path) -> Any:
        """The model of a directory."""
        return self.model_type.load(directory)


def find_task(name: object = DEFAULT) -> Task:
    """A task by its name."""
    if not isinstance(name, str) or name not in TASKS:
        close = difflib.get_close_matches(str(name), TASKS, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(TASKS)}"
        raise ConfigurationError(f"unknown task '{name}'; {hint}")
    found: Task = importlib.import_module(TASKS[name]).TASK
    return found


def wrong_command(directory: Path, task: str) -> str:
    """A message for a command that got the model of another task."""
    used = find_task(task).command
    return f"{directory} is a model for {task}; use `dragoman {used} {directory}`"
