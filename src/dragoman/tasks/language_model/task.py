"""The registration of language modelling."""

from __future__ import annotations

import gzip
import shlex
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.batch import Batch
from dragoman.data.batching import BatchStream
from dragoman.data.dataset import Dataset, Part
from dragoman.data.schema import Encoders
from dragoman.data.text_files import TextFiles
from dragoman.data.token_stream import StreamSchema
from dragoman.data.windows import TrackStream, Windows, WindowStream
from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.networks import LANGUAGE_MODELS, Network
from dragoman.tasks import components, golden
from dragoman.tasks.configuration import Settings, TrainingConfiguration
from dragoman.tasks.language_model.corpus import TextCorpus, open_corpus
from dragoman.tasks.language_model.generator import TextGenerator
from dragoman.tasks.language_model.recipes import RECIPES, RECIPES_BY_PRESET, decided, epochs_for
from dragoman.tasks.language_model.settings import CONTEXT, LanguageModelMetadata, StreamData
from dragoman.tasks.model import written_testing
from dragoman.tasks.task import Task
from dragoman.training import Callback

TESTING = "testing.txt.gz"
PROMPT = 4  # words of a prompt whose continuation is kept ...
GOLDEN = 16  # ... and tokens of the continuation
SAMPLE = 200  # tokens of a sample that is shown while training


