"""Prepare the training of a translator: read the data, decide open settings, build the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.data.augmentation import TEACHING
from dragoman.data.dataset import LONGEST, SHORTEN, Dataset
from dragoman.errors import ConfigurationError
from dragoman.networks import ARCHITECTURES, SequenceModel
from dragoman.networks.sizes import check_memory
from dragoman.tasks import components, decisions
from dragoman.tasks import model as directory_of
from dragoman.tasks import parts as parts_of
from dragoman.tasks.configuration import TranslationConfiguration, merged, resolved
from dragoman.tasks.corpus import Corpus, open_corpus
from dragoman.tasks.model import DamagedMetadataError, DataMetadata, ModelMetadata
from dragoman.tasks.planning import VECTORS, Speed
from dragoman.tasks.replay import with_replay
from dragoman.tasks.restoring import check_same_pairs, other_data
from dragoman.tasks.translator import Translator
from dragoman.tasks.vectors.embeddings import check_start, start_from_vectors
from dragoman.training import Callback, Checkpoints
from dragoman.training.workers import check_threads
from dragoman.wording import counted


class Preparation:
    """Reads the data, decides what the settings leave open, and builds the network.

    given    the settings as they were given
    asked    the same with those of the recipe, validated
    saved    the settings of the training that is resumed, or None
    latest   the checkpoint that is resumed, or None
    base     the model that is fine-tuned, or None
    speed    measured to plan a time budget, or None
    damaged  what is wrong with model.json, if it has to be written again
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        asked: TranslationConfiguration,
        out: Path | None,
        watch: Callback,
        tell: Callable[[str], None],
    ) -> None:
        self.given, self.asked, self.out, self.watch, self.tell = given, asked, out, watch, tell
        self.latest = None if out is None else Checkpoints(out / "checkpoints").named("latest")
        self.speed: Speed | None = None
        self.damaged: str | None = None
        self._check_asked()
        self.saved = self._saved()
        start = self.asked.start.model
        self.base = None if start is None else Translator.load(start)
        self.corpus = self._corpus()
        self.dataset, replayed = self._dataset()
        self.settings = self._decided()
        if self.base is not None:
            kept = self.settings.start.model_copy(update={"replay": replayed})
            self.settings = self.settings.model_copy(update={"start": kept})
        self.network = self._network()
        self._report_plan()

    def _check_asked(self) -> None:
        """Report mistakes that can be found before the data are read."""
        if self.asked.threads is not None and (warning := check_threads(self.asked.threads)):
            self.tell(f"warning: {warning}")
        if self.latest is None:
            check_start(self.asked.start.vectors)

    def _saved(self) -> TranslationConfiguration | None:
        path = None if self.out is None else self.out / "configuration.toml"
        return None if path is None or not path.exists() else resolved(path)

    # The data

    def _corpus(self) -> Corpus:
        data = self.asked.data
        if self.base is not None:  # its vocabulary decides about stand-ins
            data = data.model_copy(update={"protect": data.protect and self.base.metadata.protect})
        return open_corpus(data, self.given.get("data"))

    def _dataset(self) -> tuple[Dataset, int]:
        """Prepare the dataset; also return how many old pairs are mixed in when a model is fine-tuned."""
        asked, base = self.asked, self.base
        tokenizers = None if base is None else (base.source_tokenizer, base.target_tokenizer)
        room = getattr(asked.network, "maximum_length", None) if base is None else base.network.maximum_length
        dataset = self.corpus.dataset(asked.seed, tokenizers, room)
        for line in self.corpus.left_out():
            self.tell(line)
        self._report_cut(dataset)
        if base is None:
            return dataset, 0
        before = None if self.saved is None else self.saved.start.replay or 0
        return with_replay(dataset, base, asked.seed, asked.start.replay, before, self.tell)

    def _report_cut(self, dataset: Dataset) -> None:
        sources, targets = dataset.about["truncated"]
        if sources or targets:
            self.tell(f"{sources:,} sources and {targets:,} targets are longer than data.maximum and were cut")
        if count := dataset.about["left_out"]:
            pairs = "1 pair was" if count == 1 else f"{count:,} pairs were"
            example = dataset.about["left_out_example"]
            self.watch.warn(f"{pairs} left out, with a side of more than {LONGEST:,} tokens: {example}; {SHORTEN}")

    # The settings

    def _decided(self) -> TranslationConfiguration:
        """Return the complete settings, or those of the training that is resumed."""
        counts, saved = self.dataset.about["parts"], self.saved
        settings = self._sized({} if saved is None else decisions.decided_before(saved))
        split = settings.data.model_copy(update={"split": self.corpus.settings.split})
        settings = settings.model_copy(update={"data": parts_of.with_parts(split, counts)})
        parts_of.check_validation(settings, counts)
        if self.base is None and saved is None:
            parts_of.check_enough(counts)
            for warning in parts_of.few_pairs(counts):
                self.watch.warn(warning)
        for warning in parts_of.warnings_of(settings.data, counts):
            self.watch.warn(warning)
        if self.out is None or saved is None:
            return self._planned(settings)
        return self._resumed(settings, saved, self.out)

    def _sized(self, decided: Mapping[str, Any]) -> TranslationConfiguration:
        """Complete the settings with a network; `decided` has earlier decisions."""
        base, counts = None if self.base is None else self.base.metadata, self.dataset.about["parts"]
        return decisions.choose_size(
            merged(decided, self.given), counts["training"], base, judged=counts["validation"] > 0
        )

    def _planned(self, settings: TranslationConfiguration) -> TranslationConfiguration:
        """Complete the settings of a new training with its steps."""
        data, free = settings.data, self.base is None and self.asked.preset is None

        def smaller(preset: str) -> TranslationConfiguration:
            return self._sized({"preset": preset}).model_copy(update={"data": data})

        settings, self.speed = decisions.plan_schedule(settings, self.dataset, self.tell, smaller if free else None)
        return settings

    def _resumed(
        self, settings: TranslationConfiguration, saved: TranslationConfiguration, out: Path
    ) -> TranslationConfiguration:
        """Return the saved settings, if those given now do not contradict them."""
        self._check_begun(out)
        self.corpus.check_formats(saved.data)
        if (settings.start.replay or 0) > (
            saved.start.replay or 0
        ):  # capped by the pairs that exist, and accepted then
            settings = settings.model_copy(update={"start": settings.start.model_copy(update={"replay": None})})
        settings = decisions.check_resume(settings, saved, str(out))
        falls, whole = settings.optimizer.schedule in ("cosine", "linear"), settings.optimizer.schedule_steps or 0
        if falls and decisions.planned_steps(settings, self.dataset) > whole:
            self.tell(
                f"the learning rate was planned to fall to 0 at step {whole:,}; steps after it teach nothing. "
                f"To train further, train into another --out with --from {out}"
            )
        return settings

    def _check_begun(self, out: Path) -> None:
        """Raise an error if the training to resume had other data, or a version that prepares them differently."""
        try:
            begun = directory_of.load_metadata(out)
        except DamagedMetadataError as error:
            self.damaged = error.reason
            check_same_pairs(out, self.dataset, self.corpus.name)
            return
        if begun.protect and begun.teaching != TEACHING:
            raise ConfigurationError(
                f"{out} was trained by another version of Dragoman ({begun.dragoman}), which prepares training "
                "pairs differently, so it cannot be resumed; the model can still be used. Finish it with that version, "
                f"train into another --out, or begin with its weights: --from {out}"
            )
        if begun.data.digest != self.corpus.digest:
            raise other_data(out, self.corpus.name)

    # The network

    def _network(self) -> SequenceModel:
        architecture = ARCHITECTURES[self.settings.architecture]
        configured = architecture.configured(self.settings.network.model_dump(), self.dataset.about["vocabularies"])
        check_memory(configured.count(), copies=VECTORS)
        network = architecture.build(configured, self.settings.seed)
        if self.base is not None:
            network.theta.assign(self.base.network.theta.values)
        resumed = self.latest is not None
        start_from_vectors(network, self.settings.start.vectors, self.dataset.tokenizers, resumed, self.tell)
        components.freeze_all_but(network, self.settings.start.train)
        return network

    def metadata(self) -> ModelMetadata:
        """Return the metadata before training."""
        settings, about = self.settings, self.dataset.about
        data = DataMetadata(
            files=settings.data.files,
            digest=self.corpus.digest,
            parts=about["parts"],
            split=settings.data.split,
            shares=settings.data.shares,
        )
        return ModelMetadata(
            architecture=settings.architecture,
            network=self.network.configuration,
            parameters=self.network.count(),
            longest=self._longest(),
            protect=self.corpus.settings.protect,
            teaching=TEACHING,
            preset=settings.preset,
            recipe=settings.recipe,
            seed=settings.seed,
            data=data,
            tokenizers=directory_of.tokenizer_checksums(self.dataset.tokenizers),
        )

    def _longest(self) -> tuple[int, int]:
        """Return the longest lengths, also of the model that is fine-tuned."""
        before = (0, 0) if self.base is None else self.base.metadata.longest
        source, target = self.dataset.about["longest"]
        return max(source, before[0]), max(target, before[1])

    def _report_plan(self) -> None:
        """Report what was decided, and what is resumed."""
        s, parts = self.settings, self.dataset.about["parts"]
        v_source, v_target = self.dataset.about["vocabularies"]
        self.tell(
            f"{self.corpus.name}: {parts['training']:,} pairs to train on, {parts['validation']:,} to validate on, "
            f"{parts['testing']:,} to test on; vocabularies of {v_source:,} and {v_target:,} tokens"
        )
        steps = counted(decisions.planned_steps(s, self.dataset), "step")
        again = ", planned again when the pace changes"
        self.tell(
            f"{self.network.count():,} parameters ({s.network.summary()}), recipe {s.recipe}, "
            f"{f'about {steps}{again}' if decisions.planned_by_budget(s) else f'at most {steps}'}, "
            f"{counted(s.threads or 1, 'thread')}"
        )
        if self.latest is not None:
            self.tell(f"resuming from {self.latest}")
