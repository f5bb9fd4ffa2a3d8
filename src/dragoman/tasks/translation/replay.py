"""Replay: mix old pairs into a fine-tuning, so that the model does not forget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dragoman.data.dataset import Dataset, Part
from dragoman.data.splits import PARTS
from dragoman.errors import ConfigurationError, DragomanError
from dragoman.tasks.configuration import TrainingConfiguration, resolved
from dragoman.tasks.translation.corpus import Corpus, open_corpus
from dragoman.tasks.translation.settings import PairData
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import Translator
from dragoman.text.sentences import collapsed

ALL = (1.0, 0.0, 0.0)  # the shares of corrections: all pairs are for training


class NotAtHand(Exception):
    """The pairs that a model was trained on cannot be used."""


def old_pairs(
    new: Dataset,
    base: Translator,
    seed: int,
    wanted: int | None,
    saved: int | None,
    tell: Callable[[str], None],
    usual: int,
) -> tuple[Part | None, int]:
    """Old pairs to mix into the training part of a dataset, and how many.

    wanted  pairs that the user asks for; None: as many as is `usual`, if they are at hand
    saved   pairs that a training which is resumed has mixed in; None: there is none to resume
    """
    count = wanted if saved is None else max(saved, wanted or 0)  # a resumed training may ask for more than there are
    if count == 0:
        return None, 0
    try:
        origin = _origin(base)
        corpus = _corpus_of(origin)
    except NotAtHand as reason:
        if count is None:
            tell(f"no old pairs are mixed in, so the model may forget some of what it knew: {reason}")
            return None, 0
        what = f"{count:,} old pairs are to be mixed in" if saved is None else f"this training has {saved:,} old pairs"
        raise ConfigurationError(f"{what}, but {reason}; put the files back, or train into another --out") from None
    part = _chosen(corpus, origin, new, seed, usual if count is None else count)
    if saved is not None and wanted is not None and len(part) > saved:
        raise ConfigurationError(
            f"this training has {saved:,} old pairs of {corpus.name} mixed in, and {len(part):,} are asked for now "
            f"(start.replay = {saved} then, {wanted} now); give the same number, or train into another --out"
        )
    if saved is not None and len(part) != saved:
        raise ConfigurationError(
            f"this training has {saved:,} old pairs of {corpus.name} mixed in, but {len(part):,} are found now; "
            "train into another --out"
        )
    if not len(part):
        tell(f"no old pairs are mixed in: every source of {corpus.name} is among the new pairs")
        return None, 0
    if count is not None and len(part) < count:
        tell(
            f"only {len(part):,} old pairs of {corpus.name} can be mixed in, {count:,} were asked for: it has no more "
            "whose sources are neither among the new pairs nor kept for testing"
        )
    tell(
        f"{len(part):,} old pairs of {corpus.name} are mixed in, so that the model forgets less "
        "(--replay 0 leaves them out)"
    )
    return part, len(part)


def _origin(model: Translator) -> Translator:
    """The model that was trained on a corpus, before corrections were taught to it."""
    while model.directory is not None and (settings := _settings_of(model.directory)).data.shares == ALL:
        if settings.start.model is None:
            break
        try:
            model = Translator.load(Path(settings.start.model))
        except DragomanError as error:
            raise NotAtHand(f"{model.directory} was taught from a model that is not at hand ({error})") from None
    return model


def _settings_of(directory: Path) -> TrainingConfiguration:
    try:
        return resolved(directory / "configuration.toml")
    except DragomanError as error:
        raise NotAtHand(f"the pairs that {directory} was trained on are not at hand ({error})") from None


def _corpus_of(base: Translator) -> Corpus:
    """Open the corpus that a model was trained on, if it is unchanged."""
    place = base.directory or Path()
    settings = _settings_of(place).data
    assert isinstance(settings, PairData)
    try:
        found = [open_corpus(settings)]
        if settings.languages is None:  # a fine-tuned model's files were read in the direction of its base
            found.append(open_corpus(settings.model_copy(update={"languages": base.metadata.languages})))
    except DragomanError as error:
        raise NotAtHand(f"the pairs that {place} was trained on are not at hand ({error})") from None
    same = [corpus for corpus in found if corpus.digest == base.metadata.data.digest]
    if not same:
        raise NotAtHand(f"{found[0].name} has changed since {place} was trained on it")
    return same[0]


def _chosen(corpus: Corpus, base: Translator, new: Dataset, seed: int, count: int) -> Part:
    """Draw pairs of the base's training part whose sources are not among the new pairs or its testing pairs."""
    tokenizers = base.source_tokenizer, base.target_tokenizer
    part = corpus.dataset(base.metadata.seed, tokenizers, base.network.maximum_length).part("training")
    apart = {collapsed(source) for name in PARTS for source in new.part(name).texts("source")}
    apart |= {collapsed(source) for source, _ in testing_pairs(base)}
    order = part.samples[np.random.default_rng([seed, len(part)]).permutation(len(part))]
    sources = part.dataset.texts[0].texts(order)
    found: list[int] = []
    for sample, source in zip(order.tolist(), sources, strict=True):
        if len(found) == count:
            break
        if collapsed(source) not in apart:
            found.append(sample)
    return Part(part.dataset, np.sort(np.array(found, dtype=order.dtype)))


def testing_pairs(base: Translator) -> list[tuple[str, str]]:
    """Return the testing pairs of a model; empty if it has none."""
    try:
        return [] if base.directory is None else load_testing(base.directory)
    except DragomanError:
        return []
