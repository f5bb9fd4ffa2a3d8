"""Training a translator: from a configuration to a model directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.augmentation import TEACHING
from dragoman.data.batching import BatchStream
from dragoman.data.dataset import LONGEST, SHORTEN
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.networks import ARCHITECTURES, Network, SequenceModel
from dragoman.networks.sizes import check_memory
from dragoman.tasks import components, decisions, forgetting
from dragoman.tasks import model as directory_of
from dragoman.tasks import parts as parts_of
from dragoman.tasks.configuration import TranslationConfiguration, configuration, merged, resolved
from dragoman.tasks.corpus import open_corpus
from dragoman.tasks.model import DamagedMetadataError, DataMetadata, ModelMetadata
from dragoman.tasks.planning import VECTORS, Speed
from dragoman.tasks.replay import with_replay
from dragoman.tasks.restoring import check_same_pairs, load_best, other_data, restore_tokenizers
from dragoman.tasks.translator import DecodingOptions, Translator
from dragoman.tasks.vectors.embeddings import check_start, start_from_vectors
from dragoman.training import Callback, Checkpoints, History, Outcome, Validation
from dragoman.training.budget import BudgetPlan
from dragoman.training.checkpoints import PARTIAL, average, explain_write_errors
from dragoman.training.interrupts import Interrupts
from dragoman.training.loop import Training
from dragoman.training.tensorboard import TensorBoard
from dragoman.training.workers import Workers, check_threads
from dragoman.wording import counted

SCORED = 500  # validation sentences that BLEU and chrF are measured on while training
SMALL = 128  # depth up to which matrices are not worth a second BLAS thread
LOCK = ".lock"

Pair = tuple[str, str]


def train_translator(
    given: Mapping[str, Any],
    out: Path | None = None,
    watch: Callback | None = None,
    interrupts: Interrupts | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[Translator, Outcome]:
    """Train as the settings say; with `out`, into a model directory, where the same settings resume.

    tell  hears what is decided before training begins
    """
    with locked(out), fast_compute(tell=tell):
        return TranslatorTraining(given, out, watch or Callback(), interrupts or Interrupts(), tell).run()


class TranslatorTraining:
    """One training of a translator: what its settings ask for, what is decided, and the loop."""

    def __init__(
        self,
        given: Mapping[str, Any],
        out: Path | None,
        watch: Callback,
        interrupts: Interrupts,
        tell: Callable[[str], None],
    ) -> None:
        self.out, self.watch, self.interrupts = out, watch, interrupts
        asked = configuration(given)
        if asked.threads is not None and (warning := check_threads(asked.threads)):
            tell(f"warning: {warning}")
        checkpoints = None if out is None else Checkpoints(out / "checkpoints")
        self.latest = None if checkpoints is None else checkpoints.named("latest")  # what is gone on from
        if self.latest is None:
            check_start(asked.start.vectors)
        self.base = None if asked.start.model is None else Translator.load(asked.start.model)
        data = asked.data
        if self.base is not None:  # whose vocabulary has stand-ins, or has none
            data = data.model_copy(update={"protect": data.protect and self.base.facts.protect})
        self.corpus = open_corpus(data, given.get("data"))
        tokenizers = None if self.base is None else (self.base.source_tokenizer, self.base.target_tokenizer)
        room = getattr(asked.network, "maximum_length", None) if self.base is None else self.base.network.maximum_length
        self.dataset = self.corpus.dataset(asked.seed, tokenizers, room)
        for line in self.corpus.left_out():
            tell(line)
        self._tell_cut(tell)
        replayed = self._replay(asked, tell)
        self.speed: Speed | None = None  # measured to plan a budget
        self.lost: str | None = None  # what is wrong with model.json, where it has to be made again
        self.settings = self._decided(given, tell)
        if self.base is not None:
            start = self.settings.start.model_copy(update={"replay": replayed})
            self.settings = self.settings.model_copy(update={"start": start})
        self.network = self._network(tell)
        self.translator = Translator(self.network, self.dataset.tokenizers, self._facts())
        self._tell_plan(tell)
        self.best: Array | None = None  # theta of the best round, when there is no directory for it

    def _tell_plan(self, tell: Callable[[str], None]) -> None:
        """What was decided, and whether something is gone on with."""
        s, parts = self.settings, self.dataset.about["parts"]
        v_source, v_reference = self.dataset.about["vocabularies"]
        tell(
            f"{self.corpus.name}: {parts['training']:,} pairs to train on, {parts['validation']:,} to validate on, "
            f"{parts['testing']:,} to test on; vocabularies of {v_source:,} and {v_reference:,} labels"
        )
        steps = counted(decisions.planned_steps(s, self.dataset), "step")
        again = ", planned again when the pace changes"
        tell(
            f"{self.network.count():,} parameters ({s.network.told()}), recipe {s.recipe}, "
            f"{f'about {steps}{again}' if decisions.planned_by_budget(s) else f'at most {steps}'}, "
            f"{counted(s.threads or 1, 'thread')}"
        )
        if self.latest is not None:
            tell(f"going on from {self.latest}")

    def _tell_cut(self, tell: Callable[[str], None]) -> None:
        sources, references = self.dataset.about["truncated"]
        if sources or references:
            tell(f"{sources:,} sources and {references:,} references are longer than data.maximum and were cut")
        if count := self.dataset.about["left_out"]:
            pairs = "1 pair was" if count == 1 else f"{count:,} pairs were"
            example = self.dataset.about["left_out_example"]
            self.watch.warn(f"{pairs} left out, with a side of more than {LONGEST:,} labels: {example}; {SHORTEN}")

    def _replay(self, asked: TranslationConfiguration, tell: Callable[[str], None]) -> int:
        """Mix old pairs into the training part when a model is fine-tuned; how many."""
        if self.base is None:
            return 0
        saved = None if self.out is None else self.out / "configuration.toml"
        resumed = saved is not None and saved.exists()
        then = (resolved(saved).start.replay or 0) if saved is not None and resumed else None
        self.dataset, count = with_replay(self.dataset, self.base, asked.seed, asked.start.replay, then, tell)
        return count

    def _decided(self, given: Mapping[str, Any], tell: Callable[[str], None]) -> TranslationConfiguration:
        base, counts = None if self.base is None else self.base.facts, self.dataset.about["parts"]

        def sized(layer: Mapping[str, Any]) -> TranslationConfiguration:
            settings = merged(layer, given)
            return decisions.choose_size(settings, counts["training"], base, judged=counts["validation"] > 0)

        saved = self._saved()
        settings = sized({} if saved is None else decisions.decided_before(saved))
        split = settings.data.model_copy(update={"split": self.corpus.settings.split})
        settings = settings.model_copy(update={"data": parts_of.with_parts(split, counts)})
        parts_of.check_validation(settings, counts)
        if base is None and saved is None:
            parts_of.check_enough(counts)
            for warning in parts_of.few_pairs(counts):
                self.watch.warn(warning)
        for warning in parts_of.warnings_of(settings.data, counts):
            self.watch.warn(warning)
        if self.out is None or saved is None:
            data, free = settings.data, base is None and configuration(given).preset is None

            def smaller(preset: str) -> TranslationConfiguration:
                return sized({"preset": preset}).model_copy(update={"data": data})

            settings, self.speed = decisions.plan_schedule(settings, self.dataset, tell, smaller if free else None)
            return settings
        self._check_begun(self.out)
        self.corpus.check_formats(saved.data)
        if (settings.start.replay or 0) > (saved.start.replay or 0):  # than there are, or it would have been refused
            settings = settings.model_copy(update={"start": settings.start.model_copy(update={"replay": None})})
        settings = decisions.check_resume(settings, saved, str(self.out))
        falls, whole = settings.optimizer.schedule in ("cosine", "linear"), settings.optimizer.schedule_steps or 0
        if falls and decisions.planned_steps(settings, self.dataset) > whole:
            tell(
                f"the learning rate was planned to fall to 0 at step {whole:,}; steps after it teach nothing. "
                f"To teach it more, train into another --out with --from {self.out}"
            )
        return settings

    def _saved(self) -> TranslationConfiguration | None:
        """The configuration of the training that this one resumes, if there is one."""
        path = None if self.out is None else self.out / "configuration.toml"
        return None if path is None or not path.exists() else resolved(path)

    def _check_begun(self, out: Path) -> None:
        """Refuse to go on with a training of other data, or of a version that prepares them differently."""
        try:
            begun = directory_of.load_metadata(out)
        except DamagedMetadataError as error:
            self.lost = error.reason
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

    def _network(self, tell: Callable[[str], None]) -> SequenceModel:
        architecture = ARCHITECTURES[self.settings.architecture]
        configured = architecture.configured(self.settings.network.model_dump(), self.dataset.about["vocabularies"])
        check_memory(configured.count(), copies=VECTORS)
        network = architecture.build(configured, self.settings.seed)
        if self.base is not None:
            network.theta.assign(self.base.network.theta.values)
        resumed = self.latest is not None
        start_from_vectors(network, self.settings.start.vectors, self.dataset.tokenizers, resumed, tell)
        components.freeze_all_but(network, self.settings.start.train)
        return network

    def _facts(self) -> ModelMetadata:
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
        """What it started from has seen too."""
        known = (0, 0) if self.base is None else self.base.facts.longest
        source, reference = self.dataset.about["longest"]
        return max(source, known[0]), max(reference, known[1])

    def run(self) -> tuple[Translator, Outcome]:
        if self.out is not None:
            self._begin_directory(self.out)
            if self.settings.progress.tensorboard:
                self.watch = TensorBoard(self.out / "tensorboard", self.watch)
        training = self._training()
        with self.interrupts.listening(), closing(training.workers):
            outcome = training.run()
        if outcome.finished and self.settings.checkpoints.average > 1:
            self._average_checkpoints(training)
        self._settle(training, outcome)
        return self.translator, outcome

    def _begin_directory(self, out: Path) -> None:
        """Everything but the weights; a directory that holds something else is left alone."""
        fresh = not (out / "configuration.toml").exists()
        with explain_write_errors(out, "the model"):
            if fresh:
                directory_of.save_tokenizers(self.dataset.tokenizers, out)
                testing = self.dataset.part("testing")
                texts = zip(testing.texts("source"), testing.texts("reference"), strict=True)
                directory_of.save_testing(texts, out)
                directory_of.save_metadata(self.translator.facts, out)
            else:
                self._restore_directory(out)
            directory_of.save_configuration(self.settings, out)  # last: what has it can be resumed

    def _restore_directory(self, out: Path) -> None:
        """Make tokenizers and model.json again where they are missing or damaged."""
        facts = self.translator.facts
        saved = facts.model_copy(update={"tokenizers": {}}) if self.lost else directory_of.load_metadata(out)
        checksums = restore_tokenizers(saved, out, self.dataset.tokenizers, self.watch.notice)
        self.translator.facts = facts.model_copy(update={"tokenizers": checksums})
        if self.lost:
            directory_of.save_metadata(self.translator.facts, out)
            self.watch.notice(f"{self.lost}; restored from the configuration and the data")

    def _training(self) -> Training:
        s, out = self.settings, self.out
        checkpoints = None
        if out is not None:
            checkpoints = Checkpoints(out / "checkpoints", max(s.checkpoints.keep, s.checkpoints.average))
            checkpoints.prepare()
        return Training(
            self.network,
            BatchStream(self.dataset.part("training"), components.batching(s.optimizer), s.seed),
            components.optimizer(s.optimizer),
            components.schedule(s.optimizer),
            components.stopping(s.stopping),
            components.loss_index(s.loss),
            clip=math.inf if s.optimizer.clip is None else s.optimizer.clip,
            seed=s.seed,
            watch=self.watch,
            validation=self._validation(),
            accumulate=s.optimizer.accumulate,
            own_outputs=components.own_outputs(s.optimizer),
            averaging=s.optimizer.averaging,
            checkpoints=checkpoints,
            save_every=60 * s.checkpoints.minutes,
            history=None if out is None else History(out / "history.jsonl"),
            interrupted=self.interrupts.told,
            on_best=self._keep,
            workers=Workers(s.threads or 1),
            plan=self._plan(),
            judge_start=self.base is not None,
        )

    def _plan(self) -> BudgetPlan | None:
        """Steps that the clock plans; without a budget, which a resumed training may lack, the last plan stays."""
        s = self.settings
        if not decisions.planned_by_budget(s):
            return None
        plan = BudgetPlan(s.stopping.budget or math.inf, s.optimizer.schedule_steps or 1)
        if self.speed is not None:
            plan.step_seconds, plan.evaluation_seconds = self.speed.step_seconds, self.speed.validation_seconds
        return plan

    def _validation(self) -> Validation | None:
        part, wanted = self.dataset.part("validation"), self.settings.progress
        best_by = self.settings.checkpoints.best_by
        names = dict.fromkeys([*wanted.scores, *([best_by] if best_by in ("bleu", "chrf") else [])])
        if not len(part):
            return None
        pairs = list(islice(zip(part.texts("source"), part.texts("reference"), strict=True), SCORED))

        def scores(network: Network) -> dict[str, float]:
            return self._scored(pairs, tuple(names))

        return Validation(
            lambda: components.fixed_batches(part),
            wanted.every,
            best_by,
            scores if names or wanted.samples else None,
        )

    def _scored(self, pairs: list[Pair], names: tuple[str, ...]) -> dict[str, float]:
        """BLEU and chrF of greedy translations; samples are shown on the way."""
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        shown = self.settings.progress.samples
        chosen = pairs if names else pairs[:shown]
        greedy = DecodingOptions(beam=1, scored=False)
        written = [found.text for found in self.translator.translations([source for source, _ in chosen], greedy)]
        for (source, reference), translation in islice(zip(chosen, written, strict=True), shown):
            self.watch.notice(f"  {source}\n    -> {translation}\n    (reference: {reference})")
        metrics = {"bleu": BLEU, "chrf": CHRF}
        references = [[reference for _, reference in chosen]]
        return {name: float(metrics[name]().corpus_score(written, references).score) for name in names}

    def _keep(self, network: Network) -> None:
        """What is best so far can be used at once, whatever happens to the training."""
        if self.out is None:
            self.best = network.theta.values.copy()
        else:
            directory_of.save_network(self.network, self.out)

    def _average_checkpoints(self, training: Training) -> None:
        """The mean of the last checkpoints, kept if the validation part says that it is better than the best."""
        if training.checkpoints is None or training.validation is None:
            return
        places = training.checkpoints.steps()[-self.settings.checkpoints.average :]
        self.network.theta.assign(average(places, "theta" if training.average is None else "average"))
        found = training.validation.evaluate(self.network, training.workers)
        scores = training.validation.scores(self.network) if training.validation.scores else {}
        better = training.validation.score(found, scores) > training.best_score
        verdict = "better than the best alone, so it is kept" if better else "not better than the best, so it is left"
        self.watch.notice(f"the mean of the last {len(places)} checkpoints: {found}; {verdict}")
        if better:
            self._keep(self.network)

    def _settle(self, training: Training, outcome: Outcome) -> None:
        """Leave the network with its best weights, and the directory with what is known."""
        self._take_best(training)
        told: dict[str, Any] = {
            "steps": training.optimizer.t,
            "epochs": round(training.epochs_done, 3),
            "seconds": round(training.now(), 1),
            "ended": outcome.reason if outcome.finished else None,
        }
        if self.base is not None and outcome.finished:
            told["compared"] = self._compared(self.base, outcome)
        self.translator.facts = self.translator.facts.model_copy(update={"training": told})
        self.translator.directory = self.out
        if self.out is not None:
            with explain_write_errors(self.out, "the model"):
                directory_of.save_metadata(self.translator.facts, self.out)

    def _compared(self, base: Translator, outcome: Outcome) -> list[dict[str, Any]]:
        """Scores before and after fine-tuning; those of a training that was over before are known."""
        known: list[dict[str, Any]] | None = None
        if self.out is not None and not outcome.records:
            known = directory_of.load_metadata(self.out).training.get("compared")
        if outcome.records and np.array_equal(self.network.theta.values, base.network.theta.values):
            self.watch.notice("nothing was better than the model that training started from, so its weights are kept")
        return forgetting.compare(base, self.translator, self.dataset) if known is None else known

    def _take_best(self, training: Training) -> None:
        theta, last = self.network.theta, training.average
        if self.out is None:
            best = last if self.best is None else self.best
            if best is not None:
                theta.assign(best)
            return
        checkpoints = training.checkpoints
        assert checkpoints is not None
        judged = checkpoints.named("best") is not None or (self.out / directory_of.WEIGHTS).exists()
        if training.validation is None or not judged:  # the last weights are the best
            if last is not None:
                theta.assign(last)
            directory_of.save_network(self.network, self.out)
        load_best(self.network, self.out, checkpoints, last is not None, self.watch.notice)


WRITTEN = {LOCK, *directory_of.FILES}  # what a training that was killed while it began may have left


def _refuse_other(out: Path) -> None:
    """A directory that holds something else is left alone."""
    if not out.is_dir():
        raise ConfigurationError(f"{out} is a file; --out names a directory")
    if not (out / "configuration.toml").exists():
        others = sorted(p.name for p in out.iterdir() if p.name not in WRITTEN and not p.name.startswith(PARTIAL))
        if others:
            raise ConfigurationError(f"{out} exists and holds no training ({others[0]} ...); choose another --out")


@contextmanager
def _tidied(out: Path, made: bool) -> Iterator[None]:
    """A training that could not begin leaves nothing behind."""
    try:
        yield
    finally:
        if made and [path.name for path in out.iterdir()] == [LOCK]:
            (out / LOCK).unlink()
            out.rmdir()


@contextmanager
def locked(out: Path | None) -> Iterator[None]:
    """One training at a time in a directory. The operating system lets go of the lock when the process ends."""
    if out is None:
        yield
        return
    made = not out.exists()
    if not made:
        _refuse_other(out)
    with explain_write_errors(out, "the model"):
        out.mkdir(parents=True, exist_ok=True)
        handle = (out / LOCK).open("w")
    with handle, _tidied(out, made):
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows has no such lock
            pass
        except OSError:
            raise ConfigurationError(f"another process is training in {out}; wait, or choose another --out") from None
        yield
