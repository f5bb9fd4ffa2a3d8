"""Everything that a training needs: the data, the settings left open, the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.data.dataset import Dataset
from dragoman.errors import DataError
from dragoman.networks.sizes import check_memory
from dragoman.ranks import current
from dragoman.tasks import decisions, rates
from dragoman.tasks import model as directory_of
from dragoman.tasks import parts as parts_of
from dragoman.tasks.configuration import TrainingConfiguration, merged, resolved, whole_configuration
from dragoman.tasks.model import DamagedMetadataError, DataMetadata, ModelMetadata, count_parameters
from dragoman.tasks.planning import VECTORS, Speed
from dragoman.tasks.restoring import check_same_samples, other_data
from dragoman.tasks.task import find_task
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
    files    texts that the task adds to the model directory, by name
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        asked: TrainingConfiguration,
        out: Path | None,
        watch: Callback,
        tell: Callable[[str], None],
    ) -> None:
        self.task = find_task(asked.task)
        self.given, self.asked, self.out, self.watch, self.tell = given, asked, out, watch, tell
        self.ranks = current()
        self.latest = self._of_first(lambda: None if out is None else Checkpoints(out / "checkpoints").named("latest"))
        self.speed: Speed | None = None
        self.damaged: str | None = None
        self._check_asked()
        self.saved = self._saved()
        if self.saved is not None:
            self.asked = self.task.resumed(self.asked, self.saved)
        start = self.asked.start.model
        with self.ranks.in_turn():
            self.base = None if start is None else self.task.load(Path(start))
            self.corpus = self.task.open_corpus(self.task.data_settings(self.asked, self.base), given.get("data"))
            self.dataset, replayed = self._dataset()
        self._check_same_data()
        self.settings = self._shared(self._decided if self.ranks.first else None)
        if self.base is not None:
            kept = self.settings.start.model_copy(update={"replay": replayed})
            self.settings = self.settings.model_copy(update={"start": kept})
        self.network = self._network()
        self._warn_of_rates()
        self.files = self.task.files(self.dataset, self.corpus, self.base)
        self._report_plan()

    def _check_asked(self) -> None:
        """Report mistakes that can be found before the data are read."""
        if self.asked.threads is not None and (warning := check_threads(self.asked.threads)):
            self.tell(f"warning: {warning}")
        self.task.check(self.asked, resumed=self.latest is not None)

    def _saved(self) -> TrainingConfiguration | None:
        path = None if self.out is None else self.out / "configuration.toml"
        if not self._of_first(lambda: path is not None and path.exists()):
            return None
        return self._shared(None if path is None else lambda: resolved(path))

    # What the first rank knows: the others need not see the model directory, and decide nothing

    def _of_first(self, found: Callable[[], Any]) -> Any:
        return self.ranks.share(found() if self.ranks.first else None)

    def _shared(self, made: Callable[[], TrainingConfiguration] | None) -> TrainingConfiguration:
        own = made() if made is not None and self.ranks.first else None
        told = self.ranks.share(None if own is None else own.model_dump(mode="json", exclude_none=True))
        return whole_configuration(told, "the settings of the first rank") if own is None else own

    def _check_same_data(self) -> None:
        about = self.dataset.about  # a series has no digest of its samples
        digests = self.ranks.collect([self.corpus.digest, about.get("samples"), about["parts"]])
        others = [str(rank) for rank, digest in enumerate(digests) if digest != digests[0]]
        if others:
            raise DataError(
                f"{self.corpus.name}: rank {others[0]} reads other data than the first rank; copy the same files to "
                "every machine, and install the same versions there"
            )

    # The data

    def _dataset(self) -> tuple[Dataset, int]:
        """The samples as numbers, and how many old ones are mixed in when a model is fine-tuned."""
        dataset = self.task.prepare(self.corpus, self.asked, self.base)
        for line in self.corpus.left_out():
            self.tell(line)
        self._report_cut(dataset)
        if self.base is None:
            return dataset, 0
        return self.task.mix(dataset, self.asked, self.base, self.saved, self.tell)

    def _report_cut(self, dataset: Dataset) -> None:
        counts = zip(dataset.schema.fields, dataset.about["truncated"], strict=True)
        cut = {name: count for name, count in counts if count}
        if cut:
            what = " and ".join(f"{count:,} {name}s" for name, count in cut.items())
            self.tell(f"{what} are longer than data.maximum and were cut")

    # The settings

    def _decided(self) -> TrainingConfiguration:
        """The settings with all that they leave open, or those of the training that is resumed."""
        counts, saved = self.dataset.about["parts"], self.saved
        settings = self._sized({} if saved is None else decisions.decided_before(saved))
        shares = self.dataset.about.get("splitting", {}).get("shares")  # a few corrections are not split
        update = {"split": self.corpus.settings.split} | ({"shares": tuple(shares)} if shares else {})
        split = settings.data.model_copy(update=update)
        settings = settings.model_copy(update={"data": parts_of.with_parts(split, counts)})
        parts_of.check_validation(settings, counts)
        for warning in self.task.warnings(self.dataset, new=self.base is None and saved is None):
            self.watch.warn(warning)
        for warning in parts_of.warnings_of(settings.data, counts, self.task.samples):
            self.watch.warn(warning)
        if self.out is None or saved is None:
            return self._planned(settings)
        return self._resumed(settings, saved, self.out)

    def _sized(self, decided: Mapping[str, Any]) -> TrainingConfiguration:
        """The settings with a network, on top of what was decided before."""
        base = None if self.base is None else self.base.metadata
        return decisions.choose_size(merged(decided, self.given), self.dataset, base)

    def _planned(self, settings: TrainingConfiguration) -> TrainingConfiguration:
        """The settings with the steps of a new training."""
        data, free = settings.data, self.base is None and self.asked.preset is None

        def smaller(preset: str) -> TrainingConfiguration:
            return self._sized({"preset": preset}).model_copy(update={"data": data})

        settings, self.speed = decisions.plan_schedule(settings, self.dataset, self.tell, smaller if free else None)
        return settings

    def _resumed(
        self, settings: TrainingConfiguration, saved: TrainingConfiguration, out: Path
    ) -> TrainingConfiguration:
        """The saved settings, if those that are given now do not contradict them."""
        self._check_begun(out)
        self.corpus.check_formats(saved.data)
        if (settings.start.replay or 0) > (
            saved.start.replay or 0
        ):  # capped by the pairs that exist, and accepted then
            settings = settings.model_copy(update={"start": settings.start.model_copy(update={"replay": None})})
        given = settings.optimizer.schedule_steps is not None
        return self._extended(decisions.check_resume(settings, saved, str(out)), saved, given)

    def _extended(
        self, settings: TrainingConfiguration, saved: TrainingConfiguration, given: bool
    ) -> TrainingConfiguration:
        """The settings of a resumed training; for more steps than were planned before, the rate is planned anew.

        given  whether the steps of the schedule are given: then they stay
        """
        planned, before = (decisions.planned_steps(each, self.dataset) for each in (settings, saved))
        optimizer, whole = settings.optimizer, settings.optimizer.schedule_steps or 0
        if optimizer.schedule not in ("cosine", "linear") or not whole < planned < math.inf:
            return settings
        if given or planned <= before:
            self.tell(f"the learning rate falls to 0 at step {whole:,}; steps after it teach nothing")
            return settings
        self.tell(f"{planned:,.0f} steps are planned now instead of {before:,.0f}, and the learning rate with them")
        return settings.model_copy(update={"optimizer": optimizer.model_copy(update={"schedule_steps": int(planned)})})

    def _check_begun(self, out: Path) -> None:
        """Raise an error if the training to resume had other data, or a version that prepares them differently."""
        try:
            begun = directory_of.load_metadata(out)
        except DamagedMetadataError as error:
            self.damaged = error.reason
            check_same_samples(out, self.dataset, self.task, self.corpus.name)
            return
        self.task.check_begun(begun, out)
        if begun.data.digest != self.corpus.digest:
            raise other_data(out, self.corpus.name)

    # The network

    def _network(self) -> Any:
        architecture = self.task.architectures[self.settings.architecture]
        sizes = self.task.sizes(self.dataset.encoders)
        configured = architecture.configured(self.settings.network.model_dump(), sizes)
        check_memory(count_parameters(configured), copies=VECTORS)
        network = architecture.build(configured, self.settings.seed)
        if self.base is not None:
            network.theta.assign(self.base.network.theta.values)
        self.task.start(network, self.settings, self.dataset, self.latest is not None, self.tell)
        return network

    def _warn_of_rates(self) -> None:
        if self.base is None and self.latest is None:
            steps = decisions.planned_steps(self.settings, self.dataset)
            if warning := rates.too_low(self.settings.optimizer, self.network, steps):
                self.watch.warn(warning)

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
        return self.task.metadata(
            task=self.task.name,
            architecture=settings.architecture,
            network=self.network.configuration,
            parameters=self.network.count(),
            preset=settings.preset,
            recipe=settings.recipe,
            seed=settings.seed,
            data=data,
            encoders=directory_of.encoder_checksums(self.dataset.encoders),
            files=directory_of.text_checksums(self.files),
            **self.task.describe(self.dataset, self.corpus, self.base),
        )

    def _report_plan(self) -> None:
        """What was decided, and what is resumed."""
        s: Any = self.settings
        self.tell(f"{self.corpus.name}: {self.task.report(self.dataset)}")
        steps = counted(decisions.planned_steps(s, self.dataset), "step")
        again = ", planned again when the pace changes"
        self.tell(
            f"{self.network.count():,} parameters ({s.network.summary()}), recipe {s.recipe}, "
            f"{f'about {steps}{again}' if decisions.planned_by_budget(s) else f'at most {steps}'}, "
            f"{counted(s.threads or 1, 'thread')}"
            f"{f' on each of {self.ranks.size} ranks' if self.ranks.size > 1 else ''}"
        )
        if self.latest is not None:
            self.tell(f"resuming from {self.latest}")