class LanguageModelling(Task):
    """A text in, a model that writes on and scores texts out."""

    name = "language-model"
    command = "generate"
    samples = "windows"
    data = StreamData
    architectures = LANGUAGE_MODELS
    recipes = RECIPES
    recipes_by_preset = RECIPES_BY_PRESET
    metadata = LanguageModelMetadata
    model_type = TextGenerator
    schema = StreamSchema

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> TextCorpus:
        return open_corpus(settings)

    def data_settings(self, asked: TrainingConfiguration, base: Any) -> Any:
        """A model that is fine-tuned reads windows as long as before, unless told otherwise."""
        data: Any = asked.data
        if base is None or data.context is not None:
            return data
        return data.model_copy(update={"context": base.metadata.context})

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        found: Dataset = corpus.dataset(None if base is None else base.tokenizer)
        return found

    def sizes(self, encoders: Encoders) -> dict[str, int]:
        return {"vocabulary": encoders["text"].size}

    def report(self, dataset: Dataset) -> str:
        about = dataset.about
        characters, tokens = sum(about["characters"].values()), about["bounds"][-1]
        shown = [f"{share:.0%}" for share in about["shares"]]
        return (
            f"{characters:,} characters, {tokens:,} tokens of {about['vocabularies'][0]:,} kinds; by position, the "
            f"first {shown[0]} to train on, {shown[1]} to validate on, the last {shown[2]} to test on; windows of "
            f"{dataset.schema.context}"  # type: ignore[attr-defined]
        )

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        """The testing part as text, and how well models that only count predict it."""
        from dragoman.tasks.language_model.evaluation import save_baselines

        with written_testing(directory, TESTING) as packed:
            for piece in dataset.text("testing"):  # type: ignore[attr-defined]
                packed.write(piece.encode())
        save_baselines(dataset, directory)  # type: ignore[arg-type]

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        return decided(given, dataset.about)

    def epochs(self, dataset: Dataset) -> int:
        return epochs_for(dataset.about)

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        data: Any = asked.data
        if asked.architecture == "transformer" and data.carried:
            raise ConfigurationError(
                "data.carried: a transformer has no state to carry; choose --architecture rnn, lstm or gru"
            )
        room, context = getattr(asked.network, "maximum_length", None), data.context or CONTEXT
        if room is not None and context > room:
            raise ConfigurationError(
                f"windows of {context} tokens (data.context) do not fit into {room} positions "
                f"(network.maximum_length); set data.context={room} or raise network.maximum_length"
            )
        if asked.start.vectors.given:
            raise ConfigurationError("start.vectors: a language model does not begin with word vectors")
        if asked.start.replay:
            raise ConfigurationError("start.replay is for translators; add the old text as another file instead")
        if asked.optimizer.scheduled_sampling:
            raise ConfigurationError("optimizer.scheduled_sampling is for translators")

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        unknown = dataset.about["unknown"][0]
        if unknown and dataset.about["encoding"]["kind"] in ("characters", "wordpiece"):
            yield f"{unknown:,} tokens are unknown: their characters do not occur in the training part"

    # Training

    def start(
        self,
        network: Any,
        settings: TrainingConfiguration,
        dataset: Dataset,
        resumed: bool,
        tell: Callable[[str], None],
    ) -> None:
        components.freeze_all_but(network, settings.start.train)

    def batches(self, settings: TrainingConfiguration, dataset: Dataset) -> BatchStream:
        kind = TrackStream if carries(settings) else WindowStream
        return kind(dataset.part("training"), components.batching(settings.optimizer), settings.seed)

    def fixed_batches(self, settings: TrainingConfiguration, part: Part) -> Iterable[Batch]:
        """With carried state, tracks through the part; windows of their own otherwise."""
        if carries(settings) and isinstance(part, Windows):
            return part.tracks()
        return components.fixed_batches(part)

    def scored(
        self, model: Any, dataset: Dataset, settings: TrainingConfiguration, watch: Callback
    ) -> Callable[[Network], dict[str, float]] | None:
        if not settings.progress.samples:
            return None

        def show(network: Network) -> dict[str, float]:
            for seed in range(settings.progress.samples):
                watch.notice("  " + "".join(model.generate(tokens=SAMPLE, seed=seed)))
            return {}

        return show

    # Evaluation

    def load_testing(self, directory: Path) -> Sequence[Any]:
        path = directory / TESTING
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
                return file.read().splitlines(keepends=True)
        except FileNotFoundError:
            raise FileFormatError(f"{directory} keeps no testing text; name a file to evaluate on") from None
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise FileFormatError(f"{path} cannot be read: {error}") from None

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        from dragoman.tasks.language_model.corpus import text_files

        found: TextFiles = text_files(StreamData(files=tuple(files), **settings))
        return [line for piece in found if piece is not None for line in piece.splitlines(keepends=True)]

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        from dragoman.tasks.language_model.evaluation import evaluate

        return evaluate(model, "".join(samples))

    def next_commands(self, out: Path) -> list[str]:
        place = shlex.quote(str(out))
        lines = self.load_testing(out) if (out / TESTING).exists() else []
        prompt = next((" ".join(line.split()[:3]) for line in lines if line.strip()), "")
        found = [f"dragoman generate {place} {shlex.quote(prompt)}" if prompt else f"dragoman generate {place}"]
        return [*found, f"dragoman evaluate {place}"] if lines else found

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        about = dataset.about
        return {
            "context": about["encoding"]["context"],
            "tokenizer": about["encoding"]["kind"] if base is None else base.metadata.tokenizer,
            "texts": max(about["texts"], 1 if base is None else base.metadata.texts),
            "characters": about["characters"],
        }

    def golden_inputs(self, dataset: Dataset) -> list[Any]:
        """Prompts of a few words from the testing part; nothing, to go on from, where it has no line."""
        text = next(dataset.text("testing"), "")  # type: ignore[attr-defined]
        prompts = dict.fromkeys(" ".join(line.split()[:PROMPT]) for line in text.splitlines() if line.strip())
        readable = [each for each in prompts if not dataset.encoders["text"].unknown_in([each])]
        return golden.short_ones(readable) or [""]

    def golden_answers(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        return ["".join(model.generate(prompt, tokens=GOLDEN, temperature=0)) for prompt in inputs]

    def properties(self, metadata: Any) -> dict[str, str]:
        return {"tokens": metadata.tokenizer, "context": f"windows of {metadata.context} tokens"}


def carries(settings: TrainingConfiguration) -> bool:
    """Whether the state of a network goes on from window to window."""
    data: Any = settings.data
    return settings.architecture != "transformer" and data.carried is not False


TASK = LanguageModelling()
