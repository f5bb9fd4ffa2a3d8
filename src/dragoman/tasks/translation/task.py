"""The registration of translation."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.data.augmentation import TEACHING
from dragoman.data.dataset import Dataset
from dragoman.data.mixture import MixedDataset
from dragoman.data.pair_encoding import LONGEST, SHORTEN, Encoding
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DragomanWarning
from dragoman.networks import ARCHITECTURES, Network
from dragoman.ranks import current
from dragoman.tasks import components, golden
from dragoman.tasks.configuration import Settings, TrainingConfiguration
from dragoman.tasks.parts import check_enough, few_pairs
from dragoman.tasks.recipes import TRANSLATION, TRANSLATION_BY_PRESET
from dragoman.tasks.task import Task, Tell
from dragoman.tasks.translation import corrections, forgetting
from dragoman.tasks.translation.corpus import Corpus, open_corpus, read_pairs
from dragoman.tasks.translation.curves import dropout_for, enough_epochs, epochs_for, preset_for
from dragoman.tasks.translation.languages import language_files, languages_of
from dragoman.tasks.translation.lengths import sample_lengths
from dragoman.tasks.translation.replay import old_pairs, testing_pairs
from dragoman.tasks.translation.settings import PairData, TranslatorMetadata
from dragoman.tasks.translation.testing import has_testing, load_testing, save_testing
from dragoman.tasks.translation.translator import DecodingOptions, Translator
from dragoman.tasks.vectors.embeddings import check_start, start_from_vectors
from dragoman.training import Callback
from dragoman.wording import counted

SCORED = 500  # validation sentences that BLEU and chrF are measured on while training


class Translation(Task):
    """Sentence pairs in, a translator out."""

    name = "translation"
    command = "translate"
    samples = "pairs"
    data = PairData
    architectures = ARCHITECTURES
    recipes = TRANSLATION
    recipes_by_preset = TRANSLATION_BY_PRESET
    scores = ("bleu", "chrf")
    metadata = TranslatorMetadata
    model_type = Translator
    schema = Encoding

    # Data

    def open_corpus(self, settings: Any, given: Mapping[str, Any] | None = None) -> Corpus:
        return open_corpus(settings, given)

    def data_settings(self, asked: TrainingConfiguration, base: Any) -> Any:
        """A base has stand-ins in its vocabulary, or has none; files are read in its direction."""
        data: Any = asked.data
        if base is None:
            return data
        languages = data.languages or base.metadata.languages
        return data.model_copy(update={"protect": data.protect and base.metadata.protect, "languages": languages})

    def resumed(self, asked: TrainingConfiguration, saved: TrainingConfiguration) -> TrainingConfiguration:
        """The languages stay what they were called."""
        data, before = asked.data, saved.data
        if not isinstance(data, PairData) or not isinstance(before, PairData) or data.languages is not None:
            return asked
        return asked.model_copy(update={"data": data.model_copy(update={"languages": before.languages})})

    def prepare(self, corpus: Any, asked: TrainingConfiguration, base: Any = None) -> Dataset:
        tokenizers = None if base is None else (base.source_tokenizer, base.target_tokenizer)
        room = getattr(asked.network, "maximum_length", None) if base is None else base.network.maximum_length
        found: Dataset = corpus.dataset(asked.seed, tokenizers, room)
        if base is None or asked.recipe != "modern" or not corrections.are_few(corpus, found):
            return found
        return corrections.whole(corpus).dataset(asked.seed, tokenizers, room)

    def mix(
        self, dataset: Dataset, asked: TrainingConfiguration, base: Any, saved: Any, tell: Tell
    ) -> tuple[Dataset, int]:
        before = None if saved is None else saved.start.replay or 0
        few = asked.recipe == "modern" and corrections.are_taught(dataset)
        new = len(dataset.part("training"))
        usual = corrections.old_wanted(new) if few else new
        old, count = old_pairs(dataset, base, asked.seed, asked.start.replay, before, tell, usual)
        if few:
            return corrections.Corrections(dataset, old, testing_pairs(base)), count
        return dataset if old is None else MixedDataset(dataset, old), count

    def sizes(self, encoders: Encoders) -> dict[str, Any]:
        return {"source_vocabulary": encoders["source"].size, "target_vocabulary": encoders["target"].size}

    def report(self, dataset: Dataset) -> str:
        source, target = dataset.about["vocabularies"]
        return f"{super().report(dataset)}; vocabularies of {source:,} and {target:,} tokens"

    def save_testing(self, dataset: Dataset, directory: Path) -> None:
        testing = dataset.part("testing")
        own = zip(testing.texts("source"), testing.texts("target"), strict=True)
        save_testing(dataset.old if isinstance(dataset, corrections.Corrections) else own, directory)

    # Decisions

    def decide(self, given: Mapping[str, Any], dataset: Dataset) -> Settings:
        """Preset and dropout where they are left open; the recipe `thesis` drops nothing."""
        architecture, pairs = given.get("architecture", "transformer"), dataset.about["parts"]["training"]
        preset = given.get("preset") or preset_for(pairs, architecture)
        decided: Settings = {"preset": preset}
        dropout = dropout_for(pairs, preset)
        if dropout is not None and given.get("recipe", "modern") == "modern" and architecture == "transformer":
            decided["network"] = {"dropout": dropout}
        return decided

    def epochs(self, dataset: Dataset) -> int:
        return epochs_for(len(dataset.part("training")))

    def enough_epochs(self, dataset: Dataset) -> float:
        return enough_epochs(len(dataset.part("training")))

    def fine_tuning(self, dataset: Dataset, rate: float) -> Settings:
        if isinstance(dataset, corrections.Corrections):
            return corrections.recipe(dataset, rate)
        return super().fine_tuning(dataset, rate)

    def fine_tuning_epochs(self, dataset: Dataset) -> int:
        return (
            corrections.EPOCHS if isinstance(dataset, corrections.Corrections) else super().fine_tuning_epochs(dataset)
        )

    def check(self, asked: TrainingConfiguration, resumed: bool) -> None:
        if not resumed:
            check_start(asked.start.vectors)

    def check_begun(self, begun: Any, out: Path) -> None:
        if begun.protect and begun.teaching != TEACHING:
            raise ConfigurationError(
                f"{out} was trained by another version of Dragoman ({begun.dragoman}), which prepares training "
                "pairs differently, so it cannot be resumed; the model can still be used. Finish it with that version, "
                f"train into another --out, or begin with its weights: --from {out}"
            )

    def warnings(self, dataset: Dataset, new: bool) -> Iterable[str]:
        counts = dataset.about["parts"]
        if count := dataset.about["left_out"]:
            pairs = "1 pair was" if count == 1 else f"{count:,} pairs were"
            example = dataset.about["left_out_example"]
            yield f"{pairs} left out, with a side of more than {LONGEST:,} tokens: {example}; {SHORTEN}"
        if new:
            check_enough(counts)
            yield from few_pairs(counts)

    # Training

    def start(self, network: Any, settings: TrainingConfiguration, dataset: Dataset, resumed: bool, tell: Tell) -> None:
        tokenizers = dataset.encoders["source"], dataset.encoders["target"]
        start_from_vectors(network, settings.start.vectors, tokenizers, resumed, tell)
        components.freeze_all_but(network, settings.start.train)

    def scored(
        self, model: Any, dataset: Dataset, settings: TrainingConfiguration, watch: Callback
    ) -> Callable[[Network], dict[str, float]] | None:
        part, wanted, best_by = dataset.part("validation"), settings.progress, settings.checkpoints.best_by
        names = tuple(dict.fromkeys([*wanted.scores, *([best_by] if best_by in self.scores else [])]))
        if not names and not wanted.samples:
            return None
        pairs = list(islice(zip(part.texts("source"), part.texts("target"), strict=True), SCORED))
        return lambda network: _scores(model, pairs, names, wanted.samples, watch)

    # Evaluation

    def load_testing(self, directory: Path) -> Sequence[Any]:
        return load_testing(directory)

    def read_samples(self, model: Any, files: Sequence[str], settings: Mapping[str, Any]) -> Sequence[Any]:
        chosen = {"languages": model.metadata.languages, **settings}
        return read_pairs(
            PairData(files=tuple(files), **chosen), lambda line: warnings.warn(line, DragomanWarning, stacklevel=2)
        )

    def evaluate(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        return self.evaluate_searching(model, samples, DecodingOptions().beam, lambda done: None)

    def evaluate_searching(
        self, model: Any, samples: Sequence[Any], beam: int, tell: Callable[[int], None]
    ) -> TaskReport:
        from dragoman.tasks.translation.evaluation import translation_report

        return translation_report(model, samples, DecodingOptions(beam=beam), tell)

    def evaluate_quickly(self, model: Any, samples: Sequence[Any]) -> TaskReport:
        """The pairs that a verdict rests on, translated as `evaluate` does: both say the same."""
        from dragoman.analysis.testing import judged_rows
        from dragoman.tasks.translation.evaluation import translation_report

        return translation_report(model, [samples[row] for row in judged_rows(len(samples))], DecodingOptions())

    def next_commands(self, out: Path) -> list[str]:
        place, pairs = shlex.quote(str(out)), load_testing(out) if has_testing(out) else []
        short = [source for source, _ in pairs if 3 <= len(source.split()) <= 6]
        example = "The plant is green." if "The plant is green." in short else (short or ["Hello."])[0]
        quoted = shlex.quote(example) if set(example) & set('"$`!\\') else f'"{example}"'
        found = [f"dragoman translate {place} {quoted}"]
        return [*found, f"dragoman evaluate {place}"] if pairs else found

    def adjust(self, base: Any, model: Any, dataset: Dataset, tell: Tell) -> bool:
        if not isinstance(dataset, corrections.Corrections):
            return False
        corrections.blend(base, model, dataset, tell)
        return True

    def compared(self, base: Any, model: Any, dataset: Dataset) -> list[dict[str, Any]]:
        return forgetting.compare(base, model, dataset)

    # The model

    def describe(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, Any]:
        before = (0, 0) if base is None else base.metadata.longest
        samples = sample_lengths(dataset.part("training"), None if base is None else base.metadata.samples)
        longest = tuple(max(pair) for pair in zip(dataset.about["longest"], before, strict=True))
        return {
            "samples": samples,
            "longest": longest,
            "protect": corpus.settings.protect,
            "teaching": TEACHING,
            "languages": languages_of(corpus, base),
        }

    def files(self, dataset: Dataset, corpus: Any, base: Any) -> dict[str, str]:
        return language_files(dataset, languages_of(corpus, base), base)

    def golden_inputs(self, dataset: Dataset) -> list[Any]:
        return golden.some_texts(dataset, "source")

    def golden_answers(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        return [found.text for found in model.translations(list(inputs), DecodingOptions())]

    def properties(self, metadata: Any) -> dict[str, str]:
        languages = metadata.languages
        return {
            "languages": "not named; see --languages" if languages is None else " to ".join(languages),
            "longest": f"{metadata.longest[0]} source tokens, {metadata.longest[1]} target tokens",
            "at once": counted(metadata.samples.sentences, "sentence"),
            "protects": "numbers, addresses, placeholders" if metadata.protect else "nothing",
        }


def _scores(
    translator: Translator, pairs: list[tuple[str, str]], names: tuple[str, ...], shown: int, watch: Callback
) -> dict[str, float]:
    """BLEU and chrF of greedy translations, which all ranks share; samples are shown on the way."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    chosen = pairs if names else pairs[:shown]
    greedy = DecodingOptions(beam=1, scored=False)
    written = current().spread(
        lambda texts: [found.text for found in translator.translations(texts, greedy)], [source for source, _ in chosen]
    )
    for (source, target), translation in islice(zip(chosen, written, strict=True), shown):
        watch.notice(f"  {source}\n    -> {translation}\n    (target: {target})")
    metrics = {"bleu": BLEU, "chrf": CHRF}
    references = [[target for _, target in chosen]]
    return {name: float(metrics[name]().corpus_score(written, references).score) for name in names}


TASK = Translation()
