"""Teach a trained model a few corrected sentences, without harm to the others.

Few pairs need their own recipe (docs/measurements.md, Corrections). All of them are trained on, again and again, each
time beside many old pairs, and without a moving average, which would stay at the old weights. Afterwards the weights
move back towards the old ones as far as the model's own testing pairs ask for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from dragoman.data.dataset import Dataset, Part
from dragoman.data.mixture import MixedDataset
from dragoman.data.splits import DEFAULT_SHARES
from dragoman.tasks.configuration import Settings
from dragoman.tasks.translation.corpus import Corpus
from dragoman.tasks.translation.replay import ALL
from dragoman.tasks.translation.translator import DecodingOptions, Translator
from dragoman.text.sentences import collapsed

FEW = 200  # pairs up to which they are taken for corrections
EPOCHS, REPEATS = 6, 20  # each pair is seen so often in an epoch ...
OLD = 9  # ... and so many old pairs each time
RATE = 0.4  # share of the rate of a training from scratch
BATCH = 512  # pairs, however few are taught: small batches harm, and little of what they teach would be kept
CHANGES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.25)  # shares of the change of the weights; the first that can be borne is kept
BEARABLE = 0.5  # chrF that old pairs may lose: it varies less than BLEU from one few hundred sentences to the next
JUDGED, REPORTED = 1000, 500  # old pairs that the share is chosen by, and others for the report
RARE = 50  # a word is rare that stands in at most one of so many sentences

Pair = tuple[str, str]


class Corrections(MixedDataset):
    """A few pairs, all for training and repeated, mixed with old ones.

    old  the testing pairs of the model that learns, as far as they are not corrected now
    """

    def __init__(self, own: Dataset, mixed_in: Part | None, old: Sequence[Pair]) -> None:
        super().__init__(own, Part(own, own.part("training").samples[:0]) if mixed_in is None else mixed_in, REPEATS)
        taught = {collapsed(source) for source, _ in self.taught}
        self.old = [pair for pair in old if collapsed(pair[0]) not in taught]

    @cached_property
    def taught(self) -> list[Pair]:
        part = Dataset.part(self, "training")
        return list(zip(part.texts("source"), part.texts("target"), strict=True))

    @property
    def judging(self) -> list[Pair]:
        """Old pairs that the weights are chosen by."""
        return self.old[: min(JUDGED, len(self.old) // 2)]

    def sets(self) -> dict[str, Sequence[Pair]]:
        """The pairs to compare before and after: taught ones, and old ones that were not chosen by."""
        reported = self.old[len(self.judging) :][:REPORTED]
        words = [_words(source) for source, _ in reported]
        counts = Counter(word for some in words for word in some)
        rare = {word for source, _ in self.taught for word in _words(source) if counts[word] <= len(reported) / RARE}
        near = [not some.isdisjoint(rare) for some in words]
        return {
            "taught": self.taught,
            "old, a rare word of them": [pair for pair, is_near in zip(reported, near, strict=True) if is_near],
            "old, others": [pair for pair, is_near in zip(reported, near, strict=True) if not is_near],
        }


def are_few(corpus: Corpus, dataset: Dataset) -> bool:
    """Whether all pairs are to be taught; shares or parts that somebody asked for are kept."""
    return corpus.settings.split == "source" and corpus.settings.shares == DEFAULT_SHARES and len(dataset) <= FEW


def whole(corpus: Corpus) -> Corpus:
    """The same pairs, none kept apart."""
    return replace(corpus, settings=corpus.settings.model_copy(update={"shares": ALL}))


def are_taught(dataset: Dataset) -> bool:
    return len(dataset) <= FEW and tuple(dataset.about["splitting"].get("shares", ())) == ALL


def old_wanted(count: int) -> int:
    """How many old pairs are mixed with so many taught ones."""
    return REPEATS * max(BATCH - count, OLD * count)


def recipe(dataset: Corrections, rate: float) -> Settings:
    """What differs from the recipe `modern`, whose rate is given: a batch has each pair about once, among old ones."""
    batch = min(BATCH, len(dataset.part("training")) // REPEATS)
    return {"optimizer": {"rate": round(RATE * rate, 12), "averaging": 0.0, "batch": batch, "grouped": False}}


def blend(base: Translator, model: Translator, dataset: Corrections, tell: Callable[[str], None]) -> None:
    """Move the weights of a model back towards those of its base, as far as the old pairs ask for it."""
    theta, old = model.network.theta, base.network.theta.values
    change = theta.values - old
    if not dataset.judging:
        theta.assign(old + CHANGES[0] * change)
        tell("the model keeps no testing pairs, so nothing tells whether it translates other sentences worse now")
        return
    least = _chrf(base, dataset.judging) - BEARABLE
    for share in CHANGES:
        theta.assign(old + share * change)
        if _chrf(model, dataset.judging) >= least:
            if share < CHANGES[0]:
                tell(f"{share:.0%} of the change of the weights is kept: with more, other sentences would suffer")
            return
    theta.assign(old)
    tell("other sentences would suffer from any share of the change, so the weights stay as they were")


def _chrf(model: Translator, pairs: Sequence[Pair]) -> float:
    from sacrebleu.metrics.chrf import CHRF

    written = model.translations([source for source, _ in pairs], DecodingOptions(beam=1, scored=False))
    return float(CHRF().corpus_score([each.text for each in written], [[target for _, target in pairs]]).score)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
